"""Rows of the table, worst first, as texts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from harness.gate.results.pytest_format import SECONDS
from harness.gate.signed_rank import MAX_EXACT_COUNT, bounds, estimate
from harness.gate.verdict import MARKS, CellResult, Comparison, Verdict
from harness.measurement.rank_interval import median_interval

ORDER = (
    Verdict.WRONG,
    Verdict.FAILED,
    Verdict.UNMEASURED,
    Verdict.FIXED,
    Verdict.REGRESSED,
    Verdict.INCONCLUSIVE,
    Verdict.NEW,
    Verdict.REMOVED,
    Verdict.OK,
    Verdict.IMPROVED,
)
"""Order of the table: worst first."""

MEANINGS = {
    Verdict.REGRESSED: "worse",
    Verdict.IMPROVED: "better",
    Verdict.INCONCLUSIVE: "cannot tell",
    Verdict.WRONG: "head is broken",
    Verdict.FAILED: "head is broken",
    Verdict.FIXED: "base has no number",
    Verdict.NEW: "new in head",
    Verdict.REMOVED: "gone from head",
    Verdict.UNMEASURED: "not measured",
}
"""Meanings of the marks."""

HEADINGS = ("", "cell", "base", "head", "ratio", "bounds", "verdict")
TAIL_CHANCE = 0.025  # on each side of the 95 % interval of a side's samples
UNKNOWN = "-"


class ReportRow(NamedTuple):
    """One cell as it is shown: a text for each column of `HEADINGS`."""

    mark: str
    cell: str
    base: str
    head: str
    ratio: str
    bounds: str
    verdict: str


def worst_first(comparison: Comparison, only_changed: bool = False) -> list[CellResult]:
    """Return the cells in the order of the table; `only_changed`: only those that are not ok."""
    results = [
        result for result in comparison.cells if not (only_changed and result.verdict is Verdict.OK)
    ]
    return sorted(
        results,
        key=lambda result: (
            ORDER.index(result.verdict),
            -_known(result.decision.ratio),
            result.cell.name,
        ),
    )


def row(result: CellResult) -> ReportRow:
    """Return a cell's row."""
    unit, decision = result.cell.metric.unit, result.decision
    return ReportRow(
        MARKS[result.verdict],
        one_line(result.cell.name),
        side(result.base, unit),
        side(result.head, unit),
        ratio(decision.ratio),
        between(decision.low, decision.high),
        str(result.verdict),
    )


def side(values: Sequence[float], unit: str) -> str:
    """Return a side's samples as text: their middle ± the farther end of its 95 % interval, which
    takes 6 samples."""
    if not values:
        return UNKNOWN
    found, low, high = middle(values)
    half = max(found - low, high - found)
    spread = f" ± {100 * (half / found):.1f} %" if found > 0 and math.isfinite(half) else ""
    return quantity(found, unit) + spread


def middle(values: Sequence[float]) -> tuple[float, float, float]:
    """Return the Hodges-Lehmann estimate of a side's samples and the ends of its 95 % interval. For
    more than `MAX_EXACT_COUNT` samples, whose pairs could fill the memory, return the median and
    the ends of its interval by the sign test."""
    return (
        median_interval(values)
        if len(values) > MAX_EXACT_COUNT
        else (estimate(values), *bounds(values, TAIL_CHANCE))
    )


def quantity(value: float, unit: str) -> str:
    """Return a number with its unit; times in the unit that suits their size."""
    if unit in SECONDS:
        seconds = value * SECONDS[unit]
        unit = next((name for name in ("s", "ms", "µs") if abs(seconds) >= SECONDS[name]), "ns")
        value = seconds / SECONDS[unit]
    return f"{figure(value)} {one_line(unit)}".rstrip()


def figure(value: float) -> str:
    """Return four significant digits of a number, or all digits before the point."""
    return f"{value:,.0f}" if 1000 <= abs(value) < 1e15 else f"{value:#.4g}".rstrip(".")


def ratio(value: float) -> str:
    """Return a ratio to a thousandth."""
    return UNKNOWN if math.isnan(value) else "∞" if math.isinf(value) else f"{value:.3f}"


def between(low: float, high: float) -> str:
    """Return the bounds of a ratio."""
    if not low > 0 and math.isinf(high):
        return UNKNOWN
    return f"[{ratio(low) if low > 0 else '0'}, {ratio(high)}]"


def one_line(text: str) -> str:
    """Return a text without line ends and other characters that would break a table."""
    return " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())


def legend(results: Sequence[CellResult]) -> str:
    """Return the meanings of the marks that occur."""
    found = {result.verdict for result in results}
    entries = dict.fromkeys(
        f"{MARKS[verdict]} {MEANINGS[verdict]}"
        for verdict in ORDER
        if verdict in found and MARKS[verdict]
    )
    return ", ".join(entries)


def _known(value: float) -> float:
    return 0.0 if math.isnan(value) else value
