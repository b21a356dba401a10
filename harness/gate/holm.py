"""Holm's correction: many cells are tested, and the chance that any of them is falsely called must
stay below alpha.

The least of m p-values is compared with alpha / m; if it is rejected, the next with alpha / (m -
1), and so on up to the first that is not rejected (Holm, Scandinavian Journal of Statistics 6(2),
1979). The rule assumes nothing about how the cells depend on each other. That matters here, because
they are measured in the same minutes on the same host.

It may be applied again and again while always-valid p-values (`sequential`) fall: a hypothesis that
is rejected at some time would also be rejected at the end, when all p-values are at their lowest,
and there Holm's theorem applies.
"""

from __future__ import annotations

from collections.abc import Sequence


def holm(p_values: Sequence[float], alpha: float) -> list[float]:
    """Return the level for each p-value: it is rejected exactly if it is at most that level."""
    cells = len(p_values)
    levels = [0.0] * cells
    rejected = 0
    for i in sorted(range(cells), key=p_values.__getitem__):
        levels[i] = alpha / (cells - rejected)
        if p_values[i] <= levels[i]:
            rejected += 1
    return levels
