"""The scale on which a cell's numbers are compared: their ratio, as a log, or their difference if
they may be 0.

On either scale positive is worse. A shift is a distance on the scale: how much worse head is.
"""

from __future__ import annotations

import math

from harness.gate.cell import Metric

MAX_EXPONENT = 709.0  # a float can hold the exponential of this


def limits(metric: Metric, factor: float, base: float) -> tuple[float, float]:
    """Return the shifts below which head has improved and above which it has regressed.

    They are those of `factor` > 1, but at least those that a difference of the metric's floor makes
    at `base` [its unit]: a metric of 10 with a floor of 5 has regressed above 15 and improved below
    5.
    """
    if metric.may_be_zero:
        most = max(metric.floor, (factor - 1.0) * base)
        return -most, most
    share = metric.floor / base
    up, down = math.log1p(share), -math.log1p(-share) if share < 1 else math.inf
    worse, better = (up, down) if metric.lower_is_better else (down, up)
    return -max(math.log(factor), better), max(math.log(factor), worse)


def as_ratio(metric: Metric, shift: float, base: float) -> float:
    """Return the ratio that a shift makes at `base` [the metric's unit]; above 1 is worse, and
    infinity means from 0 to something more."""
    if math.isnan(shift):
        return math.nan
    if not metric.may_be_zero:
        return math.exp(shift) if shift < MAX_EXPONENT else math.inf
    if math.isinf(shift):
        return math.inf if shift > 0.0 else 0.0
    if not metric.lower_is_better:  # the shift is the amount that head lacks
        base = max(0.0, base - shift)
    if base == 0.0:
        return 1.0 if shift == 0.0 else math.inf if shift > 0.0 else 0.0
    return max(0.0, (base + shift) / base)
