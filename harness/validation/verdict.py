"""Verdict on the simulator's use for machines that are not at hand: its targets, and whether they
are met.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from harness.validation.comparison import (
    MEDIAN_TARGET,
    WORST_TARGET,
    CaseComparison,
    Errors,
    errors,
)
from harness.validation.order import Pair, pairs


@dataclass(frozen=True)
class SessionVerdict:
    """Result of all comparisons of a session."""

    overall: Errors | None  # None if no case has an error
    reliable: Errors | None  # the same without the doubtful cases
    pairs: Sequence[Pair]
    missing: Sequence[CaseComparison]  # cases without a measurement or without a prediction

    @property
    def wrong(self) -> list[Pair]:
        """The pairs whose order is not the measured one."""
        return [pair for pair in self.pairs if not pair.right]

    @property
    def targets(self) -> dict[str, bool]:
        """Each target and whether it is met, over all cases, doubtful ones too. A target without
        numbers is missed.
        """
        return {
            "median": self.overall is not None and self.overall.median <= MEDIAN_TARGET,
            "worst": self.overall is not None and abs(self.overall.worst.error) <= WORST_TARGET,
            "order": self.overall is not None and not self.wrong,
            "complete": not self.missing,
        }

    @property
    def met(self) -> bool:
        """True if all targets are met."""
        return all(self.targets.values())


def judge(comparisons: Sequence[CaseComparison]) -> SessionVerdict:
    """Return the verdict on the comparisons."""
    return SessionVerdict(
        overall=errors(comparisons),
        reliable=errors(each for each in comparisons if not each.doubtful),
        pairs=pairs(comparisons),
        missing=[each for each in comparisons if each.error is None],
    )
