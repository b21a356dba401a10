"""Parts of a graph that no stream connects: what each of them does under each arm.

Arms are compared by the tuples that arrive at all sinks together, or by the latencies of these.
Where a graph has several such parts, one of them decides, so a reader must see each part alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from harness.compare.contest import By, Contest
from harness.measurement.period_text import short
from harness.terminal.listed import listed


def parts_of(operators: Sequence[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """Return the operators of a run's `time_use` by part, in the order of their first operators."""
    part_of = {operator["name"]: [operator["name"]] for operator in operators}
    for operator in operators:
        for source in operator["behind"]:
            less, more = sorted((part_of[source], part_of[operator["name"]]), key=len)
            if less is not more:
                more += less
                part_of |= dict.fromkeys(less, more)
    parts: dict[int, list[dict[str, Any]]] = {}
    for operator in operators:
        parts.setdefault(id(part_of[operator["name"]]), []).append(operator)
    return list(parts.values())


def arrived_per_s(part: Sequence[dict[str, Any]], elapsed_s: float) -> float:
    """Return the rate at which tuples arrived at the last operators of a part [tuples/s]."""
    feeding = {source for operator in part for source in operator["behind"]}
    last = [operator["tuples"] for operator in part if operator["name"] not in feeding]
    return sum(last) / elapsed_s if elapsed_s > 0.0 else 0.0


def part_notes(contest: Contest) -> list[str]:
    """Return a line that says so if the graph has several parts, and one for each explained arm
    with the rate of each part.
    """
    notes = []
    for arm in contest.contenders:
        use = arm.explained["time_use"] if arm.explained else None
        parts = parts_of(use["operators"]) if use else []
        if len(parts) < 2:
            continue
        if not notes:
            named = ", ".join(f"that of {part[0]['name']}" for part in parts)
            compared = (
                "latencies are those of the tuples of all sinks together, so a part with few "
                "tuples may decide"
                if contest.by is By.LATENCY
                else "arms are compared by the sum of their tuples, so a part with many tuples "
                "decides"
            )
            notes.append(
                f"no stream connects the {len(parts)} parts of this graph ({named}); {compared}: "
                "compare each part in a graph of its own, too"
            )
        rates = [short(arrived_per_s(part, use["elapsed_s"])) for part in parts]
        notes.append(f"{arm.name}: its parts had {listed(rates)} tuples/s in its explained run")
    return notes
