"""The report for a terminal or a log."""

from __future__ import annotations

from collections.abc import Sequence

from harness.gate.report.rows import HEADINGS, ReportRow, row, worst_first
from harness.gate.report.words import conclusion, foot, heading, reasons, remarks
from harness.gate.verdict import Comparison, Exit, Verdict
from harness.terminal.table import aligned_rows

RESET, RED, GREEN, YELLOW = "\033[0m", "\033[31m", "\033[32m", "\033[33m"
COLOURS = {
    Verdict.REGRESSED: RED,
    Verdict.WRONG: RED,
    Verdict.FAILED: RED,
    Verdict.UNMEASURED: RED,
    Verdict.FIXED: YELLOW,
    Verdict.INCONCLUSIVE: YELLOW,
    Verdict.IMPROVED: GREEN,
}
LEFT_ALIGNED = ("", "cell", "verdict")  # columns of words


def text(
    comparison: Comparison,
    *,
    only_changed: bool = False,
    colour: bool = False,
    inconclusive: Exit = Exit.INCONCLUSIVE,
    finished: bool = True,
    explained: Sequence[str] = (),
) -> str:
    """Return the whole report: the table, how to read it, other facts, the lines of explanations,
    and the verdict in its last line."""
    shown = worst_first(comparison, only_changed)
    head, *lines = _aligned([ReportRow(*HEADINGS), *map(row, shown)])
    if colour:
        lines = [_coloured(line, result.verdict) for line, result in zip(lines, shown, strict=True)]
    table = (
        [head, *lines]
        if shown
        else [
            f"nothing has changed in {len(comparison.cells)} cells"
            if comparison.cells
            else "no cell"
        ]
    )
    parts = [
        [heading(comparison)],
        table,
        reasons(comparison),
        foot(comparison, only_changed),
        remarks(comparison),
        explained,
        [conclusion(comparison, inconclusive, finished)],
    ]
    return "\n\n".join("\n".join(part) for part in parts if part) + "\n"


def _aligned(rows: Sequence[ReportRow]) -> list[str]:
    right = [place for place, heading in enumerate(HEADINGS) if heading not in LEFT_ALIGNED]
    return aligned_rows(rows, right)


def _coloured(line: str, verdict: Verdict) -> str:
    colour = COLOURS.get(verdict)
    return f"{colour}{line}{RESET}" if colour else line
