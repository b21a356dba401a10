"""Inference from measurements to all configurations: odds of the hypotheses, and a smooth error of
the formula.

The model of a measurement is

  log throughput(x) = height + log formula(x, hypothesis) + error(x) + noise

as in the calibration of computer models (Kennedy and O'Hagan, J. R. Stat. Soc. B 63(3), 2001).
error(x) is a Gaussian process: nearly the same for similar configurations, plus a small part of its
own for each. The odds of a hypothesis follow from the likelihood of all periods (Rasmussen and
Williams, MIT Press 2006, eq. 2.30). The expectation for a configuration moves towards the
measurements there and nearby, so that in the end measurements count and not the formula.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from harness.elasticity.millrace_constants import NOISE_ODDS
from harness.elasticity.queues.regions import Vector

MISFIT_PRIOR = {1.0: 0.6, 2.0: 0.25, 4.0: 0.15}
"""Prior odds by misfit: the factor by which the formula's errors exceed `SHARED_ERROR` and
`OWN_ERROR`."""

# Standard deviation of the surge in a period in which all queues fill, of the opposite sign when
# all drain (M19 Figure 6). The bench has a surge of this form and size
# (`bench/queues/scenario.py`); docs/laws-bench.md has results with other surges.
EXPECTED_SURGE = 0.15
# Further standard deviation after a switch: after any, and after one of all queues; guesses, not
# tuned.
UNEVEN_SPREAD = 0.01, 0.05
# further standard deviation if the content of a queue takes the period or longer to pass
BACKLOG_SPREAD = 0.25
# Largest standard deviation of a period after a switch that still counts as measured; a guess, not
# tuned.
MAX_MEASURED_SPREAD = 0.05
SHARED_ERROR = 0.08  # standard deviation of the error that similar configurations share
OWN_ERROR = 0.02  # standard deviation of each configuration's own error
# Distances at which errors have little in common: doublings of busy threads, doublings of queues,
# share of other queues.
CORRELATION_LENGTHS = (1.5, 1.5, 0.7)
# Exponent of the likelihood: it counts as if only this share of each period had been seen
# (Grünwald, ALT 2012).
LIKELIHOOD_EXPONENT = 0.6
MAX_PERIODS = 30  # that are kept


Place = tuple[frozenset[int], int]  # a configuration: where queues stand, and the thread level


@dataclass(frozen=True, slots=True)
class Unrest:
    """Reasons for which a period may show more or less than its configuration brings.

    `came`, `went`: queues added and removed just before it, as shares of all places. `held`: share
    of the period that the content of a queue takes to pass. `doubt`: standard deviation if it is
    known how far queues fill or drain (`balance`), else None.
    """

    came: float = 0.0
    went: float = 0.0
    held: float = 0.0
    doubt: float | None = None

    @property
    def switched(self) -> bool:
        """True if any queues came or went."""
        return self.came > 0.0 or self.went > 0.0


NO_UNREST = Unrest()


class MeasuredPeriods:
    """Measured periods: the configuration of each, and the logarithm of its throughput."""

    def __init__(self) -> None:
        self.places: list[Place] = []
        self.values: list[float] = []
        self.unrest: list[Unrest] = []

    def add(self, place: Place, value: float, unrest: Unrest = NO_UNREST) -> None:
        """Add a period.

        If there are too many, remove the oldest one of the configuration that has the most.
        """
        self.places.append(place)
        self.values.append(value)
        self.unrest.append(unrest)
        if len(self.places) > MAX_PERIODS:
            oldest = self.places.index(max(self.places, key=self.places.count))
            for column in (self.places, self.values, self.unrest):
                del column[oldest]

    def mean(self, place: Place) -> float:
        """Return the mean of the periods at a configuration; periods right after a switch count
        only if there are no others."""
        columns = zip(self.places, self.values, self.unrest, strict=True)
        seen = [(value, unrest) for at, value, unrest in columns if at == place]
        calm = [value for value, unrest in seen if not unrest.switched]
        return math.fsum(calm or [value for value, _ in seen]) / len(calm or seen)

    def calm(self, place: Place) -> bool:
        """Return True if a period has passed there without a switch of queues before it."""
        return any(
            at == place and not unrest.switched
            for at, unrest in zip(self.places, self.unrest, strict=True)
        )

    def measured(self, place: Place) -> bool:
        """Return True if a calm period has passed there, or one after a switch in which queues
        neither filled nor drained."""
        columns = zip(self.places, self.unrest, strict=True)
        return any(
            at == place
            and (not each.switched or (each.doubt is not None and each.doubt < MAX_MEASURED_SPREAD))
            for at, each in columns
        )

    def weigh(self, formula: Vector, alike: Vector) -> Fit:
        """Return the fit to all periods.

        `formula`: log throughput, period x hypothesis. `alike`: covariance of the formula's errors,
        period x period.
        """
        apart = (np.array(self.values) - self.values[0])[:, None] - formula
        extra, own = _disturbed(self.unrest), np.square(list(NOISE_ODDS))
        cases, rows = [], []
        for misfit, misfit_odds in MISFIT_PRIOR.items():
            # Along its axes the covariance is diagonal for every noise, because noise is the same
            # in all directions.
            spreads, axes = np.linalg.eigh(misfit**2 * alike + extra)
            along, level = axes.T @ apart, axes.sum(axis=0)
            weights = 1.0 / (np.maximum(spreads, 0.0) + own[:, None])  # noise x axis
            heights = weights @ level**2
            # any height: the book's eq. 2.45
            errors = weights @ along**2 - ((weights * level) @ along) ** 2 / heights[:, None]
            scale = np.log(heights) - np.log(weights).sum(axis=1)
            odds = np.log(list(NOISE_ODDS.values())) + math.log(misfit_odds)
            rows.append(
                (odds - 0.5 * LIKELIHOOD_EXPONENT * scale)[:, None]
                - 0.5 * LIKELIHOOD_EXPONENT * errors
            )
            cases += [(misfit, axes, weight) for weight in weights]
        joint = np.concatenate(rows)
        joint = np.exp(joint - joint.max())
        joint /= joint.sum()
        by_case = joint.sum(axis=1)
        noise = math.sqrt(float(by_case.reshape(len(MISFIT_PRIOR), -1).sum(axis=0) @ own))
        misfit, axes, weight = cases[int(np.argmax(by_case))]
        inverse = axes * weight @ axes.T
        level = inverse.sum(axis=0)
        height = level @ apart / level.sum()
        return Fit(
            joint.sum(axis=0),
            noise,
            self.values[0] + height,
            misfit**2,
            apart - height,
            inverse,
            level,
        )


def _disturbed(periods: Sequence[Unrest]) -> Vector:
    """Return the covariance that switches of queues add: a surge common to all periods, and some
    for each.

    A period in which it is known how far queues fill or drain has no part in the surge.
    """
    surge = np.array(
        [unrest.came - unrest.went if unrest.doubt is None else 0.0 for unrest in periods]
    )
    return EXPECTED_SURGE**2 * np.outer(surge, surge) + np.diag(
        [_doubt(unrest) ** 2 for unrest in periods]
    )


def _doubt(unrest: Unrest) -> float:
    uneven = (
        UNEVEN_SPREAD[0] + UNEVEN_SPREAD[1] * (unrest.came + unrest.went)
        if unrest.switched
        else 0.0
    )
    if unrest.doubt is not None:
        return uneven + unrest.doubt
    return uneven + BACKLOG_SPREAD * unrest.held if unrest.switched else 0.0


@dataclass(frozen=True)
class Fit:
    """Result of the inference: `odds` of the hypotheses, a period's `noise`, and terms of the
    predictions."""

    odds: Vector
    noise: float
    height: Vector
    scale: float  # of the covariances of errors
    wrong: Vector  # residuals of the formula, period x hypothesis
    inverse: Vector
    level: Vector

    def expected(self, formula: Vector, alike: Vector, which: np.ndarray) -> Vector:
        """Return expected log throughput, configuration x hypothesis, for `which` hypotheses.

        `alike`: covariance of errors, configuration x period.
        """
        return (
            self.height[which]
            + formula
            + self.scale * alike @ (self.inverse @ self.wrong[:, which])
        )

    def spread(self, alike: Vector, with_best: Vector, best: int) -> Vector:
        """Return, by configuration, the standard deviation that the formula's error gives its
        difference from the `best`.

        `with_best`: covariance of its error with that of the best.
        """
        alike, with_best = self.scale * alike, self.scale * with_best
        explained = alike @ self.inverse
        open_ = (1.0 - alike @ self.level) / math.sqrt(self.level.sum())
        variance = with_best[best] - np.einsum("cp,cp->c", explained, alike) + open_**2
        shared = with_best - explained @ alike[best] + open_ * open_[best]
        return np.sqrt(np.maximum(variance + variance[best] - 2.0 * shared, 0.0))
