"""What a file of results says of one side, whichever program wrote it."""

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
    """What a file says of a cell: `values` [the metric's unit], one a process, or why there are none."""

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
    tells: frozenset[str] | None = None  # of a host, the facts that files of this kind tell as others do; None: all
    stopped: bool = False  # how many samples there are may follow from their values, as of a verdict
    notes: tuple[str, ...] = field(default=())
    digest: str = ""  # of its content: two files with the same one are one measurement
    measured_at: datetime | None = None  # None: it does not say
    may_be_in_turns: bool = False  # outputs may be appended to it, with the other side measured in between


def answer_of(cell: Cell, processes: Iterable[Sequence[Any]]) -> Answer:
    """What a file says of a cell: of each process the median of its rounds. A round that is no number to compare breaks it."""
    values = []
    for rounds in processes:
        numbers = [comparable(each, cell.metric) for each in rounds]
        if None in numbers:
            bad = repr(rounds[numbers.index(None)])[:60]
            return fault(cell, f"{cell.metric.name} must be {rule(cell.metric)}, not {bad}")
        values.append(middle_of([number for number in numbers if number is not None]))
    return Answer(cell, tuple(values)) if values else fault(cell, f"has no {cell.metric.name}")


def fault(cell: Cell, reason: str) -> Answer:
    """A cell that gives no number, unlike the others of its file."""
    return Answer(cell, broken=Verdict.FAILED, reason=reason)


def add(answers: dict[str, Answer], name: str, answer: Answer) -> None:
    """One more; a name that is there already is a fault of both."""
    answers[name] = answer if name not in answers else fault(answer.cell, "is there twice")


def require_any(answers: Mapping[str, Answer], path: str) -> None:
    """Raise UnusableResults for a file that gives no number at all."""
    if not answers:
        raise UnusableResults(f"{path}: holds no benchmark")
    if all(answer.broken for answer in answers.values()):
        name, first = next(iter(answers.items()))
        raise UnusableResults(f"{path}: {name}: {first.reason or first.broken}")


def mapping(value: Any) -> Mapping[str, Any]:
    """An object of JSON; an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def text(value: Any) -> str | None:
    """A text that says something; None for anything else."""
    return value if isinstance(value, str) and value else None
