"""95 % intervals of means of repeats, everywhere but in the gate: of throughputs, levels, ratios.

What is measured here is never negative, and repeats are few and skewed to the right: so the
interval is Student's t of the *logarithm* of the mean (delta method), from mean / q to mean * q
with q = exp(t * sd / (mean * sqrt(n))). It ends above zero, is that of the plain mean where the
runs are close to each other, and takes a run of 0. Of exponential data it covers the mean in 93 to
95 % at n = 2 to 5, where the plain one has 88 to 91 % (tests/measurement/test_mean_interval.py).

**Values that repeat** are steps of a grid, as levels and counts are, and equal ones say nothing of
runs that differ. If n runs are equal, up to 1 - 0.025^(1/n) of all runs may differ: with a greater
share, n equal ones have a chance below 2.5 % (Clopper and Pearson, Biometrika 26(4), 1934). So
`level_interval` reaches at least so far as if that share were as far away as the values that were
seen are apart. If all are equal, that is twice and half the value, a step of a law.

**Limits.** No interval of a mean holds for all data (Bahadur and Savage, The Annals of Mathematical
Statistics 27(4), 1956). If a share s of runs is far slower, and the others are close to each other,
n runs show none of the slow ones with a chance of (1 - s)^n, and the interval misses the mean.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple


def mean_interval(values: Sequence[float]) -> tuple[float, float, float]:
    """Return the mean, and the lower and upper end of its 95 % interval. Needs at least two values,
    none of them negative.
    """
    mean = statistics.fmean(values)
    if mean == 0:
        return 0.0, 0.0, 0.0
    half = t_quantile(len(values) - 1) * statistics.stdev(values) / (mean * math.sqrt(len(values)))
    return mean, mean * math.exp(-half), mean * math.exp(half)


FEWEST_FOR_INTERVAL = 3
"""Runs from which on an interval is shown to people: that of two may span a factor of a million."""


def range_of_two(mean: float, high: float) -> tuple[float, float]:
    """Return two values, the lower one first, from their mean and the upper end of its interval."""
    half = mean * math.log(high / mean) / t_quantile(1) if mean > 0.0 else 0.0
    return mean - half, mean + half


def level_interval(values: Sequence[float]) -> tuple[float, float, float]:
    """Return the mean, and the lower and upper end of its 95 % interval, of levels, counts and
    shares of them: as `mean_interval`, but with a width if values repeat.
    """
    mean, low, high = mean_interval(values)
    if len(set(values)) == len(values):
        return mean, low, high
    share, apart = unseen_share(len(values)), max(values) - min(values)
    below, above = (apart, apart) if apart else (mean / 2, mean or 1.0)
    return mean, max(min(low, mean - share * below), 0.0), max(high, mean + share * above)


def unseen_share(n: int) -> float:
    """Return the greatest share of runs that differ, if `n` runs are equal: with more, at most
    2.5 % of samples are.
    """
    return float(1 - 0.025 ** (1 / n))


class PooledDeviation(NamedTuple):
    """Standard deviation of the logarithms of runs, over several arms, and its degrees of
    freedom.
    """

    deviation: float
    freedom: int


def pool(
    values: Sequence[float], highs: Sequence[float], runs: Sequence[int]
) -> PooledDeviation | None:
    """Return the deviation over several means, from the upper ends of their intervals; None for
    fewer than three that have one.

    Few runs of an arm with two speeds are often all fast, or all slow, and hardly differ. The other
    arms show by how much they may.
    """
    deviations, freedoms = [], []
    for value, high, n in zip(values, highs, runs, strict=True):
        if n >= 2 and value > 0 and math.isfinite(high):
            deviations.append(math.log(high / value) * math.sqrt(n) / t_quantile(n - 1))
            freedoms.append(n - 1)
    if len(deviations) < 3:
        return None
    squares = sum(freedom * each**2 for freedom, each in zip(freedoms, deviations, strict=True))
    return PooledDeviation(math.sqrt(squares / sum(freedoms)), sum(freedoms))


def allowing(
    value: float,
    ends: tuple[float, float],
    n: int,
    events: float,
    others: PooledDeviation | None = None,
) -> tuple[float, float]:
    """Return the ends of the 95 % interval of `value` over `n` runs, moved outwards so that it
    holds among as many one-sided `events` (see `t_quantile`), by the deviation of its own runs and
    by that of `others`. One run has no interval, and its ends stay.
    """
    if n < 2 or value <= 0:
        return ends
    factor = t_quantile(n - 1, events) / t_quantile(n - 1) if events > 2 else 1.0
    least = others.deviation / math.sqrt(n) * t_quantile(others.freedom, events) if others else 0.0
    low, high = ends
    below = max(factor * math.log(value / low), least) if low > 0 else math.inf
    above = max(factor * math.log(high / value), least) if high < math.inf else math.inf
    return value * math.exp(-below), value * math.exp(min(above, LARGEST_EXPONENT))


def greatest_interval(
    means: Sequence[float], lows: Sequence[float], highs: Sequence[float], runs: Sequence[int]
) -> tuple[float, float]:
    """Return the 95 % interval of the greatest of some true means, from the ends of their own
    intervals.

    Of equal means the one that looks greatest is the luckiest, so the lower end allows for all of
    them (Bonferroni). The upper end needs no allowance: it is wrong only if that of the truly
    greatest one is.
    """
    others = pool(means, highs, runs)
    allowed = [
        allowing(mean, (low, high), n, 2 * len(means), others)[0]
        for mean, low, high, n in zip(means, lows, highs, runs, strict=True)
    ]
    return max(allowed), max(highs)


LARGEST_EXPONENT = 700.0  # of a float, nearly


@lru_cache
def spread_factors(n: int) -> tuple[float, float]:
    """Return the factors from the standard deviation of `n` >= 2 normal values to the ends of its
    95 % interval.
    """
    from scipy.special import chdtri

    low, high = (math.sqrt((n - 1) / float(chdtri(n - 1, tail))) for tail in (0.025, 0.975))
    return low, high


@lru_cache
def t_quantile(freedom: int, events: float = 2) -> float:
    """Return the quantile of Student's t at 1 - 0.05 / `events`, with `freedom` >= 1 degrees of
    freedom.

    A statement that is wrong if one at least of so many one-sided events happens is then wrong in
    at most 5 % (Bonferroni). A two-sided interval has two.
    """
    from scipy.special import stdtrit

    return float(stdtrit(freedom, 1 - 0.05 / events))
