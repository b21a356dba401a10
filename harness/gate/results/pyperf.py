"""Files of pyperf: `python -m pyperf timeit -o FILE`, or a runner's `-o FILE`.

A file is a suite of benchmarks with runs. Each run with values is one fresh process and gives one
sample, the median of its values. Runs without values only calibrated the loops. Smaller is better
for every unit, as in pyperf itself. A benchmark and a run inherit the metadata of the suite.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from harness.gate.cell import GateCell, Metric
from harness.gate.errors import UnusableResults
from harness.gate.results.side import Answer, Results, add, answer_of, mapping, text

UNITS = {"second": "s", "byte": "bytes", "integer": ""}
REPORTED_FACTS = frozenset({"cpu_model", "kernel", "python"})


def is_pyperf(document: Mapping[str, Any]) -> bool:
    """Return True if a document is a suite of pyperf."""
    benchmarks = document.get("benchmarks")
    return (
        isinstance(benchmarks, list)
        and isinstance(document.get("version"), str)
        and "metadata" in document
    )


def of_pyperf(document: Mapping[str, Any], path: str) -> Results:
    """Return the results in a document. Raises UnusableResults."""
    shared = mapping(document.get("metadata"))
    answers: dict[str, Answer] = {}
    for position, benchmark in enumerate(document["benchmarks"]):
        runs = mapping(benchmark).get("runs")
        if not isinstance(runs, list):
            raise UnusableResults(f"{path}: benchmarks[{position}].runs: missing, or no list")
        metadata = {**shared, **mapping(benchmark.get("metadata"))}
        name = text(metadata.get("name"))
        if name is None:
            raise UnusableResults(f"{path}: benchmarks[{position}]: has no name in its metadata")
        unit = str(metadata.get("unit", "second"))
        cell = GateCell(name, Metric("value", UNITS.get(unit, unit)), key=name)
        values = (mapping(run).get("values") for run in runs)
        add(
            answers,
            name,
            answer_of(cell, [each for each in values if isinstance(each, list) and each]),
        )
    machine = text(shared.get("hostname"))
    facts = {"machine": machine} if machine else {}
    return Results(path, answers, _host(shared), tells=REPORTED_FACTS, facts=facts)


def _host(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return the host under the names of a record's `host`. The platform is
    `Linux-6.1.0-13-amd64-...`, a version `3.11.2 (64-bit)`."""
    system, _, release = str(metadata.get("platform", "")).partition("-")
    python = metadata.get("python_implementation", "cpython")
    version = str(metadata.get("python_version", "")).partition(" ")[0]
    known = {
        "cpu_model": text(metadata.get("cpu_model_name")),
        "cpus_allowed": metadata.get("cpu_count"),
        "kernel": f"{system} {release}" if release else None,
        "python": f"{python} {version}" if version else None,
        "hostname_hash": text(metadata.get("hostname")),
    }
    return {name: value for name, value in known.items() if value is not None}
