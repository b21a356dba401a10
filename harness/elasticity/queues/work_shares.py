"""Each operator's share of the work: the shares that the graph declares, corrected by those that
the profiler measures.

The profiler samples the threads a number of times, its *looks* (M19 §3), so its shares are noisy: a
share of 1 % after 100 looks is one look. The declared work of the operators has no noise, but it
may be wrong. The two are a Dirichlet prior and a multinomial sample:

  share = (K declared + looks seen) / (K + looks)

K is the number of looks that the declaration is worth. It follows from the distance of the sample
from the declaration beyond chance (the method of moments for the Dirichlet-multinomial
distribution; Mosimann, Biometrika 49(1-2), 1962).

Only periods at the same configuration show that the work has moved. The cost of an operator depends
on the places of the queues, because large tuples that another thread wrote are costly to read.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from harness.elasticity.layout import Layout
from harness.elasticity.queues.regions import Vector

# Looks at each thread that count, as in IBM Streams. The runtime makes ten times as many, in
# windows that overlap.
LOOKS_A_SECOND = 100.0
LEAST_WORTH, MOST_WORTH = 5.0, 1e5  # K
# The work has moved if the shares differ from those before by more than `MOVED_NOISE_FACTOR` times
# what chance explains, and if more than `MOVED_SHARE` of the work is at other operators.
MOVED_NOISE_FACTOR = 6.0
MOVED_SHARE = 0.15
KEPT_CONFIGURATIONS = 64  # number of recent configurations whose shares are kept


class WorkShares:
    """Estimate of the shares of the work. `shares`: the present estimate, with sum 1.

    `looks`: looks behind it.
    """

    def __init__(self, layout: Layout) -> None:
        declared = np.array(layout.tuples) * np.array(layout.flop)
        if declared.sum() <= 0.0:
            declared = np.ones(len(declared))
        self._declared: Vector = declared / declared.sum()
        self._seen = np.zeros(len(declared))
        self.looks = 0.0
        self._doubt = 0
        self._last: Vector | None = None  # shares of the period before
        # by configuration: sum of shares x looks, and looks
        self._at: dict[Hashable, tuple[Vector, float]] = {}
        self._worth = LEAST_WORTH
        self.shares: Vector = self._declared

    def add(
        self,
        costs: Sequence[float],
        elapsed_s: float,
        threads: int,
        pure: float,
        place: Hashable | None,
    ) -> bool:
        """Record a period's shares at a configuration. Return True if the work has moved; earlier
        shares are then forgotten.

        `pure`: share of the looks that saw operators, not queues. `place`: the configuration; None
        if the profiler's window, which is longer than a period, includes other configurations.
        """
        seen = np.asarray(costs, dtype=float)
        if (
            len(seen) != len(self._declared)
            or not np.all(np.isfinite(seen))
            or seen.min() < 0.0
            or seen.sum() <= 0.0
        ):
            return False
        seen = seen / seen.sum()
        looks = self._looks_of(seen, LOOKS_A_SECOND * elapsed_s * threads)
        self._last = seen
        moved = False
        if place is not None and place in self._at and pure > 0.5:
            before, of = self._at[place]
            before = before / of
            moving = (
                _apart(seen, before, 1.0 / (1.0 / looks + 1.0 / of)) > MOVED_NOISE_FACTOR
                and elsewhere(seen, before) > MOVED_SHARE
            )
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
            if len(self._at) > KEPT_CONFIGURATIONS:
                del self._at[next(iter(self._at))]
        self._weigh()
        return moved

    def _looks_of(self, seen: Vector, at_most: float) -> float:
        """Return the number of looks behind shares: at least one for the rarest operator, at most
        the possible number.

        The difference of two samples of the same shares gives it: chance causes that difference for
        that number of looks.
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
    """Return the share of the work that is at other operators than expected."""
    return 0.5 * float(np.abs(seen - expected).sum())


def _apart(seen: Vector, expected: Vector, looks: float) -> float:
    """Return Pearson's chi-squared of a sample over its degrees of freedom; rare operators count as
    one cell."""
    order = np.argsort(expected)
    small = order[np.cumsum(expected[order]) * looks < 5.0]
    large = np.setdiff1d(order, small)
    cells = (
        np.concatenate([expected[large], [expected[small].sum()]]),
        np.concatenate([seen[large], [seen[small].sum()]]),
    )
    expected, seen = cells
    known = expected > 0.0
    return float(
        looks
        * ((seen[known] - expected[known]) ** 2 / expected[known]).sum()
        / max(1, known.sum() - 1)
    )
