"""Faults that are planted in copies of the runtime's headers, for the explorer of interleavings
(tests/native/explore.hpp) to find.

A copy has all of them: a statement or an expression becomes a choice by a number, which the program
reads from the environment. So each program is compiled once, also for what the headers do without a
fault, and the shipped headers keep no switches.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import dataclass
from os import environ
from pathlib import Path

from tests import compiler

ROOT = Path(__file__).parents[2]
HEADERS = ROOT / "harness" / "native"
PROGRAMS = ROOT / "tests" / "native"

SWITCH = """#include <cstdlib>
inline bool planted(int fault) {
  static const char* const wanted = std::getenv("PLANTED");
  static const int number = wanted == nullptr ? -1 : std::atoi(wanted);
  return number == fault;
}
"""


@dataclass(frozen=True)
class Edit:
    """A place in a file: what stands there, whatever its comments and spaces, and the fault."""

    file: str
    before: str
    after: str

    @property
    def is_statement(self) -> bool:
        return self.before.rstrip().endswith((";", "}"))


@dataclass(frozen=True)
class Fault:
    """A fault, the scenario that shows it within so many surprises, and how the failure begins.

    `by_chance`: random runs find it soon, and a search would take long.
    """

    scenario: str
    failure: str
    edits: tuple[Edit, ...]
    surprises: int = 2
    by_chance: bool = False


def compile_program(program: str, folder: Path, *, planted: dict[str, Fault] | None = None) -> Path:
    """The program on the shipped headers, or on copies with the faults."""
    made = folder / (f"{program}_planted" if planted else program)
    words = [*compiler.of_cxx(), "-std=c++20", "-o", str(made)]
    if planted is None:
        words += [
            "-O1",
            "-Wall",
            "-Wextra",
            "-Werror",
            f"-I{HEADERS}",
            str(PROGRAMS / f"{program}.cpp"),
        ]
    else:
        copies = folder / f"{program}_copies"
        plant(list(planted.values()), program, copies)
        words += ["-O1", "-include", str(copies / "switch.hpp"), str(copies / f"{program}.cpp")]
    subprocess.run(words, check=True)
    return made


def explore(made: Path, *words: object, fault: int | None = None) -> tuple[int, str]:
    """The exit code of the program, and what it printed."""
    done = subprocess.run(
        [str(made), *map(str, words)],
        env={**environ, "PLANTED": str(-1 if fault is None else fault)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in (0, 1), done.stdout[-2000:] + done.stderr
    return done.returncode, done.stdout


def plant(faults: list[Fault], program: str, copies: Path) -> None:
    """Write copies of all headers and of the program, with the faults.

    A header includes those beside it, so a copy that has faults is not found from the shipped ones.
    """
    shutil.copytree(HEADERS, copies)
    for header in PROGRAMS.glob("*.hpp"):
        shutil.copy(header, copies)
    shutil.copy(PROGRAMS / f"{program}.cpp", copies)
    (copies / "switch.hpp").write_text(SWITCH)
    places: dict[str, dict[str, list[tuple[int, Edit]]]] = {}
    for number, fault in enumerate(faults):
        for edit in fault.edits:
            places.setdefault(edit.file, {}).setdefault(edit.before, []).append((number, edit))
    for file, by_text in places.items():
        text = without_comments((copies / file).read_text())
        spans = {}
        for before in by_text:
            pattern = r"\s*".join(re.escape(token) for token in re.findall(r"\w+|[^\w\s]", before))
            found = [match.span() for match in re.finditer(pattern, text)]
            assert len(found) == 1, f"{file} has this {len(found)} times: {before}"
            spans[found[0]] = by_text[before]
        for (start, end), edits in sorted(spans.items(), reverse=True):
            text = text[:start] + with_choice(text[start:end], edits) + text[end:]
        (copies / file).write_text(text)


def with_choice(shipped: str, edits: list[tuple[int, Edit]]) -> str:
    choice = shipped
    for number, edit in edits:
        if edit.is_statement:
            choice = f"if (planted({number})) {{ {edit.after} }} else {{ {choice} }}"
        else:
            choice = f"(planted({number}) ? ({edit.after}) : ({choice}))"
    return choice


def without_comments(text: str) -> str:
    return re.sub(r"//[^\n]*", "", text)
