"""Input that operators have left out: how much of each kind, with the first one as an example.

A function of a typed operator, or an object that it owns, may have `left_out()`, the numbers by
kind, and `examples()`, a text by kind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from harness.graph import Graph, Operator

NOT_LEFT_OUT = "ahead of time"
"""Kind of tuples that are counted and taken."""

TRUNCATED = "truncated"
"""Kind of an input whose end is missing: a count of inputs, since nobody knows how much that is."""

Texts = dict[str, str]


def owners_of(operator: Operator) -> list[Any]:
    """Return the function of a typed operator, and the objects that it owns."""
    if operator.typed is None:
        return []
    function = operator.typed.function
    return [function, *getattr(function, "owners", ())]


def left_out_by(operators: Iterable[Operator]) -> tuple[dict[str, int], Texts]:
    """Return the numbers and the examples by operator and kind, as `Totals` has them."""
    counts: dict[str, int] = {}
    examples: Texts = {}
    for operator in operators:
        for owner in owners_of(operator):
            counts |= _named(operator, getattr(owner, "left_out", dict))
            examples |= _named(operator, getattr(owner, "examples", dict))
    return counts, examples


def _named(operator: Operator, found: Callable[[], Mapping[str, Any]]) -> dict[str, Any]:
    return {f"{operator.name}: {kind}": value for kind, value in found().items()}


def by_kind(counts: Mapping[str, int], examples: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return an entry for each kind, of all operators together: its number, and an example."""
    found: dict[str, dict[str, Any]] = {}
    for name, count in counts.items():
        kind = name.rpartition(": ")[2]
        entry = found.setdefault(kind, {"kind": kind, "count": 0, "example": None})
        entry["count"] += count
        entry["example"] = entry["example"] or examples.get(name)
    return list(found.values())


def share_of(entries: Iterable[Mapping[str, Any]], records: int) -> float | None:
    """Return the share of the input that was left out; None: there was no input."""
    if records == 0:
        return None
    lost = sum(each["count"] for each in entries if each["kind"] not in (NOT_LEFT_OUT, TRUNCATED))
    return min(1.0, lost / records)


def records_of(graph: Graph, sent: int) -> int:
    """Return the number of records of the input: as an application has counted them, or those that
    sources sent and those that they could not read.
    """
    if graph.counts is not None and "records" in (counts := graph.counts()):
        return counts["records"]
    sources = [each for each in graph.operators.values() if each.is_source]
    broken = sum(
        sum(getattr(owner, "left_out", dict)().values())
        for source in sources
        for owner in owners_of(source)
    )
    return sent + broken
