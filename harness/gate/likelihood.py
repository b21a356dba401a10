"""Tests of whether a mean or a quantile of some values is below that of others, for values of any
distribution.

Both tests use a ratio of nonparametric likelihoods (Owen, Biometrika 75(2), 1988): that of the
distributions that make the values most likely, over that of the best distributions whose means, or
quantiles, are equal. For means, each distribution may use the values of both sides, up to the
largest and down to the smallest. So a side without a slow process may still have those of the other
side, and counts as k of n does for a share. A t statistic would take the variance of such a side to
be low. For quantiles, the values below a threshold are a share, and the threshold is the most
likely one.

The p-value is that of the t statistic which has the same ratio where values are normal.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr

PRECISION = 1e-3  # of the common mean, as a share of the distance between the two means
MAX_STEPS = 50  # far more than any search takes
MAX_EXPONENT = 50.0  # as good as infinite, but a float can hold its exponential

Floats = NDArray[np.float64]


def p_mean_below(low: Floats, high: Floats, reach: float = 1.0) -> float:
    """Return the p-value of "the mean of `low` is at least that of `high`".

    `reach`: distance from the median of `low` that a value of `low` may have, as a multiple of the
    largest one seen.
    """
    left, right = float(low.mean()), float(high.mean())
    if left >= right:
        return 1.0
    least, most = min(low.min(), high.min()), max(low.max(), high.max())
    middle = float(np.median(low))
    most = middle + reach * (most - middle)
    width, log_ratio = right - left, math.inf
    while right - left > PRECISION * width:
        mean = (left + right) / 2
        log_raised, slope_up = _log_ratio_at(low - mean, float(most - mean))
        log_lowered, slope_down = _log_ratio_at(mean - high, float(mean - least))
        log_ratio = min(log_ratio, log_raised + log_lowered)
        if slope_up > slope_down:
            right = mean
        else:
            left = mean
    return _p_value(log_ratio, len(low) + len(high))


def _log_ratio_at(distances: Floats, most: float) -> tuple[float, float]:
    """Return the log of a likelihood ratio, and its slope as the mean is moved further up.

    The ratio is the likelihood of the values over the highest one with a mean moved up to 0.
    `distances`: of the values from the moved mean; values up to `most` are possible. The log is the
    maximum over 0 <= x <= 1 / most of the sum of log(1 - x distance).
    """
    end = 1.0 / most
    if (last := 1.0 - end * distances).min() > 0.0 and (distances / last).sum() <= 0.0:
        return float(np.log(last).sum()), len(distances) * end
    low, high, x = 0.0, end, 0.0
    for _ in range(MAX_STEPS):
        terms = distances / (1.0 - x * distances)
        slope = -float(terms.sum())
        low, high = (x, high) if slope > 0.0 else (low, x)
        step = slope / float(terms @ terms)
        x = x + step if low < x + step < high else (low + high) / 2
        if abs(step) <= PRECISION * end:
            break
    return float(np.log1p(-x * distances).sum()), len(distances) * x


def p_mean_below_by_t(low: Floats, high: Floats) -> float:
    """Return the p-value of "the mean of `low` is at least that of `high`" by Welch's t statistic.

    It is corrected for the skewness of both sides (Hall, Journal of the Royal Statistical Society B
    54(1), 1992).
    """
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
    """Return the p-value of "the `share` quantile of `low` is at least that of `high`"."""
    thresholds = np.concatenate([low, high])
    below = np.searchsorted(np.sort(low), thresholds, side="left") / len(low)
    upto = np.searchsorted(np.sort(high), thresholds, side="right") / len(high)
    log_ratios = len(low) * _divergence(np.maximum(below, share), share)
    log_ratios += len(high) * _divergence(np.minimum(upto, share), share)
    return _p_value(float(log_ratios.min()), len(low) + len(high))


def _divergence(found: Floats, share: float) -> Floats:
    """Return the Kullback-Leibler divergence of each found share from the true `share`."""
    with np.errstate(divide="ignore", invalid="ignore"):
        inside = np.where(found > 0.0, found * np.log(found / share), 0.0)
        outside = np.where(found < 1.0, (1.0 - found) * np.log((1.0 - found) / (1.0 - share)), 0.0)
    return inside + outside


def _p_value(log_ratio: float, values: int) -> float:
    """Return the p-value of a likelihood ratio, by the t statistic that has the same ratio."""
    freedom = values - 2
    # rounding may have made the log negative
    exponent = min(2.0 * max(0.0, log_ratio) / values, MAX_EXPONENT)
    return float(stdtr(freedom, -math.sqrt(freedom * math.expm1(exponent))))
