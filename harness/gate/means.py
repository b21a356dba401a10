"""The means of both sides, as a check of what the ranks say.

Ranks compare typical processes. If some processes are slow, and their number changes, the ranks may
stay, or even turn round, while the mean moves. So a verdict also needs the means:

- *ok* and *improved*: the mean must be proven to be slower by less than `MAX_MEAN_RATIO`, or by
less
  than the factor if that is more, by a one-sided t-test at the same level. The limit is wider than
  the factor, because a few slow processes, which a virtual host causes on both sides, make a mean
  uncertain by several percent.
- *regressed*: the means must agree with the ranks. It must be proven, at `AGREEMENT_LEVEL`, that
head's
  mean is not better than the ranks' estimate by `MAX_MEAN_RATIO`, or by half of what that estimate
  is beyond the factor, if that is more. So a slow process of base that head has no match for asks
  for more blocks.

The means are those of the values in the metric's unit. The standard error takes the processes as
independent, so on a host that drifts it is too large. A few slow processes make the sample mean of
a side too low in most samples, and its standard error too small. So the t statistic is corrected
for the skewness of both sides (Hall, Journal of the Royal Statistical Society B 54(1), 1992), which
cancels if both are skewed alike.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtr

from harness.gate.cell import Metric
from harness.gate.scale import MAX_EXPONENT

MAX_MEAN_RATIO = 1.1  # ratio of the means that an ok cell may still have
AGREEMENT_LEVEL = 0.1  # level of the proof that the means are near the ranks


@dataclass(frozen=True)
class Means:
    """Excess of head's mean over base's in the direction that is worse, on the metric's scale.

    With its standard error and degrees of freedom.
    """

    shift: float
    error: float
    skewness: float  # of the estimate `shift`
    freedom: float

    def p_less(self, shift: float) -> float:
        """Return the p-value of "head's mean is worse by at least `shift`"."""
        return self._below(shift)

    def p_greater(self, shift: float) -> float:
        """Return the p-value of "head's mean is worse by at most `shift`"."""
        return 1.0 - self._below(shift)

    def agree(self, ranks: float, distance: float) -> bool:
        """True if it is proven that head's mean is not better than the estimate `ranks` by
        `distance`."""
        return self.p_greater(ranks - distance) <= AGREEMENT_LEVEL

    def _below(self, shift: float) -> float:
        """Return the chance of so small an estimate, or a smaller one, if head's mean is worse by
        `shift`."""
        if self.error == 0.0:
            return float(self.shift >= shift)
        t, skew = (self.shift - shift) / self.error, self.skewness
        corrected = t + skew * t**2 / 3 + skew**2 * t**3 / 27 + skew / 6
        return float(stdtr(self.freedom, corrected))


def means(metric: Metric, base: Sequence[float], head: Sequence[float]) -> Means:
    """Return the comparison of the means of at least two values a side."""
    sides = [np.asarray(side, dtype=np.float64) for side in (base, head)]
    most = [float(side.max()) or 1.0 for side in sides]
    if metric.may_be_zero:
        most = [max(most)] * 2
    # the largest value as the unit: sums stay finite
    sides = [side / unit for side, unit in zip(sides, most, strict=True)]
    sign = 1.0 if metric.lower_is_better else -1.0
    middles = [float(side.mean()) for side in sides]
    variances = [float(side.var(ddof=1)) / len(side) for side in sides]
    thirds = [float(((side - side.mean()) ** 3).mean()) / len(side) ** 2 for side in sides]
    if metric.may_be_zero:
        shift, unit = sign * (middles[1] - middles[0]) * most[0], most[0]
    else:
        logs = [math.log(middle) + math.log(m) for middle, m in zip(middles, most, strict=True)]
        shift, unit = sign * (logs[1] - logs[0]), 1.0
        variances = [v / m**2 for v, m in zip(variances, middles, strict=True)]
        thirds = [third / m**3 for third, m in zip(thirds, middles, strict=True)]
    total = sum(variances)
    skewness = sign * (thirds[1] - thirds[0]) / total**1.5 if total else 0.0
    # Welch and Satterthwaite
    parts = sum(v**2 / (len(side) - 1) for v, side in zip(variances, (base, head), strict=True))
    freedom = total**2 / parts if parts else MAX_EXPONENT
    return Means(shift, unit * math.sqrt(total), skewness, freedom)


def tolerated(metric: Metric, base: float, worse: float) -> float:
    """Return the shift that `MAX_MEAN_RATIO` makes at `base` [the metric's unit], or `worse`, the
    shift above which head has regressed, if that is more."""
    most = (MAX_MEAN_RATIO - 1.0) * base if metric.may_be_zero else math.log(MAX_MEAN_RATIO)
    return max(worse, most)
