"""Files of Google Benchmark: `PROGRAM --benchmark_out=FILE --benchmark_out_format=json`.

A file is one process. A benchmark's repetitions are rounds of that process, so it gives one sample,
the median of their real times. If the file has only aggregates, it is the one called median. Each
benchmark chooses the unit of its times; they are compared in nanoseconds. Smaller is better.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from harness.gate.cell import Cell, Metric
from harness.gate.errors import UnusableResults
from harness.gate.results.side import Answer, Results, answer_of, fault, mapping, require_any, text

REAL_TIME = Metric("real_time", "ns")
NS = {"ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9}
REPORTED_FACTS = frozenset({"cpus_allowed"})


def is_google_benchmark(document: Mapping[str, Any]) -> bool:
    """True if a document is of Google Benchmark."""
    return isinstance(document.get("context"), dict) and isinstance(
        document.get("benchmarks"), list
    )


def of_google_benchmark(document: Mapping[str, Any], path: str) -> Results:
    """Return the results in a document. Raises UnusableResults."""
    told: dict[str, list[Mapping[str, Any]]] = {}
    for position, each in enumerate(document["benchmarks"]):
        name = text(mapping(each).get("run_name")) or text(mapping(each).get("name"))
        if name is None:
            raise UnusableResults(f"{path}: benchmarks[{position}].name: missing, or no text")
        told.setdefault(name, []).append(each)
    skipped = [
        name
        for name, entries in told.items()
        if any(each.get("skipped") is True for each in entries)
    ]
    answers = {
        name: _answer(name, entries) for name, entries in told.items() if name not in skipped
    }
    require_any(answers, path)
    context = document["context"]
    known = {
        "cpus_allowed": context.get("num_cpus"),
        "hostname_hash": text(context.get("host_name")),
    }
    doubts = {
        f"{path}: skipped: {', '.join(skipped)}": skipped,
        f"{path}: the benchmark library itself was built for debugging": context.get(
            "library_build_type"
        )
        == "debug",
    }
    host = {key: value for key, value in known.items() if value is not None}
    return Results(
        path,
        answers,
        host,
        tells=REPORTED_FACTS,
        notes=tuple(note for note, holds in doubts.items() if holds),
    )


def _answer(name: str, told: list[Mapping[str, Any]]) -> Answer:
    cell = Cell(name, REAL_TIME, key=name)
    for each in told:
        if each.get("error_occurred") is True:
            return fault(cell, f"failed: {text(each.get('error_message')) or 'it gave no reason'}")
    rounds = [each for each in told if each.get("run_type", "iteration") == "iteration"]
    units = {
        each.get("time_unit", "ns") for each in told if isinstance(each.get("time_unit", "ns"), str)
    }
    if len(units) != 1 or not units <= NS.keys():
        return fault(
            cell,
            f"time_unit must be one of {', '.join(NS)}, not {', '.join(sorted(units)) or 'missing'}",
        )
    scale = NS[units.pop()]
    times = [
        each.get("real_time")
        for each in rounds or told
        if rounds or each.get("aggregate_name") == "median"
    ]
    return answer_of(cell, [[_scaled(time, scale) for time in times]] if times else [])


def _scaled(time: Any, scale: float) -> Any:
    """Return a time in nanoseconds. A value that is no number stays as it is, for the message."""
    return (
        time * scale
        if isinstance(time, float) or (isinstance(time, int) and not isinstance(time, bool))
        else time
    )
