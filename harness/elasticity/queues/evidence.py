"""What measurements say about all configurations: odds of the hypotheses, and a smooth error of the formula.

The truth is taken for

  log throughput(x) = height + log formula(x, hypothesis) + error(x) + noise

as in the calibration of computer models (Kennedy and O'Hagan, J. R. Stat. Soc. B 63(3), 2001). error(x) is a Gaussian
process: nearly the same for configurations that are alike, and a little of its own for each. The odds of a hypothesis follow
from the likelihood of all periods (Rasmussen and Williams, MIT Press 2006, eq. 2.30). What is expected of a configuration
bends towards what was measured there and nearby, so that in the end measurements count and not the formula.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from harness.elasticity.queues.regions import Vector

NOISES = {0.004: 0.25, 0.012: 0.2, 0.025: 0.2, 0.045: 0.15, 0.075: 0.1, 0.13: 0.07, 0.22: 0.03}
"""Standard deviation of a period's logarithm of throughput, and its odds."""

MISFITS = {1.0: 0.6, 2.0: 0.25, 4.0: 0.15}
"""How wrong the formula is, in `SMOOTH` and `OWN`, and the odds."""

# More or less in a period in which all queues fill, and the other way round where they drain (M19 Figure 6). The bench has a
# surge of this form and size (`bench/queues/scenario.py`); what the law makes of others stands in docs/laws-bench.md.
SURGE = 0.15
UNEVEN = 0.01, 0.05  # beside that, after a switch: in any case, and if all came or went; guesses, not tuned
BACKLOG = 0.25  # and if what a queue holds takes the period or longer to go through
SURE = 0.05  # deviation of a period after a switch that counts as measured all the same; a guess, not tuned
SMOOTH = 0.08  # of the error that configurations have in common
OWN = 0.02  # of each one's own
FAR = (1.5, 1.5, 0.7)  # doublings of busy threads, doublings of queues, share of other queues at which little is in common
# In the formula: the likelihood counts as if only so much of each period had been seen (Grünwald, ALT 2012).
TRUST = 0.6
MOST = 30  # periods kept


Place = tuple[frozenset[int], int]  # a configuration: where queues stand, and the thread level


@dataclass(frozen=True, slots=True)
class Unrest:
    """Why a period may show more or less than its configuration brings.

    `came`, `went`: shares of all the queues that there may be, just before it. `held`: share of the period that what a queue
    holds takes to go through. `doubt`: standard deviation, if it is known how far queues fill or drain (`balance`), else None.
    """

    came: float = 0.0
    went: float = 0.0
    held: float = 0.0
    doubt: float | None = None

    @property
    def switched(self) -> bool:
        """Whether any queues came or went."""
        return self.came > 0.0 or self.went > 0.0


CALM = Unrest()


