"""Whether the models come in the right order: what a prediction is for in the end."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from harness.validation.comparison import Comparison

DIFFERENT = 0.15
"""Arms of a cell whose measured medians differ by more than this, the larger over the smaller, have an order."""


@dataclass(frozen=True)
class Pair:
    """Two arms of a cell that have an order, as measured."""

    faster: Comparison
    slower: Comparison

    @property
    def measured(self) -> float:
        """How many times as fast."""
        return self.faster.measured / self.slower.measured

    @property
    def predicted(self) -> float:
        """The same as predicted; infinite if only the slower one is predicted to stand still."""
        if not self.slower.predicted:
            return math.inf if self.faster.predicted else 1.0
        return self.faster.predicted / self.slower.predicted

    @property
    def right(self) -> bool:
        """Whether the faster one is predicted to be faster; as fast is wrong."""
        return self.faster.predicted > self.slower.predicted

    @property
    def doubtful(self) -> bool:
        """Whether one of the two is."""
        return self.faster.doubtful or self.slower.doubtful


def pairs(comparisons: Sequence[Comparison]) -> list[Pair]:
    """All pairs of arms of a cell that have an order, of those measured and predicted."""
    known = [each for each in comparisons if each.error is not None]
    found = []
    for one, other in combinations(known, 2):
        if one.case.group != other.case.group:
            continue
        slower, faster = sorted((one, other), key=lambda each: each.measured)
        pair = Pair(faster, slower)
        if pair.measured > 1 + DIFFERENT:
            found.append(pair)
    return found
