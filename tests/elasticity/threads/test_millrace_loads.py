"""When Millrace's own law moves again, and when it does not: bursts, idle and crowded periods, loads that are new or known."""

from __future__ import annotations

from itertools import pairwise

import pytest

from harness.elasticity.threads.millrace import RECALLS
from tests.elasticity.drive import (
    Cpu,
    closed_loop,
    levels,
    millrace,
    peak_at,
    reading,
    scaled,
    states,
    up_to,
)

# -- what teaches nothing ----------------------------------------------------------------------------------------------------


IDLE = {"throughput": 0.0}
CROWDED = {"throughput": 40.0, "system_cpu": 1.0, "others_cpu": 0.9}
OTHERS_ALONE = {"throughput": 9e9, "others_cpu": 1.0}


@pytest.mark.parametrize(
    ("odd", "at"),
    [
        *((IDLE, at) for at in (0, 2, 7, 40)),
        (CROWDED, 0),
        (CROWDED, 40),
        (OTHERS_ALONE, 0),
        (OTHERS_ALONE, 40),
    ],
)
def test_idle_and_crowded_periods_teach_nothing(odd, at):
    """As if they had not been: the level stays meanwhile, and then all goes on as without them."""
    quiet, curve = levels(closed_loop(millrace(), peak_at(13), 60)), peak_at(13)
    law, level, chosen = millrace(), 1, []
    for second in range(80):
        if at <= second < at + 20:
            assert law.step(reading(second, level, **odd)).threads == level
            continue
        level = law.step(reading(second, level, curve(level))).threads
        chosen.append(level)
    assert chosen == quiet


@pytest.mark.parametrize("odd", [CROWDED, OTHERS_ALONE])
@pytest.mark.parametrize("looks", [1, 3])
def test_others_that_come_in_the_midst_of_a_look_do_not_keep_it_there(odd, looks):
    """It waits for them at the best level that it knows, and then goes on."""
    law = millrace()
    decisions = closed_loop(law, peak_at(40), looks)
    before, look = [1, *levels(decisions[:-1])], decisions[-1].threads
    assert look > max(before)
    for second in range(100, 120):
        decisions.append(law.step(reading(second, decisions[-1].threads, **odd)))
        assert (decisions[-1].threads, decisions[-1].state) == (max(before), "crowded")
    assert decisions[looks].reason.endswith(f"and {max(before)} is the best so far → down")
    assert decisions[-1].reason.endswith("says nothing → stay")
    level = max(before)
    for second in range(200, 230):
        level = law.step(reading(second, level, peak_at(40)(level))).threads
    assert peak_at(40)(level) >= 0.97 * 4000


@pytest.mark.parametrize("factor", [0.01, 0.4, 2.0, 50.0])
def test_a_burst_of_one_period_moves_nothing(factor):
    law = millrace()
    before = closed_loop(law, peak_at(13), 40)
    burst = closed_loop(law, scaled(peak_at(13), factor), 1, after=before)
    after = closed_loop(law, peak_at(13), 30, after=[*before, *burst])
    assert {decision.threads for decision in [*burst, *after]} == {before[-1].threads}
    assert "a burst, or another load?" in burst[0].reason
    assert burst[0].state == "noise"


@pytest.mark.parametrize("extreme", [5e-324, 1.7e308])
def test_a_burst_beyond_all_measure_moves_nothing_and_is_told_in_short(extreme):
    law, ordinary = millrace(), 1e-10 if extreme > 1.0 else 1e300
    before = closed_loop(law, lambda n: ordinary, 40)
    burst = closed_loop(law, lambda n: extreme, 1, after=before)[0]
    assert burst.threads == before[-1].threads
    assert len(burst.reason) < 80


def test_one_burst_up_and_one_down_are_no_load():
    law = millrace()
    before = closed_loop(law, peak_at(13), 40)
    decisions = list(before)
    for factor in (2.0, 0.4, 2.0, 0.4):
        decisions += closed_loop(law, scaled(peak_at(13), factor), 1, after=decisions)
    assert {decision.threads for decision in decisions[40:]} == {before[-1].threads}


def test_small_differences_are_no_other_load():
    law = millrace()
    before = closed_loop(law, peak_at(13), 40)
    after = closed_loop(law, scaled(peak_at(13), 1.1), 60, after=before)
    assert {decision.threads for decision in after} == {before[-1].threads}


# -- changes of load ---------------------------------------------------------------------------------------------------------


def test_another_load_is_noticed_in_two_periods_and_its_best_level_found():
    law = millrace()
    decisions = closed_loop(law, peak_at(12), 40)
    decisions += closed_loop(law, scaled(peak_at(40), 0.6), 25, after=decisions)
    assert "burst" in decisions[40].reason
    assert decisions[41].reason.startswith("another load: ")
    assert peak_at(40)(decisions[-1].threads) >= 0.97 * 4000


@pytest.mark.parametrize("factor", [0.3, 0.5, 1.6, 5.0])
def test_a_load_that_scales_throughput_only_costs_few_looks(factor):
    law = millrace()
    before = closed_loop(law, peak_at(13), 40)
    after = closed_loop(law, scaled(peak_at(13), factor), 40, after=before)
    assert peak_at(13)(after[-1].threads) >= 0.97 * 1300
    assert sum(a.threads != b.threads for a, b in pairwise(after)) <= 4


def remembered(law):
    """Two loads: best at 12, then at 4; the law is settled under the second."""
    decisions = closed_loop(law, peak_at(12), 40)
    assert decisions[-1].threads == 12
    decisions += closed_loop(law, scaled(peak_at(4), 0.5), 30, after=decisions)
    assert decisions[-1].threads == 4
    return decisions


def test_it_goes_straight_back_to_the_level_of_a_load_that_it_knows():
    law = millrace(16)
    decisions = remembered(law)
    back = closed_loop(law, peak_at(12), 20, after=decisions)
    assert levels(back) == [4, *[12] * 19]
    assert back[1].reason == "load as before, when 12 was best → there"
    again = closed_loop(law, scaled(peak_at(4), 0.5), 20, after=[*decisions, *back])
    assert levels(again) == [12, *[4] * 19]


def test_refused_it_goes_back_as_soon_as_it_may_and_asks_once_a_period():
    cpu = Cpu()
    law = millrace(16, cpu=cpu)
    decisions = remembered(law)
    cpu.granted, cpu.requests = False, 0
    decisions += closed_loop(law, peak_at(12), 8, after=decisions)
    assert levels(decisions[-8:]) == [4] * 8
    assert states(decisions[-7:]) == ["refused"] * 7
    assert cpu.requests == 7
    cpu.granted = True
    assert levels(closed_loop(law, peak_at(12), 5, after=decisions)) == [12] * 5


def test_what_it_remembers_never_makes_it_walk_in_circles():
    """At each of two levels the throughput is what the other's load would show there."""
    first, second = peak_at(12), scaled(peak_at(40), 0.6)
    law = millrace()
    decisions = []
    for curve in (first, second, first):
        decisions += closed_loop(law, curve, 30, after=decisions)
    decisions += closed_loop(law, lambda n: second(n) if n <= 26 else first(n), 60, after=decisions)
    assert len(set(levels(decisions[-20:]))) == 1


def test_it_remembers_the_last_loads_only():
    law = millrace(8)
    decisions = []
    for factor in range(2 * RECALLS):
        decisions += closed_loop(law, scaled(up_to(3), 2.0**factor), 12, after=decisions)
    assert RECALLS // 2 <= len(law._loads) <= RECALLS
