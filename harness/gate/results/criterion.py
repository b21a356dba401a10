"""Results of Criterion.rs and of Rust's own benchmarks:

- the messages of `cargo criterion --message-format=json > FILE`, one JSON object a line;
- `target/criterion/NAME/new/estimates.json`, whose benchmark is named by `benchmark.json` beside
  it, or else by its path;
- lines `test NAME ... bench: 1,234 ns/iter (+/- 56)`, of `cargo bench`, and of Criterion.rs
  with `--output-format bencher`.

A file is one process, and gives one sample of each benchmark: the median of the times of an
iteration. Smaller is better.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from harness.gate.cell import GateCell, Metric
from harness.gate.errors import UnusableResults
from harness.gate.results.side import Answer, Results, add, answer_of, fault, mapping, text

COMPLETE = "benchmark-complete"
BENCH = re.compile(r"^test (.+?)\s+\.\.\. bench:\s+([\d,.]+) (ns|us|µs|ms|s)/iter\b")
FAILED = re.compile(r"^test (.+?)\s+\.\.\. (FAILED|bench:.*)$")


def is_criterion(content: str) -> bool:
    """Return True if a text has messages of cargo-criterion, one a line."""
    first = content.lstrip().partition("\n")[0]
    try:
        return "reason" in mapping(json.loads(first))
    except ValueError:
        return False


def of_criterion(content: str, path: str) -> Results:
    """Return the results in messages. Raises UnusableResults for a line that is cut short."""
    answers: dict[str, Answer] = {}
    for position, message in _messages(content, path):
        if message.get("reason") != COMPLETE:
            continue
        name = text(message.get("id"))
        if name is None:
            raise UnusableResults(f"{path}: line {position}: id: missing, or no text")
        unit = str(message.get("unit", "ns"))
        cell = GateCell(name, Metric("time", unit), key=name)
        values, counts = message.get("measured_values"), message.get("iteration_count")
        add(answers, name, answer_of(cell, [_each(values, counts)] if values else []))
    return Results(path, answers, {}, tells=frozenset())


def _messages(content: str, path: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    for position, line in enumerate(content.splitlines(), 1):
        if line.strip():
            try:
                yield position, mapping(json.loads(line))
            except ValueError as error:
                raise UnusableResults(
                    f"{path}: line {position} is cut short, or no JSON"
                ) from error


def _each(values: Any, counts: Any) -> list[Any]:
    """Return the time of an iteration in each measurement."""
    try:
        return [value / count for value, count in zip(values, counts, strict=True)]
    except (TypeError, ValueError, ZeroDivisionError):
        return [None]


def is_estimates(document: Any) -> bool:
    """Return True if a document is an `estimates.json` of Criterion.rs."""
    return all(
        "point_estimate" in mapping(mapping(document).get(key)) for key in ("mean", "median")
    )


def of_estimates(document: Mapping[str, Any], path: str) -> Results:
    """Return the result in a document."""
    name = _name(Path(path))
    cell = GateCell(name, Metric("time", "ns"), key=name)
    return Results(
        path,
        {name: answer_of(cell, [[document["median"]["point_estimate"]]])},
        {},
        tells=frozenset(),
    )


def _name(path: Path) -> str:
    """Return `GROUP/FUNCTION` for `target/criterion/GROUP/FUNCTION/new/estimates.json`."""
    try:
        beside = json.loads(path.with_name("benchmark.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        beside = {}
    parts = path.resolve().parent.parent.parts
    after = parts.index("criterion") + 1 if "criterion" in parts else len(parts) - 1
    return text(mapping(beside).get("full_id")) or "/".join(parts[after:])


def is_bencher_lines(content: str) -> bool:
    """Return True if a text has lines of Rust's own benchmarks."""
    return any(BENCH.match(line) for line in content.splitlines())


def of_bencher_lines(content: str, path: str) -> Results:
    """Return the results in an output of `cargo bench`."""
    answers: dict[str, Answer] = {}
    for line in content.splitlines():
        if found := BENCH.match(line):
            cell = GateCell(found[1], Metric("time", found[3]), key=found[1])
            add(answers, found[1], answer_of(cell, [[float(found[2].replace(",", ""))]]))
        elif failed := FAILED.match(line):
            answers[failed[1]] = fault(
                GateCell(failed[1], Metric("time", "ns"), key=failed[1]), "failed"
            )
    return Results(path, answers, {}, tells=frozenset())
