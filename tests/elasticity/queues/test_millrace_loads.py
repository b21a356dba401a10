"""Tests of when the law that places queues moves again, and when it does not."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from harness.elasticity import Reading
from tests.elasticity.queues.surface import drive
from tests.elasticity.queues.test_millrace import law_of, pipeline

PERIODS = 50  # enough to settle


def slower(surface, factor):
    """Return the same graph when its work takes `factor` times as long."""
    return replace(
        surface,
        flop_s=factor * surface.flop_s,
        call_s=factor * surface.call_s,
        hop_s=factor * surface.hop_s,
    )


def elsewhere(surface):
    """Return the same graph when the last quarter of the operators has nearly all of the work."""
    count = len(surface.layout.flop)
    total = sum(surface.layout.flop)
    return replace(
        surface,
        flop=[
            0.1 * total / count if i < 0.75 * count else 3.6 * total / count for i in range(count)
        ],
    )


def test_idle_periods_change_nothing():
    surface = pipeline()
    law = law_of(surface)
    steps = drive(law, surface, PERIODS)
    before = steps[-1].decision
    for second in range(PERIODS + 1, PERIODS + 6):
        decision = law.step(Reading(float(second), 1.0, before.threads, 0.0, queued=before.queued))
        assert (decision.threads, decision.queued) == (before.threads, before.queued)
        assert decision.state == "idle"


@pytest.mark.parametrize("periods", [3, PERIODS])
def test_it_keeps_to_the_cpus_that_others_leave_and_searches_anew_when_they_have_gone(periods):
    surface = pipeline(operators=60, cost=10_000, cpus=8)
    law = law_of(surface)
    steps = drive(law, surface, periods)
    crowd = drive(law, surface, PERIODS, steps, system_cpu=1.0, others_cpu=0.75)
    assert {step.decision.state for step in crowd} == {"crowded"}
    assert all(step.decision.threads <= 2 for step in crowd)
    assert crowd[-1].queued, "it searches among the CPUs that are left"
    after = drive(law, surface, PERIODS, [*steps, *crowd])[-1]
    assert after.throughput >= 0.97 * drive(law_of(surface), surface, PERIODS)[-1].throughput


def test_queues_that_fill_do_not_pass_for_what_work_the_threads_can_do():
    """Behind an operator with half of the work hardly anything arrives while a queue at each port
    fills; the operators ahead of it are fast meanwhile.
    """
    surface = pipeline(operators=40, cost=1000, cpus=8)
    flop = [1000.0] * 42
    flop[21] = 41_000.0
    surface = replace(surface, flop=flop)
    law, queued, threads, full = law_of(surface), frozenset(), 1, 0
    for second in range(1, 80):
        rate = surface.throughput(queued, threads)
        full = full + 1 if len(queued) > 20 else 0
        fills = 0 < full < 40
        passed = [rate / 41.0 * (8.0 if fills and each < 21 else 1.0) for each in range(42)]
        decision = law.step(
            Reading(
                float(second), 1.0, threads, sum(passed[:41]),
                costs=surface.shares(), queued=queued, tuples=passed,
                arrived=passed[41] / sum(passed[:41]),
            )
        )  # fmt: skip
        queued, threads = decision.queued, decision.threads
    assert surface.throughput(queued, threads) >= 0.95 * surface.throughput(frozenset({20, 21}), 2)
    assert len(queued) <= 4


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
    assert "another load" in steps[PERIODS + 1].decision.reason
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
    anew = drive(law_of(other), other, PERIODS)[-1].throughput
    assert steps[-1].throughput >= max(0.97 * anew, 1.03 * stuck)
    assert any(
        "the work has moved" in step.decision.reason for step in steps[PERIODS : PERIODS + 5]
    )


def test_work_that_costs_more_behind_a_queue_has_not_moved():
    """Large tuples do that, which another thread wrote: the operator that reads them first is four
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
