"""Terms for cells of files, from the key `files` of a suite: a factor, a floor, zeros, and the
direction of numbers that have none by themselves."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from harness.files.checked_yaml import read_checked
from harness.gate.cell import Metric, tail_of
from harness.gate.results.side import NO_DIRECTION, Answer, Results, answer_of

NAMED = 3  # cells named in a note; the others are counted


@dataclass(frozen=True)
class CellTerms:
    """Terms of the cells whose names match. None: as the file has it."""

    match: str
    better: str | None = None
    unit: str | None = None
    floor: float | None = None
    factor: float | None = None
    may_be_zero: bool | None = None
    deterministic: bool | None = None
    tail: str | None = None

    def of(self, metric: Metric) -> Metric:
        """Return a metric under these terms."""
        given: dict[str, Any] = {
            name: value
            for name in ("unit", "floor", "factor", "may_be_zero", "deterministic")
            if (value := getattr(self, name)) is not None
        }
        if self.tail is not None:
            given["tail"] = tail_of(self.tail)
        if self.better is not None:
            given["lower_is_better"] = self.better == "lower"
        return replace(metric, **given)


@dataclass(frozen=True)
class FileSuite:
    """The terms of a comparison of files."""

    cells: tuple[CellTerms, ...] = ()
    factor: float | None = None
    alpha: float | None = None
    title: str = ""


def load_file_suite(path: Path) -> FileSuite:
    """Load the terms from a suite. Raises UserError, in one line, for a file that breaks a rule."""
    values = read_checked(path, "gate-suite")
    cells = tuple(CellTerms(**entry) for entry in values.get("files", ()))
    return FileSuite(cells, values.get("factor"), values.get("alpha"), values.get("title", ""))


def under(results: Results, terms: Sequence[CellTerms]) -> Results:
    """Return the results under the first terms that match each cell. Optional cells stay only if
    their terms say which direction is better; a note names those without any direction."""
    answers: dict[str, Answer] = {}
    left_out = []
    for name, answer in results.answers.items():
        found = next((each for each in terms if _fits(name, each.match)), None)
        if answer.optional and (found is None or found.better is None):
            left_out += [name] if answer.optional == NO_DIRECTION else []
        else:
            answers[name] = answer if found is None else _judged(answer, found)
    return replace(results, answers=answers, notes=(*results.notes, *_notes(results, left_out)))


def _judged(answer: Answer, terms: CellTerms) -> Answer:
    cell = replace(answer.cell, metric=terms.of(answer.cell.metric))
    return answer_of(cell, answer.processes) if answer.processes else replace(answer, cell=cell)


def _notes(results: Results, left_out: Sequence[str]) -> list[str]:
    if not left_out:
        return []
    more = f" and {len(left_out) - NAMED} more" if len(left_out) > NAMED else ""
    return [
        f"{results.path}: not compared, because {NO_DIRECTION} (key `files` of a suite): "
        f"{', '.join(left_out[:NAMED])}{more}"
    ]


def differing(files: Sequence[Results]) -> list[str]:
    """Return a note for each fact in which files differ, such as the names of two machines."""
    found: list[str] = []
    for fact in dict.fromkeys(name for file in files for name in file.facts):
        values: Mapping[str, None] = dict.fromkeys(
            file.facts[fact] for file in files if fact in file.facts
        )
        if len(values) > 1:
            found.append(f"the files differ in {fact}: {', '.join(values)}")
    return found


def _fits(name: str, pattern: str) -> bool:
    """Return True if a name is the pattern, in which each * stands for any text."""
    return re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), name, re.DOTALL) is not None
