"""Median of a few values with an interval that supposes nothing of how they scatter: two of the
values themselves.

The median of what they are drawn from lies between the k-th smallest and the k-th largest of n with
probability 1 - 2 P(B < k), where B counts heads in n throws of a coin (the sign test turned round).
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

LEVEL = 0.95


class Interval(NamedTuple):
    """A median between two ends, and how surely."""

    median: float
    low: float
    high: float


def coverage(n: int, k: int) -> float:
    """Return the probability that the median lies between the k-th smallest and k-th largest of `n`
    values.
    """
    return 1 - 2 * sum(math.comb(n, heads) for heads in range(k)) / 2**n


@lru_cache(maxsize=256)
def rank(n: int) -> int:
    """Return the largest k whose interval holds the median with probability `LEVEL`; 1, the range,
    if `n` is too small for any.
    """
    found, ways, below, total = 1, 1, 0, 2**n
    for k in range(1, n // 2 + 1):
        # of heads in n throws, those with fewer than k; `coverage` would add them up anew for each
        # k
        below += ways
        if 1 - 2 * below / total < LEVEL:
            break
        found, ways = k, ways * (n - k + 1) // k
    return found


def median_interval(values: Sequence[float]) -> Interval:
    """Median and interval of at least one value."""
    ordered, k = sorted(values), rank(len(values))
    return Interval(middle_of(ordered), ordered[k - 1], ordered[-k])


def middle_of(values: Sequence[float]) -> float:
    """Return the median of at least one value, even if a float cannot hold the sum of two."""
    found = statistics.median(values)
    if math.isfinite(found) or not all(map(math.isfinite, values)):
        return found
    ordered = sorted(values)
    return ordered[(len(ordered) - 1) // 2] / 2 + ordered[len(ordered) // 2] / 2
