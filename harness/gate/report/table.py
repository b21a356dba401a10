"""The cells as CSV, worst first: raw numbers, one row for each cell."""

from __future__ import annotations

import csv
import io
import math

from harness.gate.report.rows import middle, one_line, worst_first
from harness.gate.verdict import CellResult, Comparison

FORMULA = ("=", "+", "-", "@", "＝", "＋", "－", "＠")
"""Characters that begin a formula: a spreadsheet would execute the name of a benchmark."""

COLUMNS = (
    "cell",
    "verdict",
    "ratio",
    "low",
    "high",
    "blocks",
    "metric",
    "unit",
    "lower_is_better",
    "base",
    "base_low",
    "base_high",
    "base_samples",
    "head",
    "head_low",
    "head_high",
    "head_samples",
    "reason",
    "factor",
)


def table(comparison: Comparison, *, only_changed: bool = False) -> str:
    """Return the rows, with a line of headings. Unknown values are empty."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows(
        (*_numbers(result), result.cell.metric.factor or comparison.factor)
        for result in worst_first(comparison, only_changed)
    )
    return buffer.getvalue()


def _numbers(result: CellResult) -> list[object]:
    decision, metric = result.decision, result.cell.metric
    sides = [
        entry
        for values in (result.base, result.head)
        for entry in (*_estimated(values), len(values))
    ]
    return [
        _text(result.cell.name),
        str(result.verdict),
        *map(_plain, (decision.ratio, decision.low, decision.high)),
        decision.blocks,
        _text(metric.name),
        _text(metric.unit),
        str(metric.lower_is_better).lower(),
        *sides,
        _text(result.reason),
    ]


def _text(value: str) -> str:
    """Return a text in one line. An apostrophe, which a spreadsheet reads as "text", goes before
    one that would be a formula."""
    line = one_line(value)
    return f"'{line}" if line.startswith(FORMULA) else line


def _estimated(values: tuple[float, ...]) -> list[object]:
    """Return a side's middle with its interval."""
    return [_plain(value) for value in middle(values)] if values else ["", "", ""]


def _plain(value: float) -> object:
    return value if math.isfinite(value) else ""