class Evidence:
    """The periods: the configuration of each, and the logarithm of its throughput."""

    def __init__(self) -> None:
        self.places: list[Place] = []
        self.values: list[float] = []
        self.unrest: list[Unrest] = []

    def add(self, place: Place, value: float, unrest: Unrest = CALM) -> None:
        """One more. Where there are too many periods, the oldest one goes of the configuration that has the most."""
        self.places.append(place)
        self.values.append(value)
        self.unrest.append(unrest)
        if len(self.places) > MOST:
            oldest = self.places.index(max(self.places, key=self.places.count))
            for column in (self.places, self.values, self.unrest):
                del column[oldest]

    def mean(self, place: Place) -> float:
        """Of the periods at a configuration; those after a switch count only if there are no others."""
        columns = zip(self.places, self.values, self.unrest, strict=True)
        seen = [(value, unrest) for at, value, unrest in columns if at == place]
        calm = [value for value, unrest in seen if not unrest.switched]
        return math.fsum(calm or [value for value, _ in seen]) / len(calm or seen)

    def calm(self, place: Place) -> bool:
        """Whether a period has passed there before which nothing was switched."""
        return any(at == place and not unrest.switched for at, unrest in zip(self.places, self.unrest, strict=True))

    def measured(self, place: Place) -> bool:
        """Whether a calm period has passed there, or one after a switch in which queues are known to neither fill nor drain."""
        columns = zip(self.places, self.unrest, strict=True)
        return any(
            at == place and (not each.switched or (each.doubt is not None and each.doubt < SURE)) for at, each in columns
        )

    def weigh(self, formula: Vector, alike: Vector) -> Fit:
        """`formula`: period x hypothesis; `alike`: period x period, the covariance of the formula's errors."""
        apart = (np.array(self.values) - self.values[0])[:, None] - formula
        extra, own = _disturbed(self.unrest), np.square(list(NOISES))
        cases, rows = [], []
        for misfit, misfit_odds in MISFITS.items():
            # Along its axes the covariance is diagonal whatever the noise is, which is the same in all directions.
            spreads, axes = np.linalg.eigh(misfit**2 * alike + extra)
            along, level = axes.T @ apart, axes.sum(axis=0)
            weights = 1.0 / (np.maximum(spreads, 0.0) + own[:, None])  # noise x axis
            heights = weights @ level**2
            errors = weights @ along**2 - ((weights * level) @ along) ** 2 / heights[:, None]  # any height: the book's eq. 2.45
            scale = np.log(heights) - np.log(weights).sum(axis=1)
            odds = np.log(list(NOISES.values())) + math.log(misfit_odds)
            rows.append((odds - 0.5 * TRUST * scale)[:, None] - 0.5 * TRUST * errors)
            cases += [(misfit, axes, weight) for weight in weights]
        joint = np.concatenate(rows)
        joint = np.exp(joint - joint.max())
        joint /= joint.sum()
        by_case = joint.sum(axis=1)
        noise = math.sqrt(float(by_case.reshape(len(MISFITS), -1).sum(axis=0) @ own))
        misfit, axes, weight = cases[int(np.argmax(by_case))]
        inverse = axes * weight @ axes.T
        level = inverse.sum(axis=0)
        height = level @ apart / level.sum()
        return Fit(joint.sum(axis=0), noise, self.values[0] + height, misfit**2, apart - height, inverse, level)


def _disturbed(periods: Sequence[Unrest]) -> Vector:
    """Covariance that switches of queues add: one surge for all, whose size and sign the periods tell, and some for each.

    Where it is known how far queues fill or drain there is no surge to be guessed.
    """
    surge = np.array([unrest.came - unrest.went if unrest.doubt is None else 0.0 for unrest in periods])
    return SURGE**2 * np.outer(surge, surge) + np.diag([_doubt(unrest) ** 2 for unrest in periods])


def _doubt(unrest: Unrest) -> float:
    uneven = UNEVEN[0] + UNEVEN[1] * (unrest.came + unrest.went) if unrest.switched else 0.0
    if unrest.doubt is not None:
        return uneven + unrest.doubt
    return uneven + BACKLOG * unrest.held if unrest.switched else 0.0


@dataclass(frozen=True)
class Fit:
    """`odds` of the hypotheses and a period's `noise`; the rest is for predictions."""

    odds: Vector
    noise: float
    height: Vector
    scale: float  # of the covariances of errors
    wrong: Vector  # the formula in each period, period x hypothesis
    inverse: Vector
    level: Vector

    def expected(self, formula: Vector, alike: Vector, which: np.ndarray) -> Vector:
        """Configuration x hypothesis, of `which` hypotheses; `alike`: configuration x period, the covariance of errors."""
        return self.height[which] + formula + self.scale * alike @ (self.inverse @ self.wrong[:, which])

    def spread(self, alike: Vector, with_best: Vector, best: int) -> Vector:
        """By configuration: standard deviation of its difference from the `best`, as far as the formula's error leaves it open.

        `with_best`: covariance of errors with that of the best.
        """
        alike, with_best = self.scale * alike, self.scale * with_best
        explained = alike @ self.inverse
        open_ = (1.0 - alike @ self.level) / math.sqrt(self.level.sum())
        variance = with_best[best] - np.einsum("cp,cp->c", explained, alike) + open_**2
        shared = with_best - explained @ alike[best] + open_ * open_[best]
        return np.sqrt(np.maximum(variance + variance[best] - 2.0 * shared, 0.0))
