"""Files of asv (airspeed velocity): `results/MACHINE/COMMIT-ENVIRONMENT.json`, version 2.

A file gives one sample of each benchmark and set of its parameters: the result that asv has made of
its processes. The name's first word says what it is: times in seconds, memory in bytes. What a
`track_` benchmark gives is compared if the user says which direction is better.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from harness.gate.cell import GateCell, Metric
from harness.gate.errors import UnusableResults
from harness.gate.results.side import NO_DIRECTION, Answer, Results, add, answer_of, mapping, text

METRICS = {
    "time": Metric("time", "s"),
    "timeraw": Metric("time", "s"),
    "mem": Metric("size", "bytes"),
    "peakmem": Metric("peak", "bytes"),
    "track": Metric("value", ""),
}
"""Metrics by the first word of a benchmark's name."""


def is_asv(document: Mapping[str, Any]) -> bool:
    """Return True if a document is a file of results of asv."""
    return "commit_hash" in document and isinstance(document.get("results"), dict)


def of_asv(document: Mapping[str, Any], path: str) -> Results:
    """Return the results in a document. Raises UnusableResults for another version of it."""
    columns = document.get("result_columns")
    if document.get("version") != 2 or not isinstance(columns, list):
        raise UnusableResults(f"{path}: version must be 2, not {document.get('version')!r}")
    answers: dict[str, Answer] = {}
    times = []
    for name, row in document["results"].items():
        entry = dict(zip(columns, row if isinstance(row, list) else [], strict=False))
        word = name.rpartition(".")[2].partition("_")[0].lower()
        metric = METRICS.get(word, Metric("value", ""))
        optional = NO_DIRECTION if metric.name == "value" else ""
        parameters = entry.get("params") or []
        results = entry.get("result") or [None]
        sets = list(itertools.product(*parameters)) if parameters else [()]
        for values, result in zip(sets, results, strict=False):
            cell = f"{name}({', '.join(map(str, values))})" if values else name
            if isinstance(result, float) and math.isnan(result):
                continue  # asv writes this for a set of parameters that was skipped
            add(answers, cell, answer_of(GateCell(cell, metric, key=cell), [[result]], optional))
        if isinstance(entry.get("started_at"), int | float):
            times.append(entry["started_at"] / 1000)
    machine = mapping(document.get("params"))
    host = {"cpu_model": text(machine.get("cpu")), "python": _python(document)}
    facts = {"machine": text(machine.get("machine")), "environment": text(document.get("env_name"))}
    return Results(
        path,
        answers,
        {key: value for key, value in host.items() if value},
        text(document["commit_hash"]),
        tells=frozenset({"cpu_model"}),
        measured_at=datetime.fromtimestamp(min(times), UTC) if times else None,
        facts={key: value for key, value in facts.items() if value},
    )


def _python(document: Mapping[str, Any]) -> str | None:
    version = text(document.get("python"))
    return f"cpython {version}" if version else None
