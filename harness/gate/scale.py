"""How a cell's numbers are compared: by their ratio, on a scale of logs, or by their difference, if they may be 0.

On either scale positive is worse. A shift is a place on it: what head is worse by.
"""

from __future__ import annotations

import math

from harness.gate.cell import Metric

LARGEST = 709.0  # whose exponential a float can hold


def limits(metric: Metric, factor: float, base: float) -> tuple[float, float]:
    """The shifts that head must be beyond to have improved and to have regressed.

    They are those of `factor` > 1, but at least those that a difference of the metric's floor makes at `base` [its unit]: a
    metric of 10 with a floor of 5 has regressed above 15 and improved below 5.
    """
    if metric.may_be_zero:
        most = max(metric.floor, (factor - 1.0) * base)
        return -most, most
    share = metric.floor / base
    up, down = math.log1p(share), -math.log1p(-share) if share < 1 else math.inf
    worse, better = (up, down) if metric.lower_is_better else (down, up)
    return -max(math.log(factor), better), max(math.log(factor), worse)


def as_ratio(metric: Metric, shift: float, base: float) -> float:
    """The ratio that a shift makes at `base` [the metric's unit], above 1 being worse; of 0 to something more, infinity."""
    if math.isnan(shift):
        return math.nan
    if not metric.may_be_zero:
        return math.exp(shift) if shift < LARGEST else math.inf
    if math.isinf(shift):
        return math.inf if shift > 0.0 else 0.0
    if not metric.lower_is_better:  # shift is what head lacks
        base = max(0.0, base - shift)
    if base == 0.0:
        return 1.0 if shift == 0.0 else math.inf if shift > 0.0 else 0.0
    return max(0.0, (base + shift) / base)
