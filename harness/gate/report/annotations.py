"""Annotations for GitHub: lines that it shows at a commit and in its files, from any output of a
step (workflow commands `error` and `warning`)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from harness.gate.report.rows import one_line, row, worst_first
from harness.gate.verdict import CellResult, Comparison, Verdict

KINDS = {
    Verdict.REGRESSED: "error",
    Verdict.WRONG: "error",
    Verdict.FAILED: "error",
    Verdict.FIXED: "error",
    Verdict.UNMEASURED: "error",
    Verdict.INCONCLUSIVE: "warning",
}
PLACE = re.compile(r"^(.+):(\d+)$")
MAX_ANNOTATIONS = 10  # of each kind that GitHub shows for a step


def annotations(comparison: Comparison, explained: Sequence[Mapping[str, Any]] = ()) -> list[str]:
    """Return a line for each cell that needs attention, the worst first.

    `explained` are explanations as in a verdict's file: a cell is shown at the function of its
    program that grew most.
    """
    lines: dict[str, list[str]] = {"error": [], "warning": []}
    for result in worst_first(comparison):
        kind = KINDS.get(result.verdict)
        if kind and len(lines[kind]) < MAX_ANNOTATIONS:
            lines[kind].append(_line(kind, result, explained))
    return [*lines["error"], *lines["warning"]]


def grown_most(
    result: CellResult, explained: Sequence[Mapping[str, Any]]
) -> Mapping[str, Any] | None:
    """Return the function of a cell's program that grew most; None if that was not explained."""
    return next(
        (
            each["grown"][0]
            for each in explained
            if each["grown"] and f"{result.cell.name}:".startswith(f"{each['program']}:")
        ),
        None,
    )


def place_of(grown: Mapping[str, Any] | None) -> tuple[str, int] | None:
    """Return the file and line of a function; None if they are unknown."""
    place = PLACE.match(grown["place"]) if grown else None
    return (place[1], int(place[2])) if place else None


def said_of(result: CellResult, grown: Mapping[str, Any] | None) -> str:
    """Return the numbers of a cell, or the reason why there are none, and the function that grew
    most."""
    shown = row(result)
    numbers = f"ratio {shown.ratio} {shown.bounds}, base {shown.base}, head {shown.head}"
    grew = f"; most grew {one_line(grown['name'])}" if grown else ""
    return (one_line(result.reason) or numbers) + grew


def _line(kind: str, result: CellResult, explained: Sequence[Mapping[str, Any]]) -> str:
    grown = grown_most(result, explained)
    place = place_of(grown)
    where = f"file={_property(place[0])},line={place[1]}," if place else ""
    title = _property(f"{one_line(result.cell.name)} {result.verdict}")
    return f"::{kind} {where}title={title}::{_message(said_of(result, grown))}"


def _message(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _message(text).replace(":", "%3A").replace(",", "%2C")
