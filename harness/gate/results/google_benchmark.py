"""Files of Google Benchmark: `PROGRAM --benchmark_out=FILE --benchmark_out_format=json`.

A file is one process. A benchmark's repetitions are rounds of that process, so it gives one sample,
the median of their real times. If the file has only aggregates, it is the one called median. Each
benchmark chooses the unit of its times; they are compared in nanoseconds. Smaller is better.

Two benchmarks may have one name. They differ in the numbers of their families, or repeat the number
of a repetition; then neither is compared.

All other numbers of a benchmark are counters: CPU time, and those of the user. They are compared if
the user says which direction is better. Rates of bytes and items are left out, because they repeat
the time.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from harness.gate.cell import GateCell, Metric
from harness.gate.errors import UnusableResults
from harness.gate.results.side import (
    NO_DIRECTION,
    Answer,
    Results,
    answer_of,
    fault,
    in_ns,
    mapping,
    text,
)

REAL_TIME = Metric("real_time", "ns")
UNITS = ("ns", "us", "ms", "s")
CPU_TIME = Metric("cpu_time", "ns")
FIELDS = frozenset(
    {
        *("name", "run_name", "run_type", "family_index", "per_family_instance_index", "label"),
        *("repetitions", "repetition_index", "threads", "iterations", "real_time", "cpu_time"),
        *("time_unit", "error_occurred", "error_message", "skipped", "skip_message"),
        *(
            "aggregate_name",
            "aggregate_unit",
            "cpu_coefficient",
            "real_coefficient",
            "big_o",
            "rms",
        ),
        *("bytes_per_second", "items_per_second"),
    }
)
"""Fields of a benchmark that are no counters of the user."""
REPORTED_FACTS = frozenset({"cpus_allowed"})


def is_google_benchmark(document: Mapping[str, Any]) -> bool:
    """Return True if a document is of Google Benchmark."""
    return isinstance(document.get("context"), dict) and isinstance(
        document.get("benchmarks"), list
    )


def of_google_benchmark(document: Mapping[str, Any], path: str) -> Results:
    """Return the results in a document. Raises UnusableResults."""
    by_name: dict[str, list[Mapping[str, Any]]] = {}
    for position, each in enumerate(document["benchmarks"]):
        name = text(mapping(each).get("run_name")) or text(mapping(each).get("name"))
        if name is None:
            raise UnusableResults(f"{path}: benchmarks[{position}].name: missing, or no text")
        by_name.setdefault(name, []).append(each)
    skipped = [
        name
        for name, entries in by_name.items()
        if any(each.get("skipped") is True for each in entries)
    ]
    answers: dict[str, Answer] = {}
    for name, entries in by_name.items():
        if name not in skipped:
            answers[name] = _answer(name, entries)
            answers |= {} if answers[name].broken else _counters(name, entries)
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
    return Results(
        path,
        answers,
        {key: value for key, value in known.items() if value is not None},
        tells=REPORTED_FACTS,
        notes=tuple(note for note, holds in doubts.items() if holds),
        facts={"machine": host} if (host := text(context.get("host_name"))) else {},
    )


def _answer(name: str, runs: list[Mapping[str, Any]]) -> Answer:
    cell = GateCell(name, REAL_TIME, key=name)
    for each in runs:
        if each.get("error_occurred") is True:
            return fault(cell, f"failed: {text(each.get('error_message')) or 'it gave no reason'}")
    rounds = _rounds(runs)
    families = {
        (each["family_index"], each.get("per_family_instance_index"))
        for each in runs
        if "family_index" in each
    }
    numbers = [each["repetition_index"] for each in rounds if "repetition_index" in each]
    if len(families) > 1 or len(set(numbers)) < len(numbers):
        return fault(cell, "is there twice: two benchmarks have this name")
    units = {
        each.get("time_unit", "ns") for each in runs if isinstance(each.get("time_unit", "ns"), str)
    }
    if len(units) != 1 or not units <= set(UNITS):
        return fault(
            cell,
            f"time_unit must be one of {', '.join(UNITS)}, "
            f"not {', '.join(sorted(units)) or 'missing'}",
        )
    unit = units.pop()
    times = [in_ns(each.get("real_time"), unit) for each in rounds or _medians(runs)]
    return answer_of(cell, [times] if times else [])


def _rounds(runs: list[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return [each for each in runs if each.get("run_type", "iteration") == "iteration"]


def _medians(runs: list[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return [each for each in runs if each.get("aggregate_name") == "median"]


def _counters(name: str, runs: list[Mapping[str, Any]]) -> dict[str, Answer]:
    """Return the answers of a benchmark's counters, by the name of the benchmark and counter."""
    entries = _rounds(runs) or _medians(runs)
    unit = str(entries[0].get("time_unit", "ns"))
    found: dict[str, Answer] = {}
    if all("cpu_time" in each for each in entries):
        cell = GateCell(f"{name}:cpu_time", CPU_TIME, key=f"{name}:cpu_time")
        times = [in_ns(each["cpu_time"], unit) for each in entries]
        found[cell.name] = answer_of(cell, [times], "the real time is")
    for key in entries[0].keys() - FIELDS:
        values = [each.get(key) for each in entries]
        if all(isinstance(value, int | float) for value in values):
            cell = GateCell(f"{name}:{key}", Metric(key, ""), key=f"{name}:{key}")
            found[cell.name] = answer_of(cell, [values], NO_DIRECTION)
    return found
