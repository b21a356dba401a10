"""What each configuration promises over the best one that was measured: the expected improvement, less what a look there costs.

With U(x) = log throughput(x) - PRICE log2 level - QUEUE_PRICE log2 (1 + queues), a look at x is worth

  gain - loss / HORIZON = E[max(0, U(x) - U(best))] - E[max(0, U(best) - U(x))] / HORIZON

as in `elasticity.millrace` (Mockus 1978; Jones, Schonlau and Welch, J. Glob. Optim. 13, 1998), over all hypotheses, for each
of which U is normal.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from harness.elasticity.multilevel.evidence import Evidence
from harness.elasticity.multilevel.options import Options
from harness.elasticity.multilevel.physics import Hypotheses
from harness.elasticity.multilevel.regions import Vector

PRICE = 0.025  # of a doubling of the level, as a share of throughput
QUEUE_PRICE = 0.001  # of a doubling of the queues
HORIZON = 50.0  # periods over which a look has to pay
REACH = 2  # times the best level: how far up it looks
HURTS = 0.03  # of throughput below the best: a look that is taken back
ASKED = 80  # configurations, of those that promise the most
SPOKESMEN = 160  # hypotheses that speak for all of them


@dataclass(frozen=True)
class Outlook:
    """`best`: row of the best configuration that was measured; `look`: of the next one.

    `worth`, `gain`: of that look; 0 where none is worth anything. `lead`: how far the best one is before where the law is.
    """

    best: int
    look: int
    worth: float
    gain: float
    lead: float


class Survey:
    """What the periods say of the options; it may be asked again when there are more options.

    `fit`: the odds of the hypotheses. `rows`: those of the periods.
    """

    def __init__(self, options: Options, evidence: Evidence, hypotheses: Hypotheses) -> None:
        self._options = options
        self._rows = [options.row(place) for place in evidence.places]
        self.fit = evidence.weigh(options.measured(self._rows, hypotheses), options.alike(self._rows, self._rows))
        self._likely, self._odds = _spokesmen(self.fit.odds)
        self._chosen = hypotheses.take(self._likely)
        self._said = np.empty((0, len(self._likely)))  # by the formula of each option; not a number where it was not asked

    def outlook(self, here: int, margin: float) -> Outlook:
        """At the row `here`; another one is the best only if it is better by more than `margin`."""
        options, rows, fit, odds = self._options, self._rows, self.fit, self._odds
        price = PRICE * options.log_level + QUEUE_PRICE * options.log_queues
        been = np.unique(rows)
        known = fit.expected(self._formula(been), options.alike(been, rows), self._likely) @ odds - price[been]
        best = int(been[np.argmax(known + margin * (been == here))])
        reach = max(REACH * options.level[best], options.level[here])
        near = np.flatnonzero(np.array(options.level) <= reach)
        at, stand = int(np.searchsorted(near, best)), int(np.searchsorted(near, here))
        alike = options.alike(near, rows)
        expected = fit.expected(self._formula(near), alike, self._likely) - price[near, None]
        mean = expected @ odds
        spread = fit.spread(alike, options.alike(near, [best])[:, 0], at)
        ahead = mean - mean[at]
        apart = np.sqrt(np.maximum(np.square(expected - expected[at]) @ odds - ahead**2, 0.0) + spread**2)
        gain = _improvement(ahead, apart)  # as if all hypotheses together were normal: to see which ones to ask exactly
        asked = np.argsort(-gain, kind="stable")[:ASKED]
        gain[asked] = _improvement(expected[asked] - expected[at], spread[asked, None]) @ odds
        worth = gain - (gain - ahead) / HORIZON  # E[max(0, -x)] = E[max(0, x)] - E[x]
        if ahead[stand] < -HURTS:
            worth[ahead < 0.0] = -np.inf  # it has hurt: no second risk in a row
        worth[np.setdiff1d(np.arange(len(near)), asked)] = -np.inf
        worth[at] = 0.0
        look = int(np.argmax(worth))
        return Outlook(best, int(near[look]), float(worth[look]), float(gain[look]), -float(ahead[stand]))

    def _formula(self, rows: np.ndarray) -> Vector:
        """Row x hypothesis that speaks."""
        more = np.full((len(self._options.level) - len(self._said), len(self._likely)), np.nan)
        self._said = np.concatenate([self._said, more])
        new = rows[np.isnan(self._said[rows, 0])]
        if len(new):
            self._said[new] = self._options.formula(new, self._chosen)
        return self._said[rows]


def _spokesmen(odds: Vector) -> tuple[np.ndarray, Vector]:
    """A sample of the hypotheses, and the weight of each (systematic resampling; Kitagawa 1996)."""
    points = (np.arange(SPOKESMEN) + 0.5) / SPOKESMEN
    which, counts = np.unique(np.searchsorted(np.cumsum(odds), points).clip(0, len(odds) - 1), return_counts=True)
    return which, counts / SPOKESMEN


def _improvement(ahead: Vector, spread: Vector) -> Vector:
    """E[max(0, x)] of a normal x with mean `ahead` and standard deviation `spread`."""
    spread = np.maximum(spread, 1e-9)
    z = np.clip(ahead / spread, -30.0, 30.0)
    below = 0.5 * (1.0 + np.tanh(0.7978845608 * (z + 0.044715 * z**3)))  # the normal distribution, to 0.0004
    return np.maximum(ahead * below + spread * 0.3989422804 * np.exp(-0.5 * z * z), 0.0)
