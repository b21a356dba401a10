"""Medians with intervals that are values themselves, at the ends of floats too."""

from __future__ import annotations

import math
from statistics import median

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.measurement.rank_interval import median_interval, middle_of

MOST = 1.7976931348623157e308


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
