"""Benchmarks of pytest that a suite selects by patterns: `tests/bench/test_a.py::test_*`.

Both trees are asked which benchmarks they have before anything is measured. A pattern stands for
all that match on either side, so one that head has lost is missing, as one that is listed by name.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from harness.errors import UserError
from harness.gate.cell import BENCHMARKS, GateCell, Program
from harness.gate.environment import clean_environment
from harness.gate.plugin.millrace_collect import COLLECTED_VARIABLE, PLUGIN_FOLDER
from harness.gate.session import run_session
from harness.gate.suite import PYTEST, Suite
from harness.gate.tree import Role, Tree

ANY = "*"
COLLECT = (
    "-m",
    "pytest",
    "--collect-only",
    "-q",
    "-p",
    "no:cacheprovider",
    "-p",
    "millrace_collect",
)


def with_names(suite: Suite, trees: Mapping[Role, Tree]) -> Suite:
    """Return the suite with the benchmarks that its patterns select in either tree. Raises
    UserError for a pattern that selects none."""
    programs = tuple(_named(program, trees) for program in suite.programs)
    if programs == suite.programs:
        return suite
    names = [cell.name for program in programs for cell in program.cells]
    index = [cell.name for cell in suite.cells].index(suite.control)
    before = sum(len(_matching(cell, programs)) for cell in suite.cells[:index])
    return replace(suite, programs=programs, control=names[min(before, len(names) - 1)])


def _matching(cell: GateCell, programs: Iterable[Program]) -> list[str]:
    """Return the cells that a cell of the suite has become."""
    return [
        each.name
        for program in programs
        for each in program.cells
        if each.metric == cell.metric and _pattern(cell.key).fullmatch(each.key)
    ]


def _named(program: Program, trees: Mapping[Role, Tree]) -> Program:
    if program.answers != BENCHMARKS or not any(ANY in cell.key for cell in program.cells):
        return program
    known = dict.fromkeys(name for tree in trees.values() for name in collected(tree, program))
    cells: dict[str, GateCell] = {cell.name: cell for cell in program.cells if ANY not in cell.key}
    for cell in program.cells:
        if ANY in cell.key:
            found = [name for name in known if _pattern(cell.key).fullmatch(name)]
            if not found:
                raise UserError(f"benchmarks: {cell.key!r} selects no benchmark of base or head")
            for name in found:
                cell_name = cell.name.replace(cell.key, name)
                cells.setdefault(cell_name, replace(cell, name=cell_name, key=name))
    return replace(program, cells=tuple(cells.values()))


def collected(tree: Tree, program: Program) -> Iterator[str]:
    """Yield the full names of the benchmarks that a tree's pytest collects; none if it fails."""
    words = [word.replace("{python}", tree.python) for word in program.argv[len(PYTEST) :]]
    with tempfile.TemporaryDirectory(prefix="millrace-") as room:
        file = Path(room, "collected")
        more = {"PYTHONPATH": PLUGIN_FOLDER, COLLECTED_VARIABLE: str(file)}
        argv = [tree.python, *COLLECT, *words]
        run_session(argv, tree.directory, clean_environment(more), program.timeout_s)
        text = file.read_text(encoding="utf-8") if file.exists() else ""
    yield from (name for name in text.split("\0") if name)


def _pattern(key: str) -> re.Pattern[str]:
    """Return a pattern in which `*` stands for any text, and every other character for itself:
    parameters are in square brackets."""
    return re.compile(".*".join(map(re.escape, key.split(ANY))), re.S)
