"""Input that operators have left out: how much of each kind, with the first one as an example.

A function of a typed operator, or an object that it owns, may have `left_out()`, the numbers by
kind, and `examples()`, a text by kind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from harness.engine.sample import Totals
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


def left_out_of(graph: Graph, totals: Totals) -> tuple[list[dict[str, Any]], float | None]:
    """Return an entry for each kind, of all operators together: its number, and an example; and the
    share of the input that was left out, None if there was no input or a thread may still read it.
    """
    entries: dict[str, dict[str, Any]] = {}
    for name, count in totals.left_out.items():
        kind = name.rpartition(": ")[2]
        entry = entries.setdefault(kind, {"kind": kind, "count": 0, "example": None})
        entry["count"] += count
        entry["example"] = entry["example"] or totals.left_out_examples.get(name)
    lost = sum(
        entry["count"] for kind, entry in entries.items() if kind not in (NOT_LEFT_OUT, TRUNCATED)
    )
    records = 0 if totals.stuck else _records_of(graph, totals.sent)
    return list(entries.values()), min(1.0, lost / records) if records else None


def _records_of(graph: Graph, sent: int) -> int:
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
