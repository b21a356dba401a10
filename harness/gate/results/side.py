"""The results of one side in a file, in a form that does not depend on the program that wrote
it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from harness.gate.cell import Cell, comparable, rule
from harness.gate.errors import UnusableResults
from harness.gate.verdict import Verdict
from harness.measurement.rank_interval import middle_of


@dataclass(frozen=True)
class Answer:
    """Values of a cell in a file (in the metric's unit, one for each process), or the reason why
    there are none."""

    cell: Cell
    values: tuple[float, ...] = ()
    broken: Verdict | None = None
    reason: str = ""


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


def answer_of(cell: Cell, processes: Iterable[Sequence[Any]]) -> Answer:
    """Return the answer of a cell: for each process the median of its rounds. A round that is no
    comparable number breaks the cell."""
    values = []
    for rounds in processes:
        numbers = [comparable(each, cell.metric) for each in rounds]
        if None in numbers:
            bad = repr(rounds[numbers.index(None)])[:60]
            return fault(cell, f"{cell.metric.name} must be {rule(cell.metric)}, not {bad}")
        values.append(middle_of([number for number in numbers if number is not None]))
    return Answer(cell, tuple(values)) if values else fault(cell, f"has no {cell.metric.name}")


def fault(cell: Cell, reason: str) -> Answer:
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


def mapping(value: Any) -> Mapping[str, Any]:
    """Return a JSON object; an empty one for any other value."""
    return value if isinstance(value, dict) else {}


def text(value: Any) -> str | None:
    """Return a text that is not empty; None for any other value."""
    return value if isinstance(value, str) and value else None
