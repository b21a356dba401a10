"""Proofs that a mean or a quantile of some values is below that of others, for values of any
distribution.

Both are ratios of nonparametric likelihoods (Owen, Biometrika 75(2), 1988): the distributions that
make the values most likely, against the best of those whose means, or quantiles, are equal. For
means, each distribution may use the values of both sides, up to the largest and down to the
smallest. So a side that has shown no slow process may still have those of the other side, and
counts as it does for a share: k of n. A t statistic would take such a side for quiet. For
quantiles, the values below a place are a share, and the place is the most likely one.

The ratio is turned into the t statistic that has it where values are normal.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr

# of the common mean, as a share of the distance between the means: the ratio is flat there
PRECISION = 1e-3
MOST_STEPS = 50  # far more than any search takes
LARGE = 50.0  # logarithm that is as good as infinite, and whose exponential a float can hold

Floats = NDArray[np.float64]


def p_mean_below(low: Floats, high: Floats, reach: float = 1.0) -> float:
    """Return the p-value of "the mean of `low` is at least that of `high`". `reach`: how far a
    value of `low` may be from its median, as a multiple of what was seen."""
    left, right = float(low.mean()), float(high.mean())
    if left >= right:
        return 1.0
    least, most = min(low.min(), high.min()), max(low.max(), high.max())
    middle = float(np.median(low))
    most = middle + reach * (most - middle)
    width, log_ratio = right - left, math.inf
    while right - left > PRECISION * width:
        mean = (left + right) / 2
        raised, up = _moved(low - mean, float(most - mean))
        lowered, down = _moved(mean - high, float(mean - least))
        log_ratio = min(log_ratio, raised + lowered)
        if up > down:
            right = mean
        else:
            left = mean
    return _p(log_ratio, len(low) + len(high))


def _moved(distances: Floats, most: float) -> tuple[float, float]:
    """Return how much less likely values are, as a log, if their mean is not below them but at 0,
    and the slope of that log as the mean is moved further.

    `distances` of the values from that mean, which is above their own; values up to `most` are
    possible. The log is the maximum over 0 <= x <= 1 / most of the sum of log(1 - x distance).
    """
    end = 1.0 / most
    if (last := 1.0 - end * distances).min() > 0.0 and (distances / last).sum() <= 0.0:
        return float(np.log(last).sum()), len(distances) * end
    low, high, x = 0.0, end, 0.0
    for _ in range(MOST_STEPS):
        terms = distances / (1.0 - x * distances)
        slope = -float(terms.sum())
        low, high = (x, high) if slope > 0.0 else (low, x)
        step = slope / float(terms @ terms)
        x = x + step if low < x + step < high else (low + high) / 2
        if abs(step) <= PRECISION * end:
            break
    return float(np.log1p(-x * distances).sum()), len(distances) * x


def p_mean_below_by_t(low: Floats, high: Floats) -> float:
    """Return the p-value of "the mean of `low` is at least that of `high`" by Welch's t statistic,
    corrected for the skewness of both sides (Hall, Journal of the Royal Statistical Society B
    54(1), 1992)."""
    sides = (low, high)
    variances = [float(side.var(ddof=1)) / len(side) for side in sides]
    thirds = [float(((side - side.mean()) ** 3).mean()) / len(side) ** 2 for side in sides]
    difference, total = float(low.mean() - high.mean()), sum(variances)
    if total == 0.0:
        return float(difference >= 0.0)
    t, skewness = difference / math.sqrt(total), (thirds[0] - thirds[1]) / total**1.5
    corrected = t + skewness * t**2 / 3 + skewness**2 * t**3 / 27 + skewness / 6
    # Welch and Satterthwaite
    parts = sum(v**2 / (len(side) - 1) for v, side in zip(variances, sides, strict=True))
    return float(stdtr(total**2 / parts, corrected))


def p_quantile_below(low: Floats, high: Floats, share: float) -> float:
    """Return the p-value of "the quantile of `low`, below which the `share` lies, is at least that
    of `high`"."""
    places = np.concatenate([low, high])
    below = np.searchsorted(np.sort(low), places, side="left") / len(low)
    upto = np.searchsorted(np.sort(high), places, side="right") / len(high)
    costs = len(low) * _distant(np.maximum(below, share), share)
    costs += len(high) * _distant(np.minimum(upto, share), share)
    return _p(float(costs.min()), len(low) + len(high))


def _distant(found: Floats, share: float) -> Floats:
    """Return how much less likely a found share is, as a log for each value, if the true one is
    `share`."""
    with np.errstate(divide="ignore", invalid="ignore"):
        inside = np.where(found > 0.0, found * np.log(found / share), 0.0)
        outside = np.where(found < 1.0, (1.0 - found) * np.log((1.0 - found) / (1.0 - share)), 0.0)
    return inside + outside


def _p(log_ratio: float, values: int) -> float:
    """Return the chance of so small a likelihood ratio, by the t statistic that has it."""
    freedom = values - 2
    exponent = min(2.0 * max(0.0, log_ratio) / values, LARGE)  # rounding may make it negative
    return float(stdtr(freedom, -math.sqrt(freedom * math.expm1(exponent))))
