"""Value of a look at each configuration: the expected improvement over the best measured one, less
the cost of the look.

Let U(x) = log throughput(x) - PLACEMENT_LEVEL_PRICE log2 level - SLOW_QUEUE_PRICE held log2 (1 +
queues), where `held` is the share of a period that the content of a queue takes to pass. Then a
look at x is worth

  gain - loss / HORIZON = E[max(0, U(x) - U(best))] - E[max(0, U(best) - U(x))] / HORIZON

as in `threads.millrace` (Mockus 1978; Jones, Schonlau and Welch, J. Glob. Optim. 13, 1998). U(x) -
U(best) counts as normal, with the mean and the variance that all hypotheses and the errors of the
formula together give it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from harness.elasticity.millrace_constants import HORIZON
from harness.elasticity.queues.evidence import MeasuredPeriods
from harness.elasticity.queues.options import ConfigurationTable
from harness.elasticity.queues.regions import Vector

# Price of a doubling of the level, as a share of throughput. It was tuned together with the price
# of queues, apart from that of the law of threads.
PLACEMENT_LEVEL_PRICE = 0.025
# Price of a doubling of the queues if they take a period to fill: while they fill, they make
# throughput look higher.
SLOW_QUEUE_PRICE = 0.015
MAX_LEVEL_FACTOR = 2  # highest level to look at, as a multiple of the best level
# loss against the best, as a share of throughput, beyond which a look is undone
HURTFUL_LOSS = 0.03
KEPT_NEIGHBOURS = 80  # most promising configurations around the best ones that are kept
SAMPLED_HYPOTHESES = 32  # sample size for predictions


@dataclass(frozen=True)
class Outlook:
    """Best measured configuration and best look.

    `best`: row of the best measured configuration. `look`: row of the best look. `worth`, `gain`:
    value and expected improvement of that look; 0 if none is worth anything. `lead`: log utility of
    the best over that of the present one.
    """

    best: int
    look: int
    worth: float
    gain: float
    lead: float


class Survey:
    """Predictions for the options from all periods. `outlook` may be called again after options
    were added.

    `fit`: result of the inference, with the odds of the hypotheses.
    """

    def __init__(
        self,
        options: ConfigurationTable,
        evidence: MeasuredPeriods,
        hypotheses: Vector,
        held: float,
    ) -> None:
        self._options = options
        self._queue_price = SLOW_QUEUE_PRICE * held
        self._rows = np.array([options.row(place) for place in evidence.places])
        self.fit = evidence.weigh(
            options.measured(self._rows, hypotheses), options.alike(self._rows, self._rows)
        )
        self._likely, self._odds = _sampled(self.fit.odds)
        self._chosen = hypotheses[self._likely]
        self._computed = np.zeros(0, dtype=bool)  # by row
        self._formula: Vector = np.empty((0, len(self._likely)))

    def outlook(self, here: int, margin: float) -> Outlook:
        """Return the outlook at the row `here`.

        Another row is the best only if it is better by more than `margin`.
        """
        options, odds = self._options, self._odds
        been = np.unique(self._rows)
        rows = np.union1d(
            options.within(MAX_LEVEL_FACTOR * int(options.level_of(been).max())), been
        )
        alike = options.alike(rows, self._rows)
        expected = self.fit.expected(self._formula_of(rows), alike, self._likely)
        price = (
            PLACEMENT_LEVEL_PRICE * options.log_level[rows]
            + self._queue_price * options.log_queues[rows]
        )
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
        worth[level > max(MAX_LEVEL_FACTOR * level[at], level[stand])] = -np.inf
        if mean[stand] < -HURTFUL_LOSS:
            worth[mean < 0.0] = -np.inf  # the last look hurt: no second risk in a row
        worth[at] = 0.0
        options.keep(
            np.union1d(
                rows[
                    np.argpartition(-worth, min(KEPT_NEIGHBOURS, len(rows) - 1))[:KEPT_NEIGHBOURS]
                ],
                been,
            )
        )
        look = int(np.argmax(worth))
        return Outlook(
            int(rows[at]),
            int(rows[look]),
            float(worth[look]),
            float(gain[look]),
            -float(mean[stand]),
        )

    def _formula_of(self, rows: np.ndarray) -> Vector:
        """Return the log throughput that the sampled hypotheses predict, row x hypothesis.

        It is computed once for each row.
        """
        grown = len(self._options.level) - len(self._computed)
        self._computed = np.concatenate([self._computed, np.zeros(grown, dtype=bool)])
        self._formula = np.concatenate([self._formula, np.empty((grown, len(self._likely)))])
        new = rows[~self._computed[rows]]
        self._formula[new] = self._options.formula(new, self._chosen)
        self._computed[new] = True
        return self._formula[rows]


def _sampled(odds: Vector) -> tuple[np.ndarray, Vector]:
    """Return a sample of the hypotheses and the weight of each (systematic resampling; Kitagawa
    1996)."""
    points = (np.arange(SAMPLED_HYPOTHESES) + 0.5) / SAMPLED_HYPOTHESES
    which, counts = np.unique(
        np.searchsorted(np.cumsum(odds), points).clip(0, len(odds) - 1), return_counts=True
    )
    return which, counts / SAMPLED_HYPOTHESES


def _improvement(ahead: Vector, spread: Vector) -> Vector:
    """Return E[max(0, x)] of a normal x with mean `ahead` and standard deviation `spread`."""
    spread = np.maximum(spread, 1e-9)
    z = np.clip(ahead / spread, -30.0, 30.0)
    # the normal distribution, to 0.0004
    below = 0.5 * (1.0 + np.tanh(0.7978845608 * (z + 0.044715 * z**3)))
    return np.maximum(ahead * below + spread * 0.3989422804 * np.exp(-0.5 * z * z), 0.0)
