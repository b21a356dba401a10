"""Mean of repeats with its 95 % interval (Student's t), without a statistics package: repeats are few, t is closed for whole
degrees of freedom (Abramowitz and Stegun, 26.7.3 and 26.7.4)."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from functools import lru_cache


def mean_interval(values: Sequence[float]) -> tuple[float, float, float]:
    """Mean, lower and upper end of the 95 % interval. Needs at least two values."""
    mean = statistics.fmean(values)
    half = t_975(len(values) - 1) * statistics.stdev(values) / math.sqrt(len(values))
    return mean, mean - half, mean + half


@lru_cache
def t_975(freedom: int) -> float:
    """The 0.975 quantile of Student's t with `freedom` >= 1 degrees of freedom."""
    low, high = 1.9, 13.0  # the quantile falls from 12.71 (1 degree) to 1.96
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if _inside(middle, freedom) < 0.95 else (low, middle)
    return (low + high) / 2


def _inside(t: float, freedom: int) -> float:
    """P(-t < T < t)."""
    theta = math.atan(t / math.sqrt(freedom))
    sine, cosine = math.sin(theta), math.cos(theta)
    odd = freedom % 2
    term = total = (cosine if odd else 1.0) if freedom > 1 else 0.0
    for k in range(3 if odd else 2, freedom - 1, 2):
        term *= (k - 1) / k * cosine * cosine
        total += term
    return 2 / math.pi * (theta + sine * total) if odd else sine * total
