"""The geometric mean of all cells' ratios, with an exact interval.

Block k of the mean is the mean over cells of their block k's mean log ratio. If head is base times
a ratio, which may differ from cell to cell, the order of a cell's block puts it above or below that
ratio by the same amount with the same chance. The same is true of the mean of such blocks, because
each has its own order. So Wilcoxon's test applies to it, and its bounds are as exact as those of a
cell.

A cell is measured until it is decided, so its number of blocks depends on its values. Bounds from
all of its blocks would miss too often. So only the first twelve blocks of each cell count, which is
where the earliest look is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from harness.gate.cell import Metric
from harness.gate.order import on_scale
from harness.gate.scale import as_ratio
from harness.gate.sequential import FIRST_LOOK_BLOCKS
from harness.gate.signed_rank import Walsh
from harness.gate.verdict import CellResult, Comparison

RATIO = Metric()
TAIL_CHANCE = 0.025  # chance on each side of the interval


class GeometricMean(NamedTuple):
    """Ratio (above 1 is worse) and its 95 % interval; the interval is 0 to inf if base and head
    were not measured in turns."""

    ratio: float
    low: float
    high: float
    cells: int
    blocks: int  # of each cell


def geometric_mean(comparison: Comparison) -> GeometricMean | None:
    """Return the mean over the cells that have a ratio and enough blocks; None if fewer than two
    have."""
    rows = [row for row in map(_blocks, comparison.cells) if row is not None]
    if len(rows) < 2:
        return None
    walsh = Walsh(np.mean(rows, axis=0))
    low, high = (
        (walsh.low(TAIL_CHANCE), walsh.high(TAIL_CHANCE))
        if comparison.interleaved
        else (-math.inf, math.inf)
    )
    return GeometricMean(
        *(as_ratio(RATIO, shift, 1.0) for shift in (walsh.estimate(), low, high)),
        len(rows),
        FIRST_LOOK_BLOCKS,
    )


def _blocks(result: CellResult) -> Sequence[float] | None:
    """Return the mean log ratios of a cell's first blocks; None if it has too few blocks or no
    ratio."""
    metric, count = result.cell.metric, 2 * FIRST_LOOK_BLOCKS
    base, head = result.base, result.head
    if metric.may_be_zero or not base or not head:
        return None
    if metric.deterministic and len(base) >= 2 <= len(head):
        base, head = base[:2] * FIRST_LOOK_BLOCKS, head[:2] * FIRST_LOOK_BLOCKS
    if min(len(base), len(head)) < count:
        return None
    blocks = on_scale(result.cell, base[:count], head[:count])
    return [(sum(block.head) - sum(block.base)) / 2 for block in blocks]
