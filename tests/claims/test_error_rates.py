"""Rates at which readings and verdicts are wrong, over many made samples."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import combinations
from types import SimpleNamespace

import numpy as np
import pytest

from harness.claims.predicate import in_each
from harness.claims.reading import (
    Check,
    Finding,
    RangedNumber,
    every,
    greater,
    greatest,
    not_below,
    of_runs,
    some,
    within,
)

SAMPLES = 240
Draw = Callable[[np.random.Generator, int], np.ndarray]


def allowed(promised: float, samples: int) -> float:
    """Share of wrong samples that a promise is seen as in one test of a thousand at most."""
    return promised + 3 * (promised * (1 - promised) / samples) ** 0.5


def either(usual: float, rare: float, share: float) -> tuple[Draw, float]:
    """Draw one of two values, and their mean."""

    def draw(rng: np.random.Generator, n: int) -> np.ndarray:
        return np.where(rng.random(n) < share, rare, usual)

    return draw, (1 - share) * usual + share * rare


GRIDS = {
    "the next level, rarely": either(4, 5, 0.15),
    "the next level, often": either(4, 5, 0.4),
    "twice the level": either(4, 8, 0.15),
    "half the level": either(8, 4, 0.15),
    "a run that never changes, or always": either(0, 1, 0.15),
    "a share that is less": either(1, 0.5, 0.2),
    "three levels": (lambda rng, n: rng.choice([3, 4, 5], n, p=[0.1, 0.8, 0.1]), 4.0),
    "rounded": (lambda rng, n: np.round(rng.normal(4, 0.6, n)), 4.0),
}


@pytest.mark.parametrize("grid", GRIDS)
@pytest.mark.parametrize("n", [2, 3, 5, 10])
def test_the_range_of_levels_covers_their_mean_although_runs_often_agree(grid, n):
    draw, mean = GRIDS[grid]
    rng = np.random.default_rng(n)
    readings = [of_runs(draw(rng, n).tolist()) for _ in range(SAMPLES)]
    missed = np.mean([not reading.low <= mean <= reading.high for reading in readings])
    assert missed <= allowed(0.05, SAMPLES)


@pytest.mark.parametrize("numbers", [2, 5, 11])
@pytest.mark.parametrize("n", [2, 3, 10])
def test_the_range_of_the_greatest_of_equal_numbers_is_seldom_above_them(numbers, n):
    rng = np.random.default_rng(n)
    samples = rng.normal(100, 5, (SAMPLES, numbers, n))
    found = [greatest([of_runs(runs) for runs in sample]) for sample in samples.tolist()]
    assert np.mean([reading.low > 100 for reading in found]) <= allowed(0.025, SAMPLES)
    assert np.mean([reading.high < 100 for reading in found]) <= allowed(0.025, SAMPLES)


def test_the_range_of_the_greatest_is_seldom_above_the_truth_if_runs_have_two_speeds():
    """Three runs of five arms: in most samples those of one arm are all fast, and hardly differ."""
    rng, shape = np.random.default_rng(6), (SAMPLES, 5, 3)
    samples = rng.normal(100, 1, shape) * np.where(rng.random(shape) < 0.3, 0.5, 1.0)
    found = [greatest([of_runs(runs) for runs in sample]) for sample in samples.tolist()]
    assert np.mean([reading.low > 85 for reading in found]) <= allowed(0.025, SAMPLES)


@pytest.fixture(scope="module", params=[0.0, 0.3], ids=["one speed", "two speeds"])
def flat(request) -> list[list[RangedNumber]]:
    """Readings of one true mean at five levels, of three runs each, of which some have half the
    speed.
    """
    rng, shape = np.random.default_rng(3), (SAMPLES, 5, 3)
    samples = rng.normal(100, 2, shape) * np.where(rng.random(shape) < request.param, 0.5, 1.0)
    return [[of_runs(runs) for runs in sample] for sample in samples.tolist()]


def never_falling(readings: Sequence[RangedNumber], families: float = 1) -> Finding:
    pairs = combinations(readings, 2)
    return every([Check(not_below, (after, before)) for before, after in pairs], families)


def test_levels_that_are_flat_are_said_to_fall_in_5_percent_at_most(flat):
    wrong = np.mean([never_falling(levels).throughout is False for levels in flat])
    assert wrong <= allowed(0.05, SAMPLES)


def test_levels_of_which_the_last_has_half_the_throughput_are_said_to_fall():
    means = np.array([100, 100, 100, 100, 50])[:, None]
    samples = means * np.random.default_rng(4).normal(1, 0.05, (50, 5, 5))
    falls = [[of_runs(runs) for runs in sample] for sample in samples.tolist()]
    assert np.mean([never_falling(levels).throughout is False for levels in falls]) > 0.95


def test_one_of_many_equal_numbers_is_said_to_be_less_in_5_percent_at_most(flat):
    def less(first: RangedNumber, *others: RangedNumber) -> Finding:
        return some([Check(greater, (first, other)) for other in others])

    wrong = np.mean([less(*levels).throughout is True for levels in flat])
    assert wrong <= allowed(0.05, SAMPLES)


def test_of_twelve_cells_one_that_fails_by_chance_refutes_no_claim(flat):
    groups = [flat[start : start + 12] for start in range(0, SAMPLES - 11, 12)]

    def refuted(group: list[list[RangedNumber]]) -> bool:
        cells = [SimpleNamespace(name=str(number), levels=one) for number, one in enumerate(group)]
        outcomes = in_each(cells, lambda cell, families: never_falling(cell.levels, families))
        return any(outcome.finding.throughout is False for outcome in outcomes)

    assert np.mean([refuted(group) for group in groups]) <= allowed(0.05, len(groups))


def test_cells_that_fail_together_refute_a_claim_that_none_of_them_refutes_alone():
    """Twelve cells that fail with their own intervals, but not with those that allow for twelve."""
    cells = [SimpleNamespace(name=str(number)) for number in range(12)]
    number = RangedNumber(10, 9, 11, 3, is_sampled=True)

    def found(failing: int) -> list[bool | None]:
        def test(cell: SimpleNamespace, families: float) -> Finding:
            is_failing = int(cell.name) < failing
            inside = partial(within, at_least=12 if is_failing else 5, at_most=None)
            return every([Check(inside, (number,))], families)

        return [outcome.finding.throughout for outcome in in_each(cells, test)]

    assert found(12) == [False] * 12
    assert found(1) == [None] + [True] * 11
