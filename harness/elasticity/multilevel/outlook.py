"""What each configuration promises over the best one that was measured: the expected improvement, less what a look there costs.

With U(x) = log throughput(x) - PRICE log2 level - (QUEUE_PRICE + SLOW_PRICE held) log2 (1 + queues), `held` being the share of
a period that what a queue holds takes to go through, a look at x is worth

  gain - loss / HORIZON = E[max(0, U(x) - U(best))] - E[max(0, U(best) - U(x))] / HORIZON

as in `elasticity.millrace` (Mockus 1978; Jones, Schonlau and Welch, J. Glob. Optim. 13, 1998), over all hypotheses, for each
of which U is normal.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from harness.elasticity.multilevel.evidence import Evidence
from harness.elasticity.multilevel.options import Options
from harness.elasticity.multilevel.regions import Vector

PRICE = 0.025  # of a doubling of the level, as a share of throughput
QUEUE_PRICE = 0.001  # of a doubling of the queues
SLOW_PRICE = 0.015  # of the same where queues take a period to fill, which lends throughput
HORIZON = 50.0  # periods over which a look has to pay
REACH = 2  # times the best level: how far up it looks
HURTS = 0.03  # of throughput below the best: a look that is taken back
FEWER = 0.95  # of the threads: savings that are worth a look, as the bench counts them
SURE = 0.5  # standard deviations that fewer threads must be better than what is allowed: a guess, not tuned
OFTEN = 2  # periods after which fewer threads either are enough or are not: the first may follow a switch
ASKED = 80  # configurations, of those that promise the most
SPOKESMEN = 160  # hypotheses that speak for all of them
SOME = 5  # of these one in so many says which configurations promise the most


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

    def __init__(self, options: Options, evidence: Evidence, hypotheses: Vector, held: float) -> None:
        self._options = options
        self._queue_price = QUEUE_PRICE + SLOW_PRICE * held
        self._rows = [options.row(place) for place in evidence.places]
        self.fit = evidence.weigh(options.measured(self._rows, hypotheses), options.alike(self._rows, self._rows))
        self._likely, self._odds = _spokesmen(self.fit.odds)
        self._chosen = hypotheses[self._likely]

    def outlook(self, here: int, margin: float) -> Outlook:
        """At the row `here`; another one is the best only if it is better by more than `margin`."""
        options, odds = self._options, self._odds
        price = PRICE * options.log_level + self._queue_price * options.log_queues
        been = np.unique(self._rows)
        ahead, _ = self._ahead(been, int(np.searchsorted(been, here)), price, slice(None))
        best = int(been[np.argmax(ahead @ odds - margin * (been != here))])
        reach = max(REACH * options.level[best], options.level[here])
        near = np.union1d(options.within(reach), [best, here])
        asked = self._promising(near, best, here, price)
        at, stand = int(np.searchsorted(asked, best)), int(np.searchsorted(asked, here))
        ahead, apart = self._ahead(asked, at, price, slice(None))
        mean = ahead @ odds
        gain = _improvement(ahead, apart[:, None]) @ odds
        worth = gain - (gain - mean) / HORIZON  # E[max(0, -x)] = E[max(0, x)] - E[x]
        if mean[stand] < -HURTS:
            worth[mean < 0.0] = -np.inf  # it has hurt: no second risk in a row
        worth[at] = 0.0
        look = int(np.argmax(worth))
        return Outlook(best, int(asked[look]), float(worth[look]), float(gain[look]), -float(mean[stand]))

    def thrifty(self, best: int, here: int, loss: float, looks: bool) -> tuple[int, bool]:
        """The fewest threads that may bring as much as any configuration that was measured, but for a `loss`.

        Row, and whether it was measured; `best` if there are none. That the law is at it speaks for a row.
        """
        options, odds = self._options, self._odds
        been, counts = np.unique(self._rows, return_counts=True)
        below = options.within(options.level[best] - 1)
        rows = np.union1d(below, [*been, best])
        nothing = np.zeros(len(options.level))
        ahead, apart = self._ahead(rows, int(np.searchsorted(rows, best)), nothing, slice(None, None, SOME))
        some = odds[::SOME] / odds[::SOME].sum()
        mean = ahead @ some
        known = np.isin(rows, been)
        mean = mean - mean[known].max()
        doubt = np.sqrt(np.maximum(np.square(ahead) @ some - (ahead @ some) ** 2, 0.0) + apart**2)
        often = np.zeros(len(rows))
        often[known] = counts
        level = np.array(options.level)[rows]
        sure = known & (mean - SURE * doubt * (rows != here) >= -loss)
        look = looks & (often < OFTEN) & ~sure & (mean >= -loss)
        fewer = (sure | look) & (level <= FEWER * options.level[best])
        if not fewer.any():
            return best, True
        first = int(np.flatnonzero(fewer)[np.lexsort((-mean[fewer], level[fewer]))[0]])
        return int(rows[first]), bool(sure[first])

    def _promising(self, near: np.ndarray, best: int, here: int, price: Vector) -> np.ndarray:
        """Those that promise the most, in order, `best` and `here` among them: as if some hypotheses together were normal."""
        some = slice(None, None, SOME)
        odds = self._odds[some] / self._odds[some].sum()
        ahead, apart = self._ahead(near, int(np.searchsorted(near, best)), price, some)
        mean = ahead @ odds
        apart = np.sqrt(np.maximum(np.square(ahead) @ odds - mean**2, 0.0) + apart**2)
        asked = np.union1d(near[np.argsort(-_improvement(mean, apart), kind="stable")[:ASKED]], [best, here])
        self._options.keep(asked)
        return asked

    def _ahead(self, rows: np.ndarray, at: int, price: Vector, which: slice) -> tuple[Vector, Vector]:
        """How far rows are ahead of the one `at` a place of them, row x hypothesis; its deviation, as errors leave it open."""
        alike = self._options.alike(rows, self._rows)
        formula = self._options.formula(rows, self._chosen[which])
        expected = self.fit.expected(formula, alike, self._likely[which]) - price[rows, None]
        return expected - expected[at], self.fit.spread(alike, self._options.alike(rows, rows[[at]])[:, 0], at)


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
