"""Tests of what a contestant made of a scenario, in numbers: traces by hand."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest

from harness.bench.closed_loop import RunCourse
from harness.bench.queues.scenario import Phase
from harness.bench.scenario import Configuration
from harness.bench.score import score
from tests.bench.queues.small import scenario

PLAIN = scenario(operators=5)
NONE, ALL = frozenset(), frozenset(range(6))


@cache
def best():
    return PLAIN.best(0)


def passed(*stretches, dedicated=False):
    """A trace of stretches (periods, level, placement)."""
    trace = RunCourse()
    for periods, level, queued in stretches:
        trace.configurations.extend([Configuration(level, queued, dedicated=dedicated)] * periods)
    return trace


def test_whoever_is_always_at_the_oracles_choice_loses_nothing():
    numbers = score(PLAIN, passed((40, best().threads, best().queued)))
    assert numbers.accuracy == pytest.approx(1.0) and numbers.regret == pytest.approx(0.0)
    assert (numbers.settling, numbers.changes, numbers.overshoot) == (0, 0, 0)
    assert (numbers.best_threads, numbers.best_parts) == (best().threads, len(best().queued))
    assert (numbers.settled_threads, numbers.settled_parts) == (best().threads, len(best().queued))


def test_whoever_never_moves_has_the_accuracy_of_where_it_stands():
    share = PLAIN.surface(0).throughput((), 1) / best().throughput
    numbers = score(PLAIN, passed((40, 1, NONE)))
    assert numbers.accuracy == pytest.approx(share)
    assert numbers.regret == pytest.approx(1 - share)


def test_a_placement_that_changes_has_not_settled():
    moving = [(1, 4, frozenset((place % 6,))) for place in range(12)]
    numbers = score(PLAIN, passed(*moving, (28, best().threads, best().queued)))
    assert numbers.settling == 12
    assert numbers.accuracy == pytest.approx(1.0)


def test_changes_after_settling_are_counted_in_fifty_periods():
    numbers = score(PLAIN, passed((20, 4, ALL), (10, 4, NONE), (10, 4, ALL)))
    assert (numbers.settling, numbers.changes) == (0, pytest.approx(50 * 2 / 40))


def test_overshoot_is_of_threads_and_of_queues_that_were_climbed_to():
    numbers = score(PLAIN, passed((3, 1, NONE), (3, 16, ALL), (34, best().threads, best().queued)))
    assert numbers.overshoot == 16 / best().threads
    assert numbers.parts_overshoot == 6 / len(best().queued)


def test_who_begins_high_and_comes_down_did_not_overshoot():
    numbers = score(PLAIN, passed((5, 16, ALL), (35, 1, NONE)))
    assert (numbers.overshoot, numbers.parts_overshoot) == (0, 0)


def test_each_phase_counts_alike_and_one_with_others_on_the_cpus_not_at_all():
    phases = (Phase(0), Phase(20, scale=8.0), Phase(40, others=0.5))
    changing = replace(PLAIN, phases=phases, periods=60)
    second = changing.surface(25).throughput((), 1) / changing.best(25).throughput
    numbers = score(changing, passed((20, best().threads, best().queued), (40, 1, NONE)))
    assert numbers.accuracy == pytest.approx((1.0 + second) / 2)
    assert [accuracy for accuracy, _ in numbers.phases] == pytest.approx([1.0, second])
    assert [threads for _, threads in numbers.phases] == [best().threads, 1]
    assert numbers.best_threads == changing.best(25).threads


def test_a_dedicated_thread_for_each_queue_is_a_thread():
    numbers = score(PLAIN, passed((40, 1, ALL), dedicated=True))
    assert numbers.settled_threads == 6
    assert numbers.accuracy == pytest.approx(PLAIN.surface(0).dedicated() / best().throughput)
