"""The geometric mean of all cells' ratios, with an interval that is honest.

Block k of the mean is the mean over cells of their block k's mean log ratio. If head is base times a ratio, another one for
each cell, a cell's block is off that ratio as far up as down with the same chance, by its coin. So is the mean of such blocks,
as each has a coin of its own: it has Wilcoxon's test, and bounds from it, as exact as those of a cell.

How many blocks a cell has follows from its numbers, as it is measured until it is decided; of such blocks bounds would not hold
as often as they say. So the first ten count of each cell, which is as many as the earliest look has.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from harness.gate.cell import Metric
from harness.gate.order import on_scale
from harness.gate.scale import as_ratio
from harness.gate.sequential import FEWEST
from harness.gate.signed_rank import Walsh
from harness.gate.verdict import CellResult, Comparison

RATIO = Metric()
TAIL = 0.025  # on each side of the interval


class GeometricMean(NamedTuple):
    """Ratio, above 1 being worse, and its 95 % interval; 0 and inf if base and head were not measured in turns."""

    ratio: float
    low: float
    high: float
    cells: int
    blocks: int  # of each cell


def geometric_mean(comparison: Comparison) -> GeometricMean | None:
    """Of the cells with a ratio and enough blocks; None if there are not two of them."""
    rows = [row for row in map(_blocks, comparison.cells) if row is not None]
    if len(rows) < 2:
        return None
    walsh = Walsh(np.mean(rows, axis=0))
    low, high = (walsh.low(TAIL), walsh.high(TAIL)) if comparison.interleaved else (-math.inf, math.inf)
    return GeometricMean(*(as_ratio(RATIO, shift, 1.0) for shift in (walsh.estimate(), low, high)), len(rows), FEWEST)


def _blocks(result: CellResult) -> Sequence[float] | None:
    """The mean log ratios of a cell's first blocks; None if there are too few, or if it has no ratio."""
    metric, count = result.cell.metric, 2 * FEWEST
    base, head = result.base, result.head
    if metric.may_be_zero or not base or not head:
        return None
    if metric.deterministic and len(base) >= 2 <= len(head):
        base, head = base[:2] * FEWEST, head[:2] * FEWEST
    if min(len(base), len(head)) < count:
        return None
    blocks = on_scale(result.cell, base[:count], head[:count])
    return [(sum(block.head) - sum(block.base)) / 2 for block in blocks]
