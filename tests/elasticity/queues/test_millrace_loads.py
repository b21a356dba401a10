"""When the law that places queues moves again, and when it does not."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from harness.elasticity import Reading
from harness.elasticity.law import PROFILE_PERIODS
from harness.elasticity.queues.work_shares import WorkShares
from tests.elasticity.queues.surface import drive
from tests.elasticity.queues.test_millrace import law_of, pipeline

PERIODS = 30  # enough to settle


def slower(surface, factor):
    """The same graph when its work takes `factor` times as long."""
    return replace(
        surface,
        flop_s=factor * surface.flop_s,
        call_s=factor * surface.call_s,
        hop_s=factor * surface.hop_s,
    )


def elsewhere(surface):
    """The same graph when the last quarter of the operators has nearly all of the work."""
    count = len(surface.layout.flop)
    total = sum(surface.layout.flop)
    return replace(
        surface,
        flop=[
            0.1 * total / count if i < 0.75 * count else 3.6 * total / count for i in range(count)
        ],
    )


@pytest.mark.parametrize(
    "odd",
    [
        {"throughput": 0.0},
        {"throughput": 40.0, "system_cpu": 1.0, "others_cpu": 0.9},
        {"throughput": 9e9, "others_cpu": 1.0},
    ],
    ids=["idle", "crowded", "only others known"],
)
def test_idle_and_crowded_periods_change_nothing(odd):
    surface = pipeline()
    law = law_of(surface)
    steps = drive(law, surface, PERIODS)
    before = steps[-1].decision
    for second in range(PERIODS + 1, PERIODS + 6):
        decision = law.step(
            Reading(float(second), 1.0, before.threads, queued=before.queued, **odd)
        )
        assert (decision.threads, decision.queued) == (before.threads, before.queued)
        assert decision.state in ("idle", "crowded")


@pytest.mark.parametrize(
    "odd",
    [{"throughput": 0.0}, {"throughput": 40.0, "system_cpu": 1.0, "others_cpu": 0.9}],
    ids=["idle", "crowded"],
)
def test_a_switch_before_a_period_that_says_nothing_disturbs_the_next_one(odd):
    surface, there = pipeline(), frozenset({3})
    law = law_of(surface)
    before = drive(law, surface, 2)[-1].queued
    law.step(Reading(3.0, 1.0, 1, queued=there, **odd))
    switched = []
    for second in (4.0, 5.0):
        law.step(Reading(second, 1.0, 1, 1e6, queued=there))
        unrest = law._evidence.unrest[-1]
        switched.append(((unrest.came, unrest.went), law._still))
    assert switched == [((len(there - before) / 41, len(before - there) / 41), 0), ((0.0, 0.0), 1)]


@pytest.mark.parametrize("periods", [1, 4])
def test_others_that_come_in_the_midst_of_a_look_do_not_keep_it_there(periods):
    """It waits for them at the best place that it knows and that needs no more threads, and then
    goes on.
    """
    surface = pipeline(cpus=8)
    law = law_of(surface)
    steps = drive(law, surface, periods)
    look = steps[-1].decision
    assert (look.queued, look.threads) not in [(step.queued, step.threads) for step in steps]
    best = max(
        (step for step in steps if step.threads <= look.threads), key=lambda step: step.throughput
    )
    crowd = drive(law, surface, 10, steps, system_cpu=1.0, others_cpu=0.9)
    assert {(step.decision.queued, step.decision.threads) for step in crowd} == {
        (best.queued, best.threads)
    }
    assert (
        crowd[0].decision.reason.endswith("is the best so far → there")
        and crowd[0].decision.state == "crowded"
    )
    after = drive(law, surface, PERIODS, [*steps, *crowd])[-1]
    assert after.throughput >= 0.97 * drive(law_of(surface), surface, PERIODS)[-1].throughput


@pytest.mark.parametrize("factor", [0.4, 2.0])
def test_a_burst_of_one_period_moves_nothing(factor):
    surface = pipeline()
    steps = drive(
        law_of(surface),
        lambda period: slower(surface, factor) if period == PERIODS else surface,
        PERIODS + 10,
    )
    assert len({(step.queued, step.threads) for step in steps[PERIODS - 5 :]}) == 1
    assert "a burst, or another load?" in steps[PERIODS].decision.reason
    assert steps[PERIODS].decision.state == "noise"


@pytest.mark.parametrize("seed", [2, 3, 4])
def test_where_bursts_pass_it_comes_to_rest(seed):
    """A quarter of the time others slow it down, for one or two periods; each time that looks like
    another load.
    """
    surface, draw, slow = pipeline(cpus=2), random.Random(seed), 0
    law, queued, threads, places = law_of(surface), frozenset(), 1, []
    for second in range(1, 161):
        slow = slow - 1 if slow else draw.choice((0, 0, 0, draw.randrange(1, 3)))
        rate = surface.throughput(queued, threads) * (
            draw.uniform(0.5, 0.7) if slow else draw.uniform(0.9, 1.0)
        )
        decision = law.step(
            Reading(float(second), 1.0, threads, rate, costs=surface.shares(), queued=queued)
        )
        queued, threads = decision.queued, decision.threads
        places.append((queued, threads))
    assert sum(one != other for one, other in pairwise(places[80:])) <= 4


def test_another_load_is_noticed_in_two_periods_and_searched_from_there():
    surface = pipeline(cpus=4)
    law = law_of(surface)
    steps = drive(
        law, lambda period: slower(surface, 0.3) if period >= PERIODS else surface, 2 * PERIODS
    )
    assert steps[PERIODS + 1].decision.reason.startswith("another load: ")
    end = steps[-1]
    assert end.throughput >= 0.93 * max(step.throughput for step in steps)
    assert len({(step.queued, step.threads) for step in steps[-8:]}) == 1


def test_work_that_moves_within_the_graph_is_followed():
    surface = pipeline(cpus=4)
    other = elsewhere(surface)
    steps = drive(
        law_of(surface), lambda period: other if period >= PERIODS else surface, 2 * PERIODS
    )
    stuck = other.throughput(steps[PERIODS - 1].queued, steps[PERIODS - 1].threads)
    assert steps[-1].throughput > 1.3 * stuck
    assert any(
        "the work has moved" in step.decision.reason for step in steps[PERIODS : PERIODS + 4]
    )


def test_a_profile_is_of_a_placement_once_that_has_stood_for_as_long_as_the_profiler_looks_back(
    monkeypatch,
):
    """Where queues stand decides what operators cost, so the first profiles after a switch are of
    no placement alone.
    """
    surface = pipeline()
    law = law_of(surface)
    places, add = [], law._shares.add
    monkeypatch.setattr(law._shares, "add", lambda *seen: places.append(seen[-1]) or add(*seen))
    steps = drive(law, surface, PERIODS)
    still = 0
    for before, step, place in zip([None, *steps], steps, places, strict=False):
        still = still + 1 if before and before.queued == step.queued else int(before is None)
        assert place == ((step.queued, step.threads) if still >= PROFILE_PERIODS else None)
    assert places.count(None) > PROFILE_PERIODS and places[-1] is not None


def test_work_that_costs_more_behind_a_queue_has_not_moved():
    """As large tuples do, which another thread wrote: the operator that reads them first is four
    times as dear.
    """
    surface = pipeline(operators=8, cpus=4)
    law = law_of(surface)
    queued, threads, steps = frozenset(), 1, []
    for second in range(1, 61):
        dear = np.array(surface.layout.flop, dtype=float)
        dear[[surface.layout.at[place] for place in queued]] *= 4.0
        now = replace(surface, flop=list(dear))
        rate = now.throughput(queued, threads)
        decision = law.step(
            Reading(float(second), 1.0, threads, rate, costs=now.shares(), queued=queued)
        )
        steps.append(decision)
        queued, threads = decision.queued, decision.threads
    assert not any("the work has moved" in step.reason for step in steps)
    assert len({(step.queued, step.threads) for step in steps[-10:]}) == 1


@pytest.mark.parametrize(("place", "moved"), [("here", True), (None, False)])
def test_work_has_moved_only_if_the_profile_is_of_one_placement(place, moved):
    shares = WorkShares(pipeline(operators=8).layout)
    early, late = [0.55] + [0.05] * 9, [0.05] * 9 + [0.55]
    seen = [shares.add(costs, 10.0, 4, 1.0, place) for costs in [early] * 20 + [late] * 5]
    assert any(seen) == moved
