"""Family of curves of throughput over the thread level, with the prior odds of each.

A curve rises, up to a *knee* at some level k, and goes on in a *tail*:

  rise  n / (1 + a (n - 1))   Amdahl's law with a serial share a (AFIPS 1967); 0 is proportional
        n^p                   sub-linear throughout
        n + 1                 proportional, but a source's thread executes operators too
  tail  T(k) (k / n)^q        flat for q = 0, falling for q > 0, rising more slowly for q < 0 (a second thread on each core)

or follows the Universal Scalability Law with its peak at k (Gunther, Guerrilla Capacity Planning,
2007), which has no knee. All are logarithms of throughput, up to a constant: measurements give the
height of a curve.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]

DENSE = 64  # levels up to here are all in the family
STEP = 1.03  # ratio of neighbouring levels above `DENSE`, finer than what can be measured

SERIAL = {0.0: 0.42, 0.01: 0.09, 0.03: 0.09, 0.08: 0.08, 0.16: 0.05, 0.3: 0.04}
POWERS = {0.9: 0.06, 0.75: 0.05, 0.5: 0.03}
OFFSET = 0.10  # the odds of n + 1
TAILS = {0.0: 0.30, 0.3: 0.12, 0.7: 0.12, 1.2: 0.12, 2.2: 0.1, 4.0: 0.06, -0.35: 0.1, -0.65: 0.08}
LAW_OF_SCALABILITY = 0.15  # the odds of a curve without knee
CONTENTION = (0.0, 0.02, 0.05, 0.1, 0.2, 0.35)
NO_KNEE = 0.15  # the odds that the knee is at the maximum or beyond it


def grid(maximum: int) -> list[int]:
    """Return the levels of the family from 1 to `maximum`."""
    levels = list(range(1, min(maximum, DENSE) + 1))
    while levels[-1] < maximum:
        levels.append(min(maximum, max(levels[-1] + 1, round(levels[-1] * STEP))))
    return levels


class Family:
    """All curves for levels up to `maximum`.

    `levels`: levels of the family. `prior`: prior odds of each curve. `table`: logarithm of
    throughput, level x curve.
    """

    def __init__(self, maximum: int) -> None:
        self.levels = grid(maximum)
        knees = np.array(self.levels, dtype=float)
        edges = np.sqrt(
            np.concatenate(([0.75], knees)) * np.concatenate((knees, [knees[-1] + 0.5]))
        )
        # knees are as likely to lie between 4 and 8 as between 32 and 64
        odds = np.log(edges[1:] / edges[:-1])
        odds *= (1.0 - NO_KNEE) / odds.sum()
        rises = [("serial", a, w) for a, w in SERIAL.items()] + [
            ("power", p, w) for p, w in POWERS.items()
        ]
        rises.append(("offset", 1.0, OFFSET))
        # kind of rise, its number, knee, exponent of the tail, odds
        rows: list[tuple[str, float, float, float, float]] = []
        for kind, number, rise_odds in rises:
            share = rise_odds * (1.0 - LAW_OF_SCALABILITY)
            rows.append((kind, number, float(2 * maximum), 0.0, share * NO_KNEE))
            for knee, knee_odds in zip(knees, odds, strict=True):
                rows += [
                    (kind, number, knee, exponent, share * knee_odds * tail)
                    for exponent, tail in TAILS.items()
                ]
        for contention in CONTENTION:
            share = LAW_OF_SCALABILITY / len(CONTENTION)
            rows += [
                ("usl", contention, knee, 0.0, share * each)
                for knee, each in zip(knees, odds, strict=True)
            ]
        kinds, numbers, at, exponents, weights = zip(*rows, strict=True)
        self._kind = np.array(kinds)
        self._number, self._knee, self._exponent = (
            np.array(numbers),
            np.array(at),
            np.array(exponents),
        )
        self.prior: Vector = np.array(weights) / sum(weights)
        self.table: Vector = np.stack([self._at(level) for level in self.levels])

    def _at(self, level: int) -> Vector:
        """Return the logarithm of each curve's throughput at a level."""
        n = np.minimum(float(level), self._knee)
        number, is_usl = self._number, self._kind == "usl"
        power = n ** np.where(self._kind == "power", number, 1.0)
        rise = np.select(
            [self._kind == "power", self._kind == "offset"],
            [power, n + 1.0],
            n / (1.0 + number * (n - 1.0)),
        )
        tail = -self._exponent * np.log(np.maximum(level / self._knee, 1.0))
        coherence = (1.0 - number) / self._knee**2
        usl = level / (
            1.0 + number * (level - 1.0) + np.where(is_usl, coherence, 0.0) * level * (level - 1.0)
        )
        return np.where(is_usl, np.log(usl), np.log(rise) + tail)


@lru_cache(maxsize=8)
def family(maximum: int) -> Family:
    """Return the family for levels up to `maximum`; laws share it."""
    return Family(maximum)
