"""The five numbers, on traces by hand whose answers are known."""

from __future__ import annotations

import pytest

from harness.bench.closed_loop import RunCourse
from harness.bench.scenario import MIN_SCORED_PERIODS, SETTLED_PERIODS, Configuration
from harness.bench.score import score, settled_at
from harness.bench.threads.scenario import Event, ThreadScenario
from harness.elasticity import Bounds

CURVE = (
    10.0,
    20.0,
    40.0,
    30.0,
    40.0,
    20.0,
    10.0,
    10.0,
)  # the best level is 3: the lowest that brings the most


def scored(levels, *events, curve=CURVE, bounds=None):
    one = ThreadScenario(
        "one", curve, bounds or Bounds(1, len(curve), 1), events=events, periods=len(levels)
    )
    return score(one, RunCourse([Configuration(level) for level in levels]))


def test_a_law_that_is_at_the_best_threads_from_the_start_loses_nothing():
    numbers = scored([3] * 40)
    assert (numbers.accuracy, numbers.settling, numbers.changes, numbers.regret) == (
        1.0,
        0.0,
        0.0,
        0.0,
    )
    assert numbers.overshoot == 0.0, "it never climbed"
    assert (numbers.best_threads, numbers.settled_threads) == (3, 3)


def test_a_law_that_climbs_and_settles_beside_the_best():
    numbers = scored([1, 2, 6, 4, *[4] * 36])
    assert numbers.settling == 3.0
    assert numbers.accuracy == pytest.approx(30.0 / 40.0)
    assert numbers.overshoot == 6 / 3
    assert numbers.changes == 0.0
    assert numbers.regret == pytest.approx(1.0 - (10 + 20 + 20 + 37 * 30) / (40 * 40))
    assert (numbers.best_threads, numbers.settled_threads) == (3, 4)


def test_among_levels_that_bring_the_same_the_lowest_is_the_best():
    assert scored([5] * 40).best_threads == 3
    assert scored([5] * 40).accuracy == 1.0
    assert scored([5] * 40, bounds=Bounds(4, 8, 4)).best_threads == 5, "within the bounds"


def test_changes_are_those_after_settling_in_50_periods():
    levels = [1, 2, *[3] * 20, *[4, 3] * 10]
    numbers = scored(levels)
    assert numbers.settling == 2.0
    assert numbers.changes == pytest.approx(50.0 * 20 / 40)


def test_a_law_that_never_settles_is_told_by_its_last_periods():
    numbers = scored([1, 3] * 20)
    assert numbers.settling == 40.0
    assert numbers.accuracy == pytest.approx((10 + 40) / 2 / 40)
    assert numbers.changes == pytest.approx(50.0 * (SETTLED_PERIODS - 1) / SETTLED_PERIODS)


def test_overshoot_counts_climbs_only():
    assert scored([8, *[3] * 39]).overshoot == 0.0, "it started there"
    assert scored([8, 1, 8, *[3] * 37]).overshoot == 8 / 3


def test_stretches_between_changes_of_load_count_alike():
    other = tuple(reversed(CURVE))
    change = Event("curve", 40, curve=other)  # its best level is 4
    numbers = scored([3] * 40 + [3, 3] + [4] * 18, change)
    assert numbers.settling == pytest.approx((0 + 2) / 2)
    assert numbers.accuracy == 1.0
    assert numbers.overshoot == 4 / 4
    assert numbers.best_threads == 4
    assert numbers.regret == pytest.approx(1.0 - (58 * 40 + 2 * 20) / (60 * 40))


def test_a_scale_changes_neither_accuracy_nor_the_best_threads():
    numbers = scored([2] * 60, Event("scale", 30, factor=0.1))
    assert numbers.accuracy == pytest.approx(0.5)
    assert numbers.regret == pytest.approx(0.5)


@pytest.mark.parametrize(
    "event",
    [Event("idle", 20, 20), Event("cpu", 20, 20, factor=0.5), Event("scale", 41)],
    ids=lambda event: event.kind,
)
def test_stretches_that_are_idle_crowded_or_too_short_are_not_scored(event):
    levels = [3] * 20 + [1, 5] * 10 + [3] * 20
    if event.kind == "scale":
        levels = [3] * 41 + [1, 5] * (MIN_SCORED_PERIODS // 2 - 1)
    numbers = scored(levels, event)
    assert (numbers.accuracy, numbers.settling, numbers.changes) == (1.0, 0.0, 0.0)


def test_what_an_idle_stretch_could_bring_is_no_regret_and_what_a_crowded_one_could_is():
    levels = [3] * 20 + [1] * 20 + [3] * 20
    assert scored(levels, Event("idle", 20, 20)).regret == 0.0
    assert scored(levels, Event("cpu", 20, 20, factor=0.5)).regret == pytest.approx(
        1.0 - (40 * 40 + 20 * 5) / (40 * 40 + 20 * 20)
    )


def test_bursts_are_nobodys_merit_or_fault():
    assert scored([1, 2, *[3] * 38], Event("burst", 5, 1, factor=9.0)) == scored([1, 2, *[3] * 38])


def test_a_short_scenario_is_scored_as_one():
    numbers = scored([1, 2, 3])
    assert numbers.settling == 3.0, "never settled"
    assert numbers.accuracy == pytest.approx((10 + 20 + 40) / 3 / 40)
    assert scored([3]).accuracy == 1.0


def test_a_scenario_without_any_tuples_loses_nothing():
    numbers = scored([1] * 40, Event("idle", 0))
    assert (numbers.accuracy, numbers.regret, numbers.best_threads) == (1.0, 0.0, 1)


@pytest.mark.parametrize(
    ("levels", "settled"),
    [
        ([3] * SETTLED_PERIODS, 0),
        ([3] * (SETTLED_PERIODS - 1), SETTLED_PERIODS - 1),
        ([1] + [3] * SETTLED_PERIODS, 1),
        ([1] * (SETTLED_PERIODS - 1) + [3] * SETTLED_PERIODS, SETTLED_PERIODS - 1),
        ([1] * SETTLED_PERIODS + [3] * SETTLED_PERIODS, 0),
        ([1, 2] * 10, 20),
        ([], 0),
    ],
)
def test_settled_is_the_first_period_of_those_that_stay_the_same(levels, settled):
    assert settled_at(levels) == settled
