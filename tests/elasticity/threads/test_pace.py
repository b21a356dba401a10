"""Millrace's own law beside paced sources: the fewest threads that keep up, within a bound on
latency.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest

from harness.elasticity import Bounds, Decision, Reading, make_law
from tests.elasticity.drive import closed_loop, levels, millrace, peak_at, states, up_to


class Paced:
    """Threads that do `curve(level)` tuples/s at most, behind sources that send `target`; what they
    cannot do waits.
    """

    def __init__(self, law, curve, work_s=0.001):
        self.law, self.curve, self.work_s = law, curve, work_s
        self.level, self.second, self.waiting = law.bounds.start, 0, 0.0

    def read(self, target):
        able = self.curve(self.level)
        done = min(able, target + self.waiting)
        self.waiting = min(5.0 * target, max(0.0, self.waiting + target - done))
        used = done / able
        latency_s = self.work_s / max(1.0 - used, 1e-3) + self.waiting / able
        self.second += 1
        return Reading(
            float(self.second),
            1.0,
            self.level,
            3.0 * done,
            utilisation=used,
            target=target,
            done=done,
            latency_s=latency_s,
        )

    def run(self, target, periods) -> list[Decision]:
        decisions = []
        for _ in range(periods):
            decisions.append(self.law.step(self.read(target)))
            self.level = decisions[-1].threads
        return decisions


@pytest.mark.parametrize("target", [450.0, 1250.0, 3990.0])
def test_it_keeps_up_with_the_target_with_about_as_few_threads_as_can(target):
    least = -(-target // 100.0)
    decisions = Paced(millrace(), up_to(48)).run(target, 60)
    assert least <= decisions[-1].threads <= 1.2 * least + 1
    assert len(set(levels(decisions[-30:]))) == 1 and decisions[-1].state == "settled"


def test_the_tighter_the_bound_the_more_threads_and_never_more_than_it_takes():
    chosen = {}
    for bound in (
        0.01,
        0.005,
        0.002,
    ):  # of tuples that take 0.001 s, and more the busier the threads are
        chosen[bound] = Paced(millrace(bound=bound), up_to(60)).run(1000.0, 60)[-1].threads
    assert chosen == {0.01: 12, 0.005: 13, 0.002: 20}, (
        "0.001 / (1 - used) is within the bound, and one thread fewer is late"
    )


def test_another_target_needs_no_search_where_the_curve_is_known():
    loop = Paced(millrace(), up_to(48))
    loop.run(2000.0, 40)
    fewer = loop.run(1000.0, 20)
    assert len(set(levels(fewer[3:]))) == 1 and 10 <= fewer[-1].threads <= 13
    again = loop.run(2000.0, 20)
    assert len(set(levels(again[6:]))) == 1 and 20 <= again[-1].threads <= 24


def test_what_is_caught_up_is_no_other_load_and_gets_more_threads_where_there_is_a_bound():
    loop = Paced(millrace(bound=0.01), up_to(48))
    loop.run(1000.0, 30)
    before = loop.level
    loop.waiting = 4000.0
    catching = loop.run(1000.0, 12)
    assert max(levels(catching)) > 1.4 * before
    assert not any("another load" in each.reason for each in catching)
    assert "catch up" in catching[0].reason and "settled" not in states(catching[:3])
    assert loop.run(1000.0, 10)[-1].threads == before


@pytest.mark.parametrize("jitter", [0.0, 5.0])  # tuples/s: of a target, less than a hundredth
def test_work_that_changes_takes_other_threads_at_once(jitter):
    loop = Paced(millrace(), up_to(48))

    def run(periods):
        return [loop.run(1000.0 + jitter * (period % 2), 1)[0] for period in range(periods)]

    run(40)
    loop.curve = up_to(48, each=50.0)
    decisions = run(40)
    assert 20 <= decisions[8].threads <= 24, "what a thread can do is measured all the time"
    assert 20 <= decisions[-1].threads <= 24


def test_where_nothing_is_enough_it_takes_what_brings_the_most():
    decisions = Paced(millrace(), peak_at(13)).run(9000.0, 60)
    assert peak_at(13)(decisions[-1].threads) >= 0.97 * 1300.0 and decisions[-1].state == "settled"


def test_before_it_is_content_with_less_than_the_target_it_looks_into_wide_gaps():
    """Nothing is gained from 6 threads to 23, and much with 24, as where 24 equal operators are
    dealt out to threads.
    """
    decisions = Paced(millrace(), lambda level: 100.0 * (min(level, 6) if level < 24 else 24)).run(
        2000.0, 80
    )
    assert decisions[-1].threads >= 24


def test_a_bound_that_no_threads_can_keep_does_not_lead_to_all_of_them():
    loop = Paced(millrace(bound=0.0005), up_to(60))
    decisions = loop.run(1000.0, 80)
    assert 20 <= decisions[-1].threads < 60 and len(set(levels(decisions[-10:]))) == 1


def test_silence_and_periods_without_a_pace_are_as_they_were():
    plain = levels(closed_loop(millrace(), up_to(13), 30))
    assert levels(closed_loop(millrace(bound=0.01), up_to(13), 30)) == plain
    loop = Paced(millrace(), up_to(48))
    before = loop.run(1000.0, 30)[-1].threads
    silent = replace(
        loop.read(1000.0), throughput=0.0, target=0.0, done=0.0, latency_s=None, utilisation=0.0
    )
    assert loop.law.step(silent).threads == before
    level, chosen = before, []
    for second in range(100, 140):
        level = loop.law.step(Reading(float(second), 1.0, level, 3.0 * up_to(13)(level))).threads
        chosen.append(level)
    assert 13 <= chosen[-1] <= 26, "sources that send all they can: the most throughput again"


def test_who_may_not_climb_stays():
    from tests.elasticity.drive import Cpu

    decisions = Paced(make_law("millrace", Bounds(1, 64, 1), Cpu(granted=False)), up_to(48)).run(
        2000.0, 10
    )
    assert {each.threads for each in decisions} == {1} and decisions[-1].state == "refused"


def test_levels_stay_while_noise_is_small():
    decisions = Paced(
        millrace(bound=0.01), lambda level: 100.0 * level * (1.0 + 0.01 * (level % 3 - 1))
    ).run(1500.0, 60)
    assert sum(one != other for one, other in pairwise(levels(decisions[20:]))) == 0
