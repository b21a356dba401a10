"""What measurements say about the throughput of all levels: the odds of each curve of the family, and of each noise.

Bayes' rule on the means of what was measured at each level. A level's mean is as wrong as the noise makes it, and as the
family is: no real curve is quite one of its curves, the less so the further away from the level that matters. Errors have
Student's t distribution, so that one level that no curve explains does not bend all of them (Lange, Little and Taylor 1989);
the height of a curve is fitted by their weights.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from harness.elasticity.threads.scaling import Family, Vector

NOISES = (0.004, 0.012, 0.025, 0.045, 0.075, 0.13, 0.22)  # standard deviation of a period's logarithm of throughput
NOISE_ODDS = (0.25, 0.2, 0.2, 0.15, 0.1, 0.07, 0.03)
MISFIT = 0.006  # the same of what the family cannot say, at the level that matters
MISFIT_AWAY = 0.045  # and more for each doubling away from it
FREEDOM = 4.0  # degrees of freedom of the errors
NEGLIGIBLE = 1e-6  # odds, relative to the likeliest curve, below which a curve is given up


@dataclass
class Measured:
    """The logarithms of throughput seen at one level."""

    count: int = 0
    mean: float = 0.0
    spread: float = 0.0  # sum of squares about the mean

    def add(self, value: float) -> None:
        """One more period (Welford 1962)."""
        self.count += 1
        step = value - self.mean
        self.mean += step / self.count
        self.spread += step * (value - self.mean)


class Belief:
    """The odds, given what was measured.

    `measured`: by level. `odds`: of the curves that are left. `values`: level of the family x curve, the logarithm of
    throughput there. `noise`: standard deviation of one period's logarithm of throughput.
    """

    def __init__(self, family: Family, prior: Vector) -> None:
        """`prior`: the odds of all curves of the family before anything is measured."""
        self.measured: dict[int, Measured] = {}
        self.focus = 1  # the level that matters
        self._family = family
        self._left = np.flatnonzero(prior > 0.0)
        self._prior = np.log(prior[self._left])
        self._place = {level: place for place, level in enumerate(family.levels)}

    def add(self, level: int, value: float) -> None:
        """Take note of a period's logarithm of throughput at a level of the family."""
        self.measured.setdefault(level, Measured()).add(value)
        self._weigh()

    def places(self) -> list[int]:
        """Where the levels that were measured stand in the family."""
        return [self._place[level] for level in self.measured]

    def expected(self, level: int) -> float:
        """Mean logarithm of throughput at a level of the family."""
        return float(self.values[self._place[level]] @ self.odds)

    def odds_of_all(self) -> Vector:
        """The odds of all curves of the family."""
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
        apart = means[:, None] - self._family.table[np.ix_(columns, self._left)]  # level measured x curve
        rows = []
        for noise, odds in zip(NOISES, NOISE_ODDS, strict=True):
            precision = 1.0 / (noise**2 / counts + misfit)
            _, errors = _fit(apart, precision)
            scale = 0.5 * np.log(precision).sum() - 0.5 * math.log(precision.sum())
            repeats = -again * math.log(noise) - 0.5 * spread / noise**2
            rows.append(math.log(odds) + repeats + scale - 0.5 * (1.0 + FREEDOM) * np.log1p(errors / FREEDOM).sum(axis=0))
        joint = np.stack(rows) + self._prior
        joint = np.exp(joint - joint.max())
        joint /= joint.sum()
        odds_of_curves = joint.sum(axis=0)
        self.noise = math.sqrt(float(joint.sum(axis=1) @ np.square(NOISES)))
        keep = odds_of_curves > NEGLIGIBLE * odds_of_curves.max()
        self._left, self._prior, apart = self._left[keep], self._prior[keep], apart[:, keep]
        self.odds: Vector = odds_of_curves[keep] / odds_of_curves[keep].sum()
        height, _ = _fit(apart, 1.0 / (self.noise**2 / counts + misfit))
        self.values = self._family.table[:, self._left] + height
        # where a level was measured that counts too, the more the oftener: the truth need not be in the family
        self.values[columns] += (misfit / (misfit + self.noise**2 / counts))[:, None] * (apart - height)


def _fit(apart: Vector, precision: Vector) -> tuple[Vector, Vector]:
    """Each curve's height, and its squared errors over their variance (level x curve)."""
    height = precision @ apart / precision.sum()
    errors = precision[:, None] * (apart - height) ** 2
    for _ in range(2):  # weights of Student's t by the errors of the fit before
        weights = precision[:, None] / (1.0 + errors / FREEDOM)
        height = (apart * weights).sum(axis=0) / weights.sum(axis=0)
        errors = precision[:, None] * (apart - height) ** 2
    return height, errors
