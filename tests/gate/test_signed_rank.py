"""The signed-rank test against every choice of signs, against scipy, and against its own bounds."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from harness.gate import signed_rank
from harness.gate.signed_rank import (
    MAX_EXACT_COUNT,
    Walsh,
    bounds,
    chance,
    estimate,
    least_rejected,
    normal_tail,
    tail,
)

some_values = st.lists(
    st.integers(-8, 8).map(lambda k: k / 4), min_size=1, max_size=14
)  # few digits: many ties; sums are exact
levels = st.sampled_from([0.3, 0.1, 0.05, 0.01, 0.002])


@pytest.mark.parametrize("n", range(1, 13))
def test_the_distribution_is_that_of_all_choices_of_signs(n):
    sums = np.arange(1, n + 1) * np.array(list(itertools.product([0, 1], repeat=n)))
    counts = np.bincount(sums.sum(axis=1), minlength=n * (n + 1) // 2 + 1)
    assert tail(n) == pytest.approx(np.cumsum(counts[::-1])[::-1] / 2**n, rel=1e-12)


def test_rare_sums_keep_their_digits():
    for n in (60, 200):
        assert tail(n)[-1] == 2.0**-n
        assert tail(n)[-4] == 5 * 2.0**-n  # none left out, or rank 1, 2, 3, or 1 and 2
        assert tail(n)[0] == pytest.approx(1.0)


@pytest.mark.parametrize("n", [5, 20, 45])
@pytest.mark.parametrize("shift", [-0.3, 0.0, 0.4])
def test_p_values_are_scipys(n, shift):
    values = np.random.default_rng(n).normal(0.2, 1.0, n)
    for mine, alternative in ((Walsh(values).p_greater, "greater"), (Walsh(values).p_less, "less")):
        theirs = stats.wilcoxon(values - shift, alternative=alternative, method="exact").pvalue
        assert mine(shift) == pytest.approx(theirs, rel=1e-9)


def test_the_estimate_is_the_median_of_the_means_of_all_pairs():
    assert estimate([1.0, 2.0, 6.0]) == 2.75  # of 1, 1.5, 2, 3.5, 4, 6
    assert estimate([3.0]) == 3.0
    assert estimate([1.0, 2.0]) == 1.5


@given(some_values, levels)
def test_bounds_invert_the_test(values, level):
    """A shift is rejected exactly if it is beyond the bound, at the averages themselves and between
    them.
    """
    low, high = bounds(values, level)
    walsh = Walsh(values)
    averages = sorted(set(walsh.averages))
    for shift in [*averages, *(average + 1 / 16 for average in averages), averages[0] - 1]:
        assert (walsh.p_greater(shift) <= level) == (shift < low)
        assert (walsh.p_less(shift) <= level) == (shift > high)


@given(some_values, levels)
def test_turning_the_numbers_round_turns_everything_round(values, level):
    low, high = bounds(values, level)
    assert bounds([-value for value in values], level) == (-high, -low)
    assert estimate([-value for value in values]) == -estimate(values)


@given(some_values, st.integers(-8, 8))
def test_ties_never_make_p_smaller_than_breaking_them_any_way(values, quarter):
    """Every way to break the ties is a test with the exact distribution; the p-value is the largest
    of theirs.
    """
    shift, tiny = quarter / 4, 1e-6
    worst = Walsh(
        [value - tiny * (value - shift > 0) - tiny * (value == shift) for value in values]
    ).p_greater(shift)
    assert Walsh(values).p_greater(shift) == pytest.approx(worst)


def test_too_few_numbers_have_no_bounds():
    assert bounds([1.0, 2.0, 3.0], 0.1) == (-math.inf, math.inf)
    assert bounds([1.0, 2.0, 3.0], 0.125) == (1.0, 3.0)
    assert least_rejected(3, 0.1) == 7


def test_one_wild_number_moves_a_bound_only_as_far_as_its_rank():
    calm = [0.01 * k for k in range(20)]
    low, high = bounds([*calm[:-1], 1e9], 0.05)
    assert 0 < low < high < 0.2


@pytest.mark.parametrize("noise", ["normal", "standard_cauchy", "laplace"])
def test_bounds_miss_as_often_as_they_may(noise):
    draw = np.random.default_rng(8)
    rows = getattr(draw, noise)(size=(2000, 15)) + 3.0
    missed = sum(Walsh(row).low(0.05) > 3.0 for row in rows)
    exact = tail(15)[least_rejected(15, 0.05)]  # 0.0473: the largest below 0.05
    assert stats.binomtest(missed, 2000, exact).pvalue > 0.001


def test_the_normal_distribution_is_close_where_it_takes_over_and_errs_on_the_safe_side():
    for level, most in (
        (0.4, 1.0),
        (0.05, 1.001),
        (0.01, 1.01),
        (1e-3, 1.02),
        (1e-6, 1.1),
        (1e-9, 1.25),
    ):
        w = least_rejected(MAX_EXACT_COUNT, level)
        assert 0.999 < normal_tail(MAX_EXACT_COUNT, w) / chance(MAX_EXACT_COUNT, w) < most


def test_chances_of_many_numbers_need_no_distribution_of_theirs(monkeypatch):
    """That of 20,000 would take 1.6 GB and an hour."""
    monkeypatch.setattr(signed_rank, "tail", lambda n: pytest.fail("it was made"))
    n, most = 20_000, 20_000 * 20_001 // 2
    assert (chance(n, 0), chance(n, most)) == (1.0, 0.0)
    assert chance(n, most // 2) == pytest.approx(0.5, abs=1e-4)
    level = 1e-4
    assert chance(n, least_rejected(n, level)) <= level < chance(n, least_rejected(n, level) - 1)
