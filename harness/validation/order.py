"""Order of the models by throughput, measured and predicted: the main purpose of a prediction; and
the error of the ratio of two throughputs, which says when a predicted order is safe.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from harness.validation.comparison import CaseComparison, grouped

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
    return [pair for pair in _all_pairs(comparisons) if pair.measured > 1 + MIN_ORDERED_DIFFERENCE]


def _all_pairs(comparisons: Sequence[CaseComparison]) -> Iterator[Pair]:
    """Yield all pairs of arms of a cell, measured and predicted, also those without an order."""
    known = [each for each in comparisons if each.error is not None]
    for one, other in combinations(known, 2):
        if one.case.group == other.case.group:
            slower, faster = sorted((one, other), key=lambda each: each.measured)
            yield Pair(faster, slower)


SAFE_SHARE = 0.90
"""Share of the pairs whose error the safe ratio covers."""


@dataclass(frozen=True)
class SafeRatio:
    """Factor by which the predicted ratio of two arms of a cell differs from the measured one, at
    most, in `SAFE_SHARE` of the pairs. Predicted throughputs that differ by more have a safe order.
    """

    pairs: int
    factor: float


def safe_ratio(comparisons: Sequence[CaseComparison]) -> SafeRatio | None:
    """Return the safe ratio over all pairs of arms of a cell, by the nearest rank; None if there is
    no pair.
    """
    factors = sorted(_factor(pair) for pair in _all_pairs(comparisons))
    if not factors:
        return None
    return SafeRatio(len(factors), factors[math.ceil(SAFE_SHARE * len(factors)) - 1])


def _factor(pair: Pair) -> float:
    """Return the error of a predicted ratio as a factor from 1 on; it is the same whichever arm is
    the numerator.
    """
    ratio = pair.predicted / pair.measured
    return max(ratio, 1 / ratio) if ratio > 0.0 else math.inf


def safe_ratio_by_cost(
    comparisons: Sequence[CaseComparison],
) -> list[tuple[str, object, SafeRatio]]:
    """Return the safe ratio over all pairs, and over those of each cost: the name of the group, its
    value, the ratio.
    """
    groups = [("all", "", comparisons), *grouped(comparisons, ["cost"])]
    found = ((name, value, safe_ratio(group)) for name, value, group in groups)
    return [row for row in found if row[2] is not None]
