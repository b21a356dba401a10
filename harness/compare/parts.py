"""Parts of a graph that no stream connects: what each of them does under each arm.

Arms are compared by the tuples that arrive at all sinks together, or by the longest p99 latency of
the parts. Where a graph has several parts, one of them decides, so a reader must see each part
alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from harness.compare.contest import By, Contest
from harness.graph.parts import parts_of
from harness.measurement.period_text import short
from harness.terminal.listed import listed


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
        by_name = {each["name"]: each for each in use["operators"]} if use else {}
        names = parts_of({name: each["behind"] for name, each in by_name.items()})
        if len(names) < 2:
            continue
        parts = [[by_name[name] for name in part] for part in names]
        if not notes:
            named = ", ".join(f"that of {part[0]['name']}" for part in parts)
            notes.append(
                f"no stream connects the {len(parts)} parts of this graph ({named}); "
                f"{_compared(contest)}: compare each part in a graph of its own, too"
            )
        rates = [short(arrived_per_s(part, use["elapsed_s"])) for part in parts]
        notes.append(f"{arm.name}: its parts had {listed(rates)} tuples/s in its explained run")
    return notes


def _compared(contest: Contest) -> str:
    """Return what arms are compared by, in words."""
    if contest.by is not By.LATENCY:
        return "arms are compared by the sum of their tuples, so a part with many tuples decides"
    records = [record for arm in contest.contenders for record in arm.records]
    if contest.by_part and any("parts" in record["latency_ns"] for record in records):
        return "arms are compared by the longest p99 latency of the parts, so a slow part decides"
    return (
        "latencies are those of the tuples of all sinks together, so a part with less than 1 % of "
        "the tuples hardly counts"
    )
