"""Estimate of the operators' shares of the work, from the declared work and from the profiler.

A profile is a sample: each look at a thread sees the operator that it executes (M19 §3). So a share
of 1 % after 100 looks is one look. The declared work counts as a number of looks too.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from harness.elasticity.layout import Layout

Vector = NDArray[np.float64]

# Looks at each thread that count, as in IBM Streams. The runtime makes ten times as many, in
# windows that overlap.
LOOKS_A_SECOND = 100.0
DECLARED_LOOKS = 300.0  # number of looks for which declared work counts
UNDECLARED_LOOKS = 5.0  # the same of equal shares, if no work is declared
MOVED_SHARE = 0.15  # share of the work that must be at other operators for the work to have moved
LEAST_SHARE = 1e-9  # smaller shares count as none


class WorkProfile:
    """Shares of the work in one reading, with sum 1, and the number of looks that they are worth.

    It is worth no look if it is unknown.
    """

    def __init__(self, costs: Sequence[float], operators: int, thread_s: float = 0.0) -> None:
        """Take the costs of a reading, of so many seconds of all threads together."""
        self.shares: Vector = np.zeros(operators)
        self.looks = 0.0
        seen = np.asarray(costs, dtype=float)
        if len(seen) != operators or not np.all(np.isfinite(seen) & (seen >= 0.0)):
            return
        if (total := float(seen.sum())) > 0.0 and np.isfinite(total):
            self.shares = seen / total
            # at least one look at the rarest operator
            rarest = float(self.shares[self.shares > LEAST_SHARE].min())
            self.looks = max(1.0 / rarest, LOOKS_A_SECOND * thread_s)

    def moved(self, now: WorkProfile) -> bool:
        """Return True if a later profile differs by more than chance and `MOVED_SHARE`."""
        if not self.looks or not now.looks:
            return False
        variance = now.shares * (1.0 / self.looks + 1.0 / now.looks)
        chance = 0.4 * float(np.sqrt(variance).sum())  # mean of half the distance of two samples
        return 0.5 * float(np.abs(self.shares - now.shares).sum()) > MOVED_SHARE + chance


class WorkShares:
    """Shares of the work by all profiles so far, and by what is declared."""

    def __init__(self, layout: Layout) -> None:
        declared = np.array(layout.tuples) * np.array(layout.flop)
        known = bool(0.0 < declared.sum() < np.inf)
        if not known:
            declared = np.ones(len(declared))
        looks = DECLARED_LOOKS if known else UNDECLARED_LOOKS
        self._sum: Vector = looks * declared / (declared.sum() or 1.0)

    @property
    def now(self) -> Vector:
        """Present estimate, with sum 1."""
        return self._sum / self._sum.sum()

    def add(self, profile: WorkProfile) -> None:
        """Add what a period has shown."""
        self._sum = self._sum + profile.looks * profile.shares

    def forget(self) -> None:
        """Begin anew, because the work has moved."""
        self._sum = np.full(len(self._sum), UNDECLARED_LOOKS / len(self._sum))
