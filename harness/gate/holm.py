"""Holm's correction: of many hypotheses, one a cell, the chance to reject a true one is at most
alpha.

The least of m p-values is compared with alpha / m. If it is rejected, the next one is compared with
alpha / (m - 1), and so on up to the first that is not rejected (Holm, Scandinavian Journal of
Statistics 6(2), 1979). The correction assumes nothing about how cells depend on each other. That
matters here, because they are measured in the same minutes on the same host.

It may be applied again and again while always-valid p-values (`sequential`) fall: a hypothesis that
is rejected at some time would also be rejected at the end, when all p-values are at their lowest,
and there Holm's theorem applies.
"""

from __future__ import annotations

from collections.abc import Sequence


def holm(p_values: Sequence[float], alpha: float) -> list[float]:
    """Return a level for each p-value: a hypothesis is rejected if its p-value is at most that."""
    count = len(p_values)
    levels = [0.0] * count
    rejected = 0
    for i in sorted(range(count), key=p_values.__getitem__):
        levels[i] = alpha / (count - rejected)
        if p_values[i] <= levels[i]:
            rejected += 1
    return levels
