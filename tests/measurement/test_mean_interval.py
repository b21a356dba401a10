"""The 95 % interval against printed tables of Student's t."""

from __future__ import annotations

import pytest

from harness.measurement.interval import mean_interval, t_975


@pytest.mark.parametrize(
    ("freedom", "quantile"),
    [(1, 12.706), (2, 4.303), (3, 3.182), (4, 2.776), (9, 2.262), (30, 2.042), (120, 1.980), (999, 1.962)],
)
def test_the_quantile_is_that_of_the_tables(freedom, quantile):
    assert t_975(freedom) == pytest.approx(quantile, abs=6e-4)


def test_the_interval_of_five_values():
    mean, low, high = mean_interval([10.0, 11.0, 12.0, 13.0, 14.0])
    assert mean == 12.0
    assert high - mean == pytest.approx(2.776 * 1.5811 / 5**0.5, rel=1e-3)
    assert mean - low == pytest.approx(high - mean)


def test_equal_values_have_an_interval_of_no_width():
    assert mean_interval([5.0, 5.0, 5.0]) == (5.0, 5.0, 5.0)
