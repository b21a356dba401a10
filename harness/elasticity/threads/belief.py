"""Inference from measurements to the throughput of all levels: the odds of each curve of the
family, and of each noise.

It applies Bayes' rule to the mean of the measurements at each level. A level's mean has two errors:
the noise, and the misfit of the family, since no real curve is exactly one of its curves. The
misfit grows with the distance from the level that matters. Errors have Student's t distribution, so
that one level that no curve explains does not bend all curves (Lange, Little and Taylor 1989); the
height of a curve is fitted with their weights.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from harness.elasticity.millrace_constants import NOISE_ODDS
from harness.elasticity.threads.scaling import Family, Vector

# standard deviation of the family's error in log throughput, at the level that matters
MISFIT = 0.006
MISFIT_AWAY = 0.045  # further standard deviation for each doubling away from it
FREEDOM = 4.0  # degrees of freedom of the errors
NEGLIGIBLE = 1e-6  # odds, relative to the likeliest curve, below which a curve is dropped


@dataclass
class Measured:
    """Statistics of the logarithms of throughput measured at one level."""

    count: int = 0
    mean: float = 0.0
    spread: float = 0.0  # sum of squares about the mean

    def add(self, value: float) -> None:
        """Add a period (Welford 1962)."""
        self.count += 1
        step = value - self.mean
        self.mean += step / self.count
        self.spread += step * (value - self.mean)


class Belief:
    """Odds of the curves, given the measurements.

    `measured`: statistics by level. `odds`: odds of the curves that are left. `values`: logarithm
    of throughput, level of the family x curve. `noise`: standard deviation of one period's
    logarithm of throughput.
    """

    def __init__(self, family: Family, prior: Vector) -> None:
        """Begin with the prior odds of all curves of the family."""
        self.measured: dict[int, Measured] = {}
        self.focus = 1  # the level that matters
        self._family = family
        self._left = np.flatnonzero(prior > 0.0)
        self._prior = np.log(prior[self._left])
        self._place = {level: place for place, level in enumerate(family.levels)}

    def add(self, level: int, value: float) -> None:
        """Record a period's logarithm of throughput at a level of the family."""
        self.measured.setdefault(level, Measured()).add(value)
        self._weigh()

    def places(self) -> list[int]:
        """Return the indices of the measured levels in the family."""
        return [self._place[level] for level in self.measured]

    def expected(self, level: int) -> float:
        """Return the mean logarithm of throughput at a level of the family."""
        return float(self.values[self._place[level]] @ self.odds)

    def odds_of_all(self) -> Vector:
        """Return the odds of all curves of the family."""
        every = np.zeros(len(self._family.prior))
        every[self._left] = self.odds
        return every

    def _weigh(self) -> None:
        levels, columns = list(self.measured), self.places()
        seen = self.measured.values()
        counts = np.array([each.count for each in seen], dtype=float)
        means = np.array([each.mean for each in seen])
        again, spread = counts.sum() - len(levels), sum(each.spread for each in seen)
        misfit = MISFIT**2 + (MISFIT_AWAY * np.log2(np.array(levels) / self.focus)) ** 2
        # level measured x curve
        apart = means[:, None] - self._family.table[np.ix_(columns, self._left)]
        rows = []
        for noise, odds in NOISE_ODDS.items():
            precision = 1.0 / (noise**2 / counts + misfit)
            _, errors = _fit(apart, precision)
            scale = 0.5 * np.log(precision).sum() - 0.5 * math.log(precision.sum())
            repeats = -again * math.log(noise) - 0.5 * spread / noise**2
            rows.append(
                math.log(odds)
                + repeats
                + scale
                - 0.5 * (1.0 + FREEDOM) * np.log1p(errors / FREEDOM).sum(axis=0)
            )
        joint = np.stack(rows) + self._prior
        joint = np.exp(joint - joint.max())
        joint /= joint.sum()
        odds_of_curves = joint.sum(axis=0)
        self.noise = math.sqrt(float(joint.sum(axis=1) @ np.square(list(NOISE_ODDS))))
        keep = odds_of_curves > NEGLIGIBLE * odds_of_curves.max()
        self._left, self._prior, apart = self._left[keep], self._prior[keep], apart[:, keep]
        self.odds: Vector = odds_of_curves[keep] / odds_of_curves[keep].sum()
        height, _ = _fit(apart, 1.0 / (self.noise**2 / counts + misfit))
        self.values = self._family.table[:, self._left] + height
        # a level's own mean counts too, more with each period there, because the true curve need
        # not be in the family
        self.values[columns] += (misfit / (misfit + self.noise**2 / counts))[:, None] * (
            apart - height
        )


def _fit(apart: Vector, precision: Vector) -> tuple[Vector, Vector]:
    """Return each curve's height, and its squared errors over their variance (level x curve)."""
    height = precision @ apart / precision.sum()
    errors = precision[:, None] * (apart - height) ** 2
    for _ in range(2):  # weights of Student's t from the errors of the fit before
        weights = precision[:, None] / (1.0 + errors / FREEDOM)
        height = (apart * weights).sum(axis=0) / weights.sum(axis=0)
        errors = precision[:, None] * (apart - height) ** 2
    return height, errors
