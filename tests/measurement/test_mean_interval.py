"""The 95 % interval of a mean: its quantiles, its ends, and how often it covers."""

from __future__ import annotations

import math

import numpy as np
import pytest

from harness.measurement.interval import (
    allowing,
    greatest_interval,
    level_interval,
    mean_interval,
    pool,
    range_of_two,
    spread_factors,
    t_quantile,
    unseen_share,
)

SAMPLES = 4000


@pytest.mark.parametrize(
    ("freedom", "quantile"),
    [
        (1, 12.706),
        (2, 4.303),
        (3, 3.182),
        (4, 2.776),
        (9, 2.262),
        (30, 2.042),
        (120, 1.980),
        (999, 1.962),
    ],
)
def test_the_quantile_is_that_of_the_tables(freedom, quantile):
    assert t_quantile(freedom) == pytest.approx(quantile, abs=6e-4)


def test_more_events_that_may_go_wrong_have_a_larger_quantile():
    assert t_quantile(2, events=10) == pytest.approx(
        9.925, abs=1e-3
    )  # one-sided 0.5 % in a printed table


@pytest.mark.parametrize(
    ("n", "factors"), [(2, (0.446, 31.910)), (10, (0.688, 1.826)), (31, (0.799, 1.337))]
)
def test_the_interval_of_a_standard_deviation_is_that_of_the_tables(n, factors):
    assert spread_factors(n) == pytest.approx(factors, abs=6e-4)


def test_the_interval_of_values_that_are_close_is_that_of_the_plain_mean():
    mean, low, high = mean_interval([1000.0, 1001.0, 1002.0, 1003.0, 1004.0])
    half = 2.776 * 1.5811 / 5**0.5
    assert (mean, low, high) == pytest.approx((1002.0, 1002 - half, 1002 + half), abs=0.01)


def test_the_interval_of_equal_values_has_no_width():
    assert mean_interval([5.0, 5.0, 5.0]) == (5.0, 5.0, 5.0)
    assert mean_interval([0.0, 0.0]) == (0.0, 0.0, 0.0)


@pytest.mark.parametrize(("n", "share"), [(2, 0.842), (3, 0.708), (5, 0.522), (10, 0.308)])
def test_the_share_of_unseen_runs_is_that_of_the_tables_of_clopper_and_pearson(n, share):
    assert unseen_share(n) == pytest.approx(share, abs=5e-4)


@pytest.mark.parametrize(
    ("levels", "low", "high"),
    [
        ([4.0, 4.0, 4.0], 4 - 2 * 0.7076, 4 + 4 * 0.7076),  # half and twice the level
        ([0.0, 0.0, 0.0], 0.0, 0.7076),  # the next count
        ([4.0, 4.0, 4.0, 4.0, 4.0, 4.0, 4.0, 5.0], 4.125 - 0.3694, 4.125 + 0.3694),
    ],
)
def test_levels_that_repeat_have_an_interval_that_reaches_as_far_as_unseen_ones(levels, low, high):
    assert level_interval(levels)[1:] == pytest.approx((low, high), abs=1e-3)


def test_levels_that_all_differ_have_the_interval_of_any_number():
    assert level_interval([4.0, 5.0, 7.0]) == mean_interval([4.0, 5.0, 7.0])


def test_an_end_moves_by_the_quantile_for_more_events_and_that_of_one_run_stays():
    factor = t_quantile(2, 8) / t_quantile(2)
    moved = allowing(10.0, (9.0, 12.0), 3, 8)
    assert moved == pytest.approx((10 * 0.9**factor, 10 * 1.2**factor))
    assert allowing(10.0, (9.0, 12.0), 3, 2) == pytest.approx((9.0, 12.0))
    assert allowing(10.0, (0.0, math.inf), 1, 8) == (0.0, math.inf)
    assert allowing(10.0, (9.0, 1e9), 2, 10**6)[1] > 1e300, "and it is no error of a float"


def test_an_arm_whose_runs_hardly_differ_has_the_deviation_of_the_others_too():
    highs = [high for _, _, high in map(mean_interval, ([1.0, 2.0, 1.0], [2.0, 1.0, 2.0]))]
    steady = (2.0, (1.99, 2.01), 3, 6)
    assert pool([4 / 3, 5 / 3], highs, [3, 3]) is None, "two are a pair"
    shared = pool([4 / 3, 5 / 3, 2.0], [*highs, 2.01], [3, 3, 3])
    assert shared is not None and shared.freedom == 6
    assert allowing(*steady)[0] > 1.9 > allowing(*steady, shared)[0]
    assert pool([1.0, 1.0, 0.0, 1.0], [2.0, math.inf, 0.0, 2.0], [3, 1, 3, 3]) is None


def test_the_lower_end_of_the_greatest_allows_for_all_of_them():
    lows = [allowing(mean, (0.9 * mean, 1.1 * mean), 3, 4)[0] for mean in (10.0, 9.9)]
    found = greatest_interval([10.0, 9.9], [9.0, 8.91], [11.0, 12.0], [3, 3])
    assert found == (pytest.approx(max(lows)), 12.0)
    assert greatest_interval([10.0], [9.0], [11.0], [3]) == pytest.approx((9.0, 11.0))


@pytest.mark.parametrize("values", [[8127.0, 10632.0], [1.0, 100.0], [0.0, 7.0], [1e-3, 1e-3, 5.0]])
def test_no_interval_begins_at_zero_or_below(values):
    mean, low, high = mean_interval(values)
    assert 0 < low < mean < high < math.inf


WORLDS = {  # of mean 1, and how often the interval covers it at the least
    "close to each other": (lambda rng, size: rng.normal(1, 0.02, size), 0.945),
    "normal, 20 %": (lambda rng, size: np.abs(rng.normal(1, 0.2, size)), 0.945),
    "skewed, 20 %": (lambda rng, size: rng.lognormal(-0.02, 0.2, size), 0.94),
    "skewed, 50 %": (lambda rng, size: rng.lognormal(-0.125, 0.5, size), 0.93),
    "exponential": (lambda rng, size: rng.exponential(1, size), 0.93),
    "skewed to the other side": (lambda rng, size: 1.2 - rng.gamma(4, 0.05, size), 0.925),
}


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_the_interval_covers_the_mean_in_95_percent(world, n):
    draw, promised = WORLDS[world]
    samples = draw(np.random.default_rng(n), (SAMPLES, n))
    ends = np.array([mean_interval(sample)[1:] for sample in samples.tolist()])
    covered = np.mean((ends[:, 0] <= 1) & (ends[:, 1] >= 1))
    assert covered >= promised - 3 * (promised * (1 - promised) / SAMPLES) ** 0.5
    assert covered <= 0.97, "and is no wider than that"


def test_two_values_follow_from_their_mean_and_interval():
    mean, _, high = mean_interval([3.0, 50.0])
    assert range_of_two(mean, high) == pytest.approx((3.0, 50.0))
    assert range_of_two(0.0, 0.0) == (0.0, 0.0)
