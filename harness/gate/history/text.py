"""Series of a history as text for people, and as a document for programs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pandas as pd

from harness.gate.history.trend import RESULTS_PER_TREND, CellHistory, Change
from harness.gate.host_key import UNKNOWN
from harness.terminal.table import aligned_rows

HEADINGS = (
    "cell",
    "host",
    "latest",
    "on",
    "commit",
    "verdict",
    "level (results)",
    f"trend per {RESULTS_PER_TREND}",
)
MAX_COMMIT = 10  # digits shown


def table(series: Sequence[CellHistory]) -> str:
    """Return a table: a line for each series, with its latest result beside its level since the
    last change, and below it a line for each change."""
    cells = [_cells(one, several_suites=len({each.suite for each in series}) > 1) for one in series]
    head, *rows = aligned_rows([HEADINGS, *cells])
    lines = [head]
    for one, row in zip(series, rows, strict=True):
        lines += [row, *(f"    {change_text(change, one)}" for change in one.changes)]
    return "\n".join([*lines, *(["", *warnings(series)] if warnings(series) else [])])


def warnings(series: Sequence[CellHistory]) -> list[str]:
    """Return warnings about hosts that a reader of the series needs."""
    joined = sorted({host for one in series if one.joined for host in one.hosts})
    found = (
        [f"HOSTS JOINED, whose numbers differ for other reasons too: {'; '.join(joined)}"]
        if joined
        else []
    )
    if any(UNKNOWN in one.hosts for one in series):
        found.append(
            f"{UNKNOWN}: the programs told none, so these results may be of several that nobody "
            "can tell apart"
        )
    return found


def document(series: Sequence[CellHistory]) -> dict[str, Any]:
    """Return the series as a document for programs. A number that is not known is null."""
    return {"schema_version": 1, "series": [_described(one) for one in series]}


def percent(ratio: float) -> str:
    """Return a ratio as a change: `+5.2 %`."""
    return f"{100 * (ratio - 1):+.1f} %"


def size_text(ratio: float, one: CellHistory) -> str:
    """Return a ratio as good or bad news: `+5.2 %, worse`."""
    return f"{percent(ratio)}, {'worse' if one.is_worse(ratio) else 'better'}"


def change_text(change: Change, one: CellHistory) -> str:
    """Return a change as text: `2026-11-10: +5.2 %, worse: after abc, up to def (p = 0.0001)`. One
    of the commits after abc, up to def, has caused it."""
    where = f"after {commit(change.before)}, up to {commit(change.after)}"
    other = (
        "; ANOTHER HOST from here on"
        if change.another_host
        else f"; {one.host}"
        if one.joined
        else ""
    )
    size = size_text(change.point.ratio, one)
    return (
        f"{change.after['started_at']:%Y-%m-%d}: {size}: {where} (p = "
        f"{change.point.p_value:.1g}){other}"
    )


def commit(row: pd.Series) -> str:
    """Return the short commit of a result, with `+dirty` if its tree had other changes."""
    if not isinstance(row["head_commit"], str):
        return "no commit"
    return row["head_commit"][:MAX_COMMIT] + ("+dirty" if row["head_dirty"] else "")


def _cells(one: CellHistory, several_suites: bool) -> list[str]:
    latest = one.rows.iloc[-1]
    return [
        f"{one.suite}: {one.cell}" if several_suites else one.cell,
        one.host,
        _latest(latest, one.unit),
        f"{latest['started_at']:%Y-%m-%d}",
        commit(latest),
        latest["verdict"] + (" (control failed)" if latest["control_failed"] else ""),
        "none" if one.level is None else f"{one.level:.4g} {one.unit} ({one.level_results})",
        "too few" if one.trend is None else "flat" if one.trend == 1 else size_text(one.trend, one),
    ]


def _latest(row: pd.Series, unit: str) -> str:
    if math.isnan(row["head_median"]):
        return "none"
    return f"{row['head_median']:.4g} [{row['head_low']:.4g}, {row['head_high']:.4g}] {unit}"


def _described(one: CellHistory) -> dict[str, Any]:
    latest = one.rows.iloc[-1]
    return {
        "suite": one.suite,
        "cell": one.cell,
        "metric": one.metric,
        "unit": one.unit,
        "lower_is_better": one.lower_is_better,
        "hosts": list(one.hosts),
        "joined": one.joined,
        "results": len(one.rows),
        "counted": len(one.counted),
        "latest": {
            "started_at": _time(latest),
            "commit": latest["head_commit"],
            "dirty": bool(latest["head_dirty"]),
            "verdict": latest["verdict"],
            "control_failed": bool(latest["control_failed"]),
            "median": _number(latest["head_median"]),
            "low": _number(latest["head_low"]),
            "high": _number(latest["head_high"]),
        },
        "level": one.level,
        "level_results": one.level_results,
        f"trend_per_{RESULTS_PER_TREND}": one.trend,
        "changes": [
            {
                "at": _time(change.after),
                "after_commit": change.before["head_commit"],
                "up_to_commit": change.after["head_commit"],
                "ratio": change.point.ratio,
                "worse": change.worse,
                "p_value": change.point.p_value,
                "another_host": change.another_host,
            }
            for change in one.changes
        ],
    }


def _number(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _time(row: pd.Series) -> str:
    return row["started_at"].isoformat()
