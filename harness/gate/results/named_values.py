"""Formats that hold a name and a number, and little else. A file gives one sample of each
benchmark.

- Bencher Metric Format (bencher.dev): {"NAME": {"latency": {"value": 88.0}}}. Latencies, times and
  sizes are better if lower, throughputs if higher.
- The lists of github-action-benchmark (`customSmallerIsBetter` and `customBiggerIsBetter`):
  [{"name": "NAME", "unit": "ms", "value": 1.5}]. The unit says which direction is better, if it is
  one of time, memory, or a rate.
- The file in which that action keeps its history, `data.js`: the last run of each suite.

Numbers whose direction is unknown are compared if the user says which direction is better.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from harness.gate.cell import GateCell, Metric
from harness.gate.results.side import NO_DIRECTION, Answer, Results, add, answer_of, mapping, text

DATA_JS = re.compile(r"^\s*window\.BENCHMARK_DATA\s*=\s*")
MEASURES = {
    "latency": Metric("latency", "ns"),
    "throughput": Metric("throughput", "ops/s", lower_is_better=False),
    "build-time": Metric("build-time", "s"),
    "file-size": Metric("file-size", "bytes"),
    "instructions": Metric("instructions", ""),
    "estimated-cycles": Metric("estimated-cycles", ""),
}
"""Measures of Bencher with a meaning of their own."""

RATE = re.compile(r"(/|\bper )\s*(s|sec|second)\b", re.I)
COST = re.compile(
    r"^(ns|us|µs|ms|s|sec|seconds?|bytes?|[kmg]i?b|megabytes|instructions)(/(iter|op))?$", re.I
)
BIGGER = "customBiggerIsBetter"
SMALLER = "customSmallerIsBetter"


def is_bencher(document: Any) -> bool:
    """Return True if a document is in Bencher Metric Format."""
    return (
        isinstance(document, dict)
        and bool(document)
        and all(
            isinstance(measures, dict)
            and bool(measures)
            and all("value" in mapping(measure) for measure in measures.values())
            for measures in document.values()
        )
    )


def of_bencher(document: Mapping[str, Any], path: str) -> Results:
    """Return the results in a document."""
    answers: dict[str, Answer] = {}
    for benchmark, measures in document.items():
        for measure, entry in measures.items():
            name = benchmark if len(measures) == 1 else f"{benchmark}:{measure}"
            metric = MEASURES.get(measure, Metric(measure, ""))
            optional = "" if measure in MEASURES else NO_DIRECTION
            cell = GateCell(name, metric, key=name)
            add(answers, name, answer_of(cell, [[entry["value"]]], optional))
    return Results(path, answers, {}, tells=frozenset())


def is_list(document: Any) -> bool:
    """Return True if a document is a list of github-action-benchmark."""
    return (
        isinstance(document, list)
        and bool(document)
        and all({"name", "value", "unit"} <= mapping(each).keys() for each in document)
    )


def of_list(document: list[Mapping[str, Any]], path: str) -> Results:
    """Return the results in a document."""
    return Results(path, _answers(document, "", ""), {}, tells=frozenset())


def is_history(document: Any) -> bool:
    """Return True if a document is the history of github-action-benchmark."""
    return "lastUpdate" in mapping(document) and isinstance(document.get("entries"), dict)


def of_history(document: Mapping[str, Any], path: str) -> Results:
    """Return the results of the last run of each suite in a document."""
    answers: dict[str, Answer] = {}
    last = {suite: mapping(runs[-1]) for suite, runs in document["entries"].items() if runs}
    for suite, run in last.items():
        prefix = f"{suite}: " if len(last) > 1 else ""
        benches = [mapping(each) for each in run.get("benches") or ()]
        for name, answer in _answers(benches, prefix, str(run.get("tool", ""))).items():
            add(answers, name, answer)
    commits = {text(mapping(run.get("commit")).get("id")) for run in last.values()}
    dates = [run["date"] for run in last.values() if isinstance(run.get("date"), int)]
    return Results(
        path,
        answers,
        {},
        commits.pop() if len(commits) == 1 else None,
        tells=frozenset(),
        measured_at=datetime.fromtimestamp(min(dates) / 1000, UTC) if dates else None,
    )


def _answers(benches: list[Mapping[str, Any]], prefix: str, tool: str) -> dict[str, Answer]:
    answers: dict[str, Answer] = {}
    for each in benches:
        name, unit = f"{prefix}{each.get('name')}", str(each.get("unit") or "")
        is_rate = tool == BIGGER or (tool != SMALLER and bool(RATE.search(unit)))
        is_known = is_rate or tool == SMALLER or bool(COST.match(unit.strip()))
        cell = GateCell(name, Metric("value", unit, lower_is_better=not is_rate), key=name)
        optional = "" if is_known else NO_DIRECTION
        add(answers, name, answer_of(cell, [[each.get("value")]], optional))
    return answers
