"""What each configuration promises over the best one that was measured: the expected improvement, less what a look there costs.

With U(x) = log throughput(x) - PRICE log2 level - SLOW_PRICE held log2 (1 + queues), `held` being the share of
a period that what a queue holds takes to go through, a look at x is worth

  gain - loss / HORIZON = E[max(0, U(x) - U(best))] - E[max(0, U(best) - U(x))] / HORIZON

as in `elasticity.millrace` (Mockus 1978; Jones, Schonlau and Welch, J. Glob. Optim. 13, 1998). U(x) - U(best) is taken for
normal, with the mean and the variance that all hypotheses and the errors of the formula together give it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from harness.elasticity.queues.evidence import Evidence
from harness.elasticity.queues.options import Options
from harness.elasticity.queues.regions import Vector

PRICE = 0.025  # of a doubling of the level, as a share of throughput
SLOW_PRICE = 0.015  # of a doubling of the queues where they take a period to fill, which lends throughput
HORIZON = 50.0  # periods over which a look has to pay
REACH = 2  # times the best level: how far up it looks
HURTS = 0.03  # of throughput below the best: a look that is taken back
ASKED = 80  # configurations that are kept of those around the best ones, those that promise the most
SPOKESMEN = 32  # hypotheses that speak for all of them


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

    `fit`: the odds of the hypotheses.
    """

    def __init__(self, options: Options, evidence: Evidence, hypotheses: Vector, held: float) -> None:
        self._options = options
        self._queue_price = SLOW_PRICE * held
        self._rows = np.array([options.row(place) for place in evidence.places])
        self.fit = evidence.weigh(options.measured(self._rows, hypotheses), options.alike(self._rows, self._rows))
        self._likely, self._odds = _spokesmen(self.fit.odds)
        self._chosen = hypotheses[self._likely]
        self._computed = np.zeros(0, dtype=bool)  # by row
        self._formula: Vector = np.empty((0, len(self._likely)))

    def outlook(self, here: int, margin: float) -> Outlook:
        """At the row `here`; another one is the best only if it is better by more than `margin`."""
        options, odds = self._options, self._odds
        been = np.unique(self._rows)
        rows = np.union1d(options.within(REACH * int(options.level_of(been).max())), been)
        alike = options.alike(rows, self._rows)
        expected = self.fit.expected(self._formula_of(rows), alike, self._likely)
        price = PRICE * options.log_level[rows] + self._queue_price * options.log_queues[rows]
        mean = expected @ odds - price
        known = np.flatnonzero(np.isin(rows, been, assume_unique=True))
        at = int(known[np.argmax(mean[known] - margin * (rows[known] != here))])
        stand = int(np.searchsorted(rows, here))
        ahead = expected - expected[at]
        apart = self.fit.spread(alike, options.alike(rows, rows[[at]])[:, 0], at)
        spread = np.sqrt(np.maximum(np.square(ahead) @ odds - (ahead @ odds) ** 2, 0.0) + apart**2)
        mean = mean - mean[at]
        gain = _improvement(mean, spread)
        worth = gain - (gain - mean) / HORIZON  # E[max(0, -x)] = E[max(0, x)] - E[x]
        level = options.level_of(rows)
        worth[level > max(REACH * level[at], level[stand])] = -np.inf
        if mean[stand] < -HURTS:
            worth[mean < 0.0] = -np.inf  # it has hurt: no second risk in a row
        worth[at] = 0.0
        options.keep(np.union1d(rows[np.argpartition(-worth, min(ASKED, len(rows) - 1))[:ASKED]], been))
        look = int(np.argmax(worth))
        return Outlook(int(rows[at]), int(rows[look]), float(worth[look]), float(gain[look]), -float(mean[stand]))

    def _formula_of(self, rows: np.ndarray) -> Vector:
        """What the spokesmen say of rows: row x hypothesis. Computed once for a row, however often the survey is asked."""
        grown = len(self._options.level) - len(self._computed)
        self._computed = np.concatenate([self._computed, np.zeros(grown, dtype=bool)])
        self._formula = np.concatenate([self._formula, np.empty((grown, len(self._likely)))])
        new = rows[~self._computed[rows]]
        self._formula[new] = self._options.formula(new, self._chosen)
        self._computed[new] = True
        return self._formula[rows]


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
