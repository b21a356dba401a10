"""Where the work of a graph is: what the graph declares, corrected by what the profiler sees.

The profiler's shares are of a number of looks at the threads (M19 §3), so they are noisy: a share of 1 % after 100 looks is
one look. The declared work of the operators is free of noise, and may be wrong. Both are weighed as Dirichlet prior and
multinomial sample:

  share = (K declared + looks seen) / (K + looks)

where K, the looks that the declaration is worth, follows from how far the sample is from it beyond chance (the method of
moments for the Dirichlet-multinomial distribution; Mosimann, Biometrika 49(1-2), 1962).

Whether the work has moved is told by periods in which the law was at the same configuration: what an operator costs depends on
where queues stand, since large tuples that another thread wrote are dear to read.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from harness.elasticity.layout import Layout
from harness.elasticity.queues.regions import Vector

LOOKS_A_SECOND = (
    100.0  # at each thread that count, as in IBM Streams. The runtime makes ten times as many, in windows that overlap
)
LEAST_WORTH, MOST_WORTH = 5.0, 1e5  # K
MOVED = 6.0  # times as far from what was seen before as chance explains, and
MOVED_SHARE = 0.15  # so much of the work elsewhere: it has moved
PLACES = 64  # configurations whose shares are kept, the last ones


class WorkShares:
    """`shares`: what is believed now, their sum 1. `looks`: that it rests on."""

    def __init__(self, layout: Layout) -> None:
        declared = np.array(layout.tuples) * np.array(layout.flop)
        if declared.sum() <= 0.0:
            declared = np.ones(len(declared))
        self._declared: Vector = declared / declared.sum()
        self._seen = np.zeros(len(declared))
        self.looks = 0.0
        self._doubt = 0
        self._last: Vector | None = None  # what the period before showed
        self._at: dict[Hashable, tuple[Vector, float]] = {}  # by configuration: seen there, and the looks it is of
        self._worth = LEAST_WORTH
        self.shares: Vector = self._declared

    def add(self, costs: Sequence[float], elapsed_s: float, threads: int, pure: float, place: Hashable | None) -> bool:
        """Take note of a period's shares at a configuration; `pure`: of what was seen, the part that is operators, not queues.

        `place`: the configuration; None where the profiler has looked at others as well: its windows are longer than a period.
        True if the work has moved: what was seen before is forgotten.
        """
        seen = np.asarray(costs, dtype=float)
        if len(seen) != len(self._declared) or not np.all(np.isfinite(seen)) or seen.min() < 0.0 or seen.sum() <= 0.0:
            return False
        seen = seen / seen.sum()
        looks = self._looks_of(seen, LOOKS_A_SECOND * elapsed_s * threads)
        self._last = seen
        moved = False
        if place is not None and place in self._at and pure > 0.5:
            before, of = self._at[place]
            before = before / of
            moving = _apart(seen, before, 1.0 / (1.0 / looks + 1.0 / of)) > MOVED and elsewhere(seen, before) > MOVED_SHARE
            self._doubt = self._doubt + 1 if moving else 0
            if self._doubt >= 2:
                self._seen, self.looks, self._doubt, moved = np.zeros(len(seen)), 0.0, 0, True
                self._at.clear()
            elif self._doubt:
                return False
        weight = looks * pure**2
        self._seen, self.looks = self._seen + weight * seen, self.looks + weight
        if place is not None:
            before, of = self._at.pop(place, (np.zeros(len(seen)), 0.0))
            self._at[place] = before + looks * seen, of + looks
            if len(self._at) > PLACES:
                del self._at[next(iter(self._at))]
        self._weigh()
        return moved

    def _looks_of(self, seen: Vector, at_most: float) -> float:
        """How many looks shares are of: no fewer than one for the rarest operator, no more than were possible.

        Two samples of the same shares tell: their difference is what chance makes of so many looks.
        """
        looks = max(1.0 / float(seen[seen > 0.0].min()), at_most)
        if self._last is not None and (apart := _apart(seen, 0.5 * (seen + self._last), 2.0)) > 0.0:
            looks = min(looks, max(1.0 / apart, 1.0))
        return looks

    def _weigh(self) -> None:
        looks = self.looks
        beyond = _apart(self._seen / looks, self._declared, looks)  # 1: chance
        worth = MOST_WORTH if beyond <= 1.0 else (looks - beyond) / (beyond - 1.0)
        self._worth = min(max(worth, LEAST_WORTH), MOST_WORTH)
        self.shares = (self._worth * self._declared + self._seen) / (self._worth + looks)


def elsewhere(seen: Vector, expected: Vector) -> float:
    """Share of the work that is at other operators than expected."""
    return 0.5 * float(np.abs(seen - expected).sum())


def _apart(seen: Vector, expected: Vector, looks: float) -> float:
    """Pearson's chi-squared of a sample of so many looks, over its degrees of freedom; rare operators are counted as one."""
    order = np.argsort(expected)
    small = order[np.cumsum(expected[order]) * looks < 5.0]
    large = np.setdiff1d(order, small)
    cells = np.concatenate([expected[large], [expected[small].sum()]]), np.concatenate([seen[large], [seen[small].sum()]])
    expected, seen = cells
    known = expected > 0.0
    return float(looks * ((seen[known] - expected[known]) ** 2 / expected[known]).sum() / max(1, known.sum() - 1))
