"""Order of the models by throughput, measured and predicted: the main purpose of a prediction."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from harness.validation.comparison import CaseComparison

MIN_ORDERED_DIFFERENCE = 0.15
"""Difference of measured medians, the larger over the smaller, above which two arms of a cell have
an order."""


@dataclass(frozen=True)
class Pair:
    """Two arms of a cell that have an order, as measured."""

    faster: CaseComparison
    slower: CaseComparison

    @property
    def measured(self) -> float:
        """Measured ratio of the faster arm's throughput to the slower one's."""
        return self.faster.measured / self.slower.measured

    @property
    def predicted(self) -> float:
        """Predicted ratio of the two throughputs; infinite if only the slower one is predicted to
        stand still.
        """
        if not self.slower.predicted:
            return math.inf if self.faster.predicted else 1.0
        return self.faster.predicted / self.slower.predicted

    @property
    def right(self) -> bool:
        """True if the faster arm is predicted to be faster; an equal prediction is wrong."""
        return self.faster.predicted > self.slower.predicted

    @property
    def doubtful(self) -> bool:
        """True if one of the two comparisons is doubtful."""
        return self.faster.doubtful or self.slower.doubtful


def pairs(comparisons: Sequence[CaseComparison]) -> list[Pair]:
    """Return all pairs of arms of a cell that have an order, among those measured and predicted."""
    known = [each for each in comparisons if each.error is not None]
    found = []
    for one, other in combinations(known, 2):
        if one.case.group != other.case.group:
            continue
        slower, faster = sorted((one, other), key=lambda each: each.measured)
        pair = Pair(faster, slower)
        if pair.measured > 1 + MIN_ORDERED_DIFFERENCE:
            found.append(pair)
    return found
