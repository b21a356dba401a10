"""Levels that a claim about a peak needs: those beside it.

A table with 1, 4 and 12 threads does not show a peak at 6. So the peak may be at any level between
the neighbours of the best level of a table, and may be higher than any value of the table. The
height of the peak counts as known only if the neighbours are at least half and at most twice the
level, as in the papers' own figures.
"""

from __future__ import annotations

from collections.abc import Iterable


def around(levels: Iterable[int], best: int, most: int) -> tuple[int, int]:
    """Return the lowest and the highest level at which the peak may be, if `best` is the best of
    `levels`.

    No level is above `most`.
    """
    below = max((level for level in levels if level < best), default=0)
    above = min((level for level in levels if level > best), default=max(most, best) + 1)
    return below + 1, above - 1


def lacking(levels: Iterable[int], best: int, most: int) -> str:
    """Name the levels that are missing to know the height of the peak, for people; "" if none
    are.
    """
    low, high = around(levels, best, most)
    gaps = []
    if low - 1 < best / 2 and low < best:
        gaps.append(_between(low, best - 1))
    if high + 1 > 2 * best and high > best:
        gaps.append(_between(best + 1, high))
    return f"no level of {' and of '.join(gaps)} threads beside the best, {best}" if gaps else ""


def _between(low: int, high: int) -> str:
    return str(low) if low == high else f"{low} to {high}"
