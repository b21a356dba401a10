"""The results of one side in a file, in a form that does not depend on the program that wrote
it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from harness.gate.cell import GateCell, comparable, rule
from harness.gate.errors import UnusableResults
from harness.gate.verdict import Verdict
from harness.measurement.rank_interval import middle_of

NO_DIRECTION = "nothing says which direction is better"

NS = {"ns": 1.0, "us": 1e3, "µs": 1e3, "ms": 1e6, "s": 1e9}
"""Units of time, in nanoseconds."""


@dataclass(frozen=True)
class Answer:
    """Values of a cell in a file (in the metric's unit, one for each process), or the reason why
    there are none."""

    cell: GateCell
    values: tuple[float, ...] = ()
    broken: Verdict | None = None
    reason: str = ""
    # the rounds of each process as in the file, to be judged by the terms of another metric
    processes: tuple[tuple[Any, ...], ...] = ()
    optional: str = ""  # the reason why it is compared only if the user asks for it


@dataclass(frozen=True)
class Results:
    """Contents of a file. Cells are keyed by their key, which is the benchmark's full name, or by
    their name if they have no key."""

    path: str
    answers: Mapping[str, Answer]
    host: Mapping[str, Any]  # as in records, as far as it is known
    commit: str | None = None
    dirty: bool = False
    # facts about a host that files of this kind report as others do; None: all
    tells: frozenset[str] | None = None
    stopped: bool = False  # the number of samples may depend on their values, as in a verdict
    notes: tuple[str, ...] = field(default=())
    digest: str = ""  # of its content: two files with the same digest are one measurement
    measured_at: datetime | None = None  # None: unknown
    # outputs may be appended to it, with the other side measured in between
    may_be_in_turns: bool = False
    # facts that may differ, as a machine's name; a note tells of a difference
    facts: Mapping[str, str] = field(default_factory=dict)


def answer_of(cell: GateCell, processes: Iterable[Sequence[Any]], optional: str = "") -> Answer:
    """Return the answer of a cell: for each process the median of its rounds. A round that is no
    comparable number breaks the cell."""
    given = tuple(map(tuple, processes))
    values = []
    for rounds in given:
        numbers = [comparable(each, cell.metric) for each in rounds]
        if None in numbers:
            bad = repr(rounds[numbers.index(None)])[:60]
            reason = f"{cell.metric.name} must be {rule(cell.metric)}, not {bad}"
            return Answer(cell, (), Verdict.FAILED, reason, given, optional)
        values.append(middle_of([number for number in numbers if number is not None]))
    if not values:
        return fault(cell, f"has no {cell.metric.name}")
    return Answer(cell, tuple(values), None, "", given, optional)


def fault(cell: GateCell, reason: str) -> Answer:
    """Return the answer of a cell that gives no number, unlike the others of its file."""
    return Answer(cell, broken=Verdict.FAILED, reason=reason)


def add(answers: dict[str, Answer], name: str, answer: Answer) -> None:
    """Add an answer. A name that is there already makes both a fault."""
    answers[name] = answer if name not in answers else fault(answer.cell, "is there twice")


def require_any(answers: Mapping[str, Answer], path: str) -> None:
    """Raise UnusableResults for a file that gives no number at all."""
    if not answers:
        raise UnusableResults(f"{path}: holds no benchmark")
    if all(answer.broken for answer in answers.values()):
        name, first = next(iter(answers.items()))
        raise UnusableResults(f"{path}: {name}: {first.reason or first.broken}")


def in_ns(time: Any, unit: str) -> Any:
    """Return a time in nanoseconds. A value that is no number stays as it is, for the message."""
    is_number = isinstance(time, int | float) and not isinstance(time, bool)
    return time * NS[unit] if is_number else time


def mapping(value: Any) -> Mapping[str, Any]:
    """Return a JSON object; an empty one for any other value."""
    return value if isinstance(value, dict) else {}


def text(value: Any) -> str | None:
    """Return a text that is not empty; None for any other value."""
    return value if isinstance(value, str) and value else None
