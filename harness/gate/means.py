"""The means of both sides, as a check of what the ranks say; and their tails, if the user names
one.

Ranks compare typical processes. If some processes are slow, and their number changes, the ranks may
stay, or even turn round, while the mean moves. So a verdict also needs the means:

- *ok* and *improved*: the mean must be proven to be slower by less than `MAX_MEAN_RATIO`, or by
  less than the factor if that is more, at the same level. The limit is wider than the factor,
  because a few slow processes, which a virtual host causes on both sides, make a mean uncertain by
  several percent.
- *regressed*: it must be proven, at `AGREEMENT_LEVEL`, that head's mean is not better than the
  ranks' estimate by `MAX_MEAN_RATIO`, or by half of what that estimate is beyond the factor, if
  that is more. So a slow process of base that head has no match for asks for more blocks. There are
  two proofs, and both must hold. The likelihood is too sure where base has shown one or two slow
  processes that are only a little slower, and the t statistic where it has shown many of different
  amounts. The level is not split by looks, because a host that slows one process in thirty makes
  means uncertain: at the level of the ranks, half as many slowdowns of 5 % would be found there.

A tail is a quantile that the metric names, as the slowest twentieth. Here *ok* and *improved* need
the same proof of the quantile. *Regressed* does not, because a quantile takes far more processes
than a mean; but if head's quantile is proven, at `AGREEMENT_LEVEL`, to be better than base's,
nothing is decided.

Values are in the metric's unit and count as independent (`likelihood`). So on a host that drifts
the means are surer than the proof says.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from harness.gate.cell import Metric
from harness.gate.likelihood import Floats, p_mean_below, p_mean_below_by_t, p_quantile_below

MAX_MEAN_RATIO = 1.1  # ratio of the means, or of the tails, that an ok cell may still have
AGREEMENT_LEVEL = 0.05  # level of the proof that the means agree with the ranks, not split by looks
# how far base's slowest process may be from its median, as a multiple of what was seen: a guess
REACH = 2.0
OUTSIDE = 0.025  # chance on each side of an interval
# of an interval's ends, as logs of ratios or shares of the largest value
FIRST_STEP, RESOLUTION, FARTHEST = 0.01, 1e-3, 5.0


@dataclass(frozen=True)
class Means:
    """The means of both sides' values, or their quantiles at `tail`. Shifts are on the metric's
    scale (`scale`): how much worse head is."""

    metric: Metric
    base: Sequence[float]
    head: Sequence[float]
    tail: float | None = None  # share of processes that are better; None: the mean

    def shift(self) -> float:
        """Return the shift of head's mean."""
        base, head = (self._middle(side) for side in (self.base, self.head))
        return self._sign * (head - base)

    def interval(self) -> tuple[float, float]:
        """Return the 95 % interval of the shift."""
        middle, unit = self.shift(), max(*self.base, *self.head) or 1.0
        unit = unit if self.metric.may_be_zero else 1.0
        low = _farthest(lambda far: self.p_greater(middle - far) > OUTSIDE, unit)
        high = _farthest(lambda far: self.p_less(middle + far) > OUTSIDE, unit)
        return middle - low, middle + high

    def p_less(self, shift: float) -> float:
        """Return the p-value of "head's mean is worse by at least `shift`"."""
        base, head = self._shifted(shift)
        return self._p_below(head, base)

    def p_greater(self, shift: float) -> float:
        """Return the p-value of "head's mean is worse by at most `shift`"."""
        return self._p_below(*self._shifted(shift))

    def agree(self, ranks: float, distance: float) -> bool:
        """Return True if head's mean is proven not to be better than the estimate `ranks` by
        `distance`."""
        base, head = self._shifted(ranks - distance)
        proofs = (p_mean_below(base, head, REACH), p_mean_below_by_t(base, head))
        return max(proofs) <= AGREEMENT_LEVEL

    def contradict(self) -> bool:
        """Return True if head's mean is proven to be better."""
        return self.p_less(0.0) <= AGREEMENT_LEVEL

    @property
    def name(self) -> str:
        """Name of what is compared, in a sentence."""
        return "mean" if self.tail is None else f"{100 * self.tail:g} % quantile"

    @property
    def _sign(self) -> float:
        return 1.0 if self.metric.lower_is_better else -1.0

    def _middle(self, values: Sequence[float]) -> float:
        """Return a side's mean, or quantile, on the metric's scale but for the direction."""
        unit = max(values) or 1.0  # with the largest value as the unit, sums stay finite
        found = np.asarray(values) / unit
        share = self.tail if self.metric.lower_is_better else 1.0 - (self.tail or 0.0)
        middle = float(found.mean() if self.tail is None else np.quantile(found, share))
        return middle * unit if self.metric.may_be_zero else math.log(middle) + math.log(unit)

    def _p_below(self, low: Floats, high: Floats) -> float:
        if self.tail is None:
            return p_mean_below(low, high)
        return p_quantile_below(low, high, self.tail)

    def _shifted(self, shift: float) -> tuple[Floats, Floats]:
        """Return base's values, and head's less a shift, oriented so that more is worse. The
        largest is the unit, so that sums stay finite."""
        base, head = (np.asarray(side, dtype=np.float64) for side in (self.base, self.head))
        if self.metric.may_be_zero:
            unit = self._sign * (max(float(base.max()), float(head.max())) or 1.0)
            return base / unit, head / unit - shift / abs(unit)
        base, head = np.log(base), np.log(head) - self._sign * shift
        most = max(float(base.max()), float(head.max()))
        return self._sign * np.exp(base - most), self._sign * np.exp(head - most)


def _farthest(holds: Callable[[float], bool], unit: float) -> float:
    """Return the distance up to which `holds`, at most `FARTHEST`; for a reader, so roughly."""
    low, high = 0.0, FIRST_STEP * unit
    while holds(high) and high < FARTHEST * unit:
        low, high = high, 2 * high
    while high - low > RESOLUTION * unit:
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return high


def tolerated(metric: Metric, base: float, worse: float) -> float:
    """Return the shift that `MAX_MEAN_RATIO` makes at `base` [the metric's unit], or `worse`, the
    shift above which head has regressed, if that is more.
    """
    most = (MAX_MEAN_RATIO - 1.0) * base if metric.may_be_zero else math.log(MAX_MEAN_RATIO)
    return max(worse, most)
