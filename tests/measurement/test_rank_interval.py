"""Medians with intervals that are values themselves, at the ends of floats too."""

from __future__ import annotations

import math
from statistics import median

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.measurement.rank_interval import coverage, median_interval, middle_of, rank

MOST = 1.7976931348623157e308


@pytest.mark.parametrize(
    ("n", "k", "probability"),
    [
        (6, 1, 0.9688),
        (8, 1, 0.9922),
        (9, 2, 0.9609),
        (15, 4, 0.9648),
        (20, 6, 0.9586),
        (25, 8, 0.9567),
        (40, 14, 0.9615),
    ],
)
def test_the_interval_of_a_median_is_that_of_the_tables(n, k, probability):
    values = [float(value) for value in range(n, 0, -1)]
    assert median_interval(values) == ((n + 1) / 2, k, n + 1 - k)
    assert coverage(n, k) == pytest.approx(probability, abs=6e-5)
    assert rank(n) == k


@pytest.mark.parametrize("n", [1, 2, 5])
def test_too_few_values_for_an_interval_have_their_range(n):
    assert median_interval([float(value) for value in range(n)]) == ((n - 1) / 2, 0, n - 1)


@given(st.lists(st.floats(-1e300, 1e300), min_size=1, max_size=20))
def test_the_middle_is_the_median(values):
    assert middle_of(values) == median(values)


@pytest.mark.parametrize(
    ("values", "middle"),
    [
        ([MOST, MOST], MOST),
        ([-MOST, -MOST], -MOST),
        ([-MOST, MOST], 0.0),
        ([5e-324, 5e-324], 5e-324),
        ([1.0, math.inf], math.inf),
    ],
)
def test_finite_numbers_have_a_finite_middle(values, middle):
    assert middle_of(values) == middle


def test_a_median_lies_within_its_interval_however_large_the_values_are():
    found = median_interval([1e308, 1.5e308, MOST, MOST])
    assert found.low <= found.median <= found.high < math.inf
