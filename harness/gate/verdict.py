"""The result of a gate: a decision for each cell, and one exit code for all of them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from typing import Any

from harness.gate.cell import GateCell

FACTOR, ALPHA = 1.02, 0.01
"""Defaults, unless a suite or a call sets others."""


class Verdict(StrEnum):
    """Verdict on a cell. The first four are decisions about numbers, the others are reasons why
    there is none."""

    REGRESSED = "regressed"
    OK = "ok"
    IMPROVED = "improved"
    INCONCLUSIVE = "inconclusive"
    WRONG = "wrong results"  # head's oracle failed: tuples lost, doubled, reordered or harmed
    FAILED = "failed"  # head gave no number, base did
    FIXED = "no base"  # base gave no number, head did
    NEW = "new"  # as FIXED, but the suite counts it as information
    # base had the benchmark, head does not, and the suite counts that as information
    REMOVED = "removed"
    UNMEASURED = "not measured"  # neither did, or there was no attempt


MARKS: Mapping[Verdict, str] = {
    Verdict.REGRESSED: "+",
    Verdict.OK: "",
    Verdict.IMPROVED: "-",
    Verdict.INCONCLUSIVE: "~",
    Verdict.WRONG: "!",
    Verdict.FAILED: "!",
    Verdict.FIXED: "*",
    Verdict.NEW: "*",
    Verdict.REMOVED: "x",
    Verdict.UNMEASURED: "x",
}
"""Marks in tables, as in asv: + is slower, - faster, ~ cannot tell, ! newly failing, * newly
passing, x not comparable."""


INFORMATION = frozenset({Verdict.NEW, Verdict.REMOVED})
"""Verdicts that are no fault of a cell, but no comparison either."""


class Exit(IntEnum):
    """Exit codes of `millrace gate`: a stable interface."""

    OK = 0
    REGRESSED = 1
    USAGE = 2
    INCONCLUSIVE = 3
    NO_BASE = 4
    NOTHING_MEASURED = 5
    HOST_UNSTABLE = 6
    WRONG_RESULTS = 7


@dataclass(frozen=True)
class CellDecision:
    """Decision from the blocks of a cell. Ratios are head over base in the bad direction: above 1
    is worse, also for throughputs.

    `low` and `high` are the confidence bounds that the verdict rests on: at the level that this
    look spends, after Holm's correction, each one-sided. `ratio` is the estimate of `block_ranks`.
    """

    verdict: Verdict
    ratio: float
    low: float
    high: float
    blocks: int


@dataclass(frozen=True)
class CellResult:
    """A cell with all its values, in its metric's unit. Pair i is `base[i]` and `head[i]`, and
    pairs 2k and 2k + 1 are block k. A failed cell has a `reason`, and maybe values of fewer
    processes on one side."""

    cell: GateCell
    decision: CellDecision
    base: tuple[float, ...] = ()
    head: tuple[float, ...] = ()
    reason: str = ""

    @property
    def verdict(self) -> Verdict:
        """Verdict of the decision."""
        return self.decision.verdict


@dataclass(frozen=True)
class Side:
    """One of the two sides that are compared, as the reader of a verdict must know it."""

    label: str  # as the user named it
    commit: str | None  # None: not under version control
    dirty: bool = False
    # a record's `host` object; {}: its programs report none
    host: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Comparison:
    """A whole call. `control` compares base with itself, in the same way and at the same time."""

    suite: str
    base: Side
    head: Side
    cells: tuple[CellResult, ...]
    control: CellResult | None
    # base differs from itself, or gave no number beside itself, so that nothing shows that this
    # gate can be trusted
    control_failed: bool
    factor: float
    alpha: float
    seed: int
    started_at: str  # UTC, ISO 8601
    seconds: float
    interleaved: bool = True  # False: results read from files, measured at other times
    notes: tuple[str, ...] = ()
    title: str = ""  # of the suite
    # estimate of the time budget that decides the inconclusive cells; None: unknown, or there are
    # none
    needed_s: float | None = None

    @property
    def is_known(self) -> bool:
        """True if there is a bound on the ratio of at least one cell."""
        return any(
            result.decision.low > 0.0 or math.isfinite(result.decision.high)
            for result in self.cells
        )


def exit_code(comparison: Comparison, inconclusive: Exit = Exit.INCONCLUSIVE) -> Exit:
    """Return the worst outcome: wrong results, then a proven regression, which missing or noisy
    cells must not hide, then cells without a number, then a failed control.

    `inconclusive`: the exit code for inconclusive cells, if nothing is worse.
    """
    verdicts = {result.verdict for result in comparison.cells}
    nothing = bool(verdicts) and verdicts <= INFORMATION  # no cell was compared
    order: Iterable[tuple[bool, Exit]] = (
        (Verdict.WRONG in verdicts, Exit.WRONG_RESULTS),
        (Verdict.REGRESSED in verdicts, Exit.REGRESSED),
        (
            not verdicts or bool(verdicts & {Verdict.FAILED, Verdict.UNMEASURED}),
            Exit.NOTHING_MEASURED,
        ),
        (nothing or Verdict.FIXED in verdicts, Exit.NO_BASE),
        (comparison.control_failed, Exit.HOST_UNSTABLE),
        (Verdict.INCONCLUSIVE in verdicts, inconclusive),
    )
    return next((code for holds, code in order if holds), Exit.OK)
