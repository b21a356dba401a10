"""What a file says of one side: for each cell, one number a process.

A file of pytest-benchmark is one process: its many rounds share one memory layout, one hash seed and one moment, so that of
each benchmark they give one sample, their median. A verdict of the gate gives the samples of its head.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from harness.errors import UserError
from harness.gate.cell import Cell, Metric, positive
from harness.gate.errors import UnusableResults
from harness.gate.results.pytest_format import host_of
from harness.gate.results.verdict_file import load_json, verdict_of
from harness.gate.verdict import Verdict

ROUNDS = Metric("median", "s")
"""Of the rounds: the field of pytest-benchmark's statistics."""

BROKEN = (Verdict.WRONG, Verdict.FAILED, Verdict.UNMEASURED)


@dataclass(frozen=True)
class Answer:
    """What a file says of a cell: `values` [the metric's unit], or why there are none."""

    cell: Cell
    values: tuple[float, ...] = ()
    broken: Verdict | None = None
    reason: str = ""


@dataclass(frozen=True)
class Results:
    """What a file says. Cells go by their key, which is the benchmark's full name, or by their name if they have none."""

    path: str
    answers: Mapping[str, Answer]
    host: Mapping[str, Any]  # as in records, as far as it is known
    commit: str | None = None
    dirty: bool = False
    by_pytest: bool = False  # a file of pytest-benchmark, which knows less of its host
    notes: tuple[str, ...] = field(default=())


def read_results(path: str | os.PathLike[str]) -> Results:
    """Read a file of either kind.

    Raises UnusableResults if it holds no result that can be used, UserError if it is no file of results at all.
    """
    document = load_json(path)
    if isinstance(document, dict) and "gate" in document:
        return _of_verdict(document, str(path))
    if isinstance(document, dict) and isinstance(document.get("benchmarks"), list):
        return _of_pytest(document, str(path))
    raise UserError(f"{path}: neither a verdict of the gate nor a file of pytest-benchmark: has no list of benchmarks")


def _of_verdict(document: Mapping[str, Any], path: str) -> Results:
    verdict = verdict_of(document, path)
    comparison = verdict.comparison
    keys = Counter(result.cell.key for result in comparison.cells)
    answers = {}
    for result in comparison.cells:
        name = result.cell.key if keys[result.cell.key] == 1 else ""  # a benchmark with several metrics is several cells
        broken = result.verdict if result.verdict in BROKEN else None
        values = () if broken else tuple(_positive(value, path, result.cell.name) for value in result.head)
        if not values and broken is None:
            broken = Verdict.UNMEASURED
        answers[name or result.cell.name] = Answer(result.cell, values, broken, result.reason)
    if all(answer.broken is Verdict.UNMEASURED for answer in answers.values()):
        raise UnusableResults(f"{path}: holds no sample")
    doubts = {
        f"{path} is of a call that was interrupted": not verdict.finished,
        f"{path} is of a call whose control failed: no verdict of it counts": comparison.control_failed,
    }
    notes = tuple(note for note, holds in doubts.items() if holds)
    side = comparison.head
    return Results(path, answers, side.host, side.commit, side.dirty, notes=notes)


def _of_pytest(document: Mapping[str, Any], path: str) -> Results:
    answers: dict[str, Answer] = {}
    for name, seconds in _medians(document["benchmarks"], path):
        if name in answers:
            raise UnusableResults(f"{path}: benchmark {name} is there twice")
        answers[name] = Answer(Cell(name, ROUNDS, key=name), (seconds,))
    _require_any(answers, path)
    machine, commit = (_mapping(document.get(key)) for key in ("machine_info", "commit_info"))
    dirty = commit.get("dirty") is True
    return Results(path, answers, host_of(machine), _text(commit.get("id")), dirty, by_pytest=True)


def _medians(benchmarks: list[Any], path: str) -> Iterator[tuple[str, float]]:
    for position, benchmark in enumerate(benchmarks):
        name = _text(_mapping(benchmark).get("fullname"))
        if name is None:
            raise UnusableResults(f"{path}: benchmarks[{position}].fullname: missing, or no text")
        yield name, _positive(_mapping(benchmark.get("stats")).get("median"), path, name)


def _positive(value: Any, path: str, name: str) -> float:
    """A number whose logarithm there is."""
    number = positive(value)
    if number is None:
        raise UnusableResults(f"{path}: {name}: must be a number above 0, not {repr(value)[:60]}")
    return number


def _require_any(answers: Mapping[str, Answer], path: str) -> None:
    if not answers:
        raise UnusableResults(f"{path}: holds no benchmark")


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None
