"""The layers of the project: imports form no cycle, and follow the table in docs/how-to/extending.md.

All imports count: of a module, inside functions, for type checkers alone, and cimports. Modules
that are imported by a name in a string do not. Each name of a class is defined once.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest

from harness.files.closure import IMPORT

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("harness", "topologies")
KINDS = (".py", ".pyx", ".pxi", ".pxd", ".smk")

BACKWARD = {
    # a run of a peer begins like any other one, in the measuring process
    ("harness.measurement.child", "harness.peers.measure"),
    # the script in a bundle is a process that calls the command line
    ("harness.bundle.measure", "harness.cli"),
}
"""Imports that may go against the order of the table."""

CLASS = re.compile(r"^[ \t]*(?:cdef[ \t]+)?class[ \t]+(\w+)", re.M)

Imports = Mapping[str, frozenset[str]]


# -- the imports -----------------------------------------------------------------------------------


def module_of(path: Path) -> str:
    """Return the dotted name of the module in a file, relative to the root."""
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported(text: str, is_python: bool) -> Iterator[tuple[str, list[str]]]:
    """Yield each module that a source imports, and the names from it."""
    if not is_python:
        for module, _, what in IMPORT.findall(text):
            names = [part.split()[0] for part in what.strip("()").split(",") if part.split()]
            yield from [(module, names)] if module else [(name, []) for name in names]
        return
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from ((alias.name, []) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.module and not node.level, f"a relative import in line {node.lineno}"
            yield node.module, [alias.name for alias in node.names]


@cache
def sources() -> dict[str, list[Path]]:
    """Return the files of each module of the project: a compiled one may have two."""
    found: dict[str, list[Path]] = {}
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*")):
            if path.suffix in KINDS:
                found.setdefault(module_of(path.relative_to(ROOT)), []).append(path)
    return found


@cache
def imports() -> Imports:
    """Return the modules of the project that each module imports."""
    found: dict[str, frozenset[str]] = {}
    for module, paths in sources().items():
        ours: set[str] = set()
        for path in paths:
            for source, names in imported(path.read_text(encoding="utf-8"), path.suffix == ".py"):
                inside = [f"{source}.{name}" for name in names if f"{source}.{name}" in sources()]
                ours.update(inside)
                if source in sources() and (not names or len(inside) < len(names)):
                    ours.add(source)
        found[module] = frozenset(ours - {module})
    return found


# -- the rules -------------------------------------------------------------------------------------


def cycles(graph: Imports) -> list[list[str]]:
    """Return the groups of modules that import each other, directly or not; each sorted."""
    reached = {module: _reached(graph, module) for module in graph}
    groups = {
        frozenset(each for each in reached[module] if module in reached.get(each, ()))
        for module in graph
        if module in reached[module]
    }
    return sorted(sorted(group) for group in groups)


def _reached(graph: Imports, start: str) -> set[str]:
    """Return what a module imports, directly or not; itself too if it is part of a cycle."""
    found: set[str] = set()
    todo = [start]
    while todo:
        new = graph.get(todo.pop(), frozenset()) - found
        found |= new
        todo += new
    return found


def rows_of(table: str) -> dict[str, int]:
    """Return the row of each path in the first column of a table; a folder ends in a slash."""
    first = [line.split("|")[1] for line in table.splitlines() if line.startswith("|")]
    return {path: row for row, cell in enumerate(first) for path in re.findall(r"`([^`]+)`", cell)}


def row_of(rows: Mapping[str, int], path: Path) -> int | None:
    """Return the row of a file: its own, or that of the nearest folder that has one."""
    own = [path.with_suffix(kind) for kind in KINDS]
    above = (f"{folder}/" for folder in path.parents)
    return next((rows[name] for name in [*map(str, own), *above] if name in rows), None)


@cache
def order() -> dict[str, int | None]:
    """Return the row of each module of the project in docs/how-to/extending.md."""
    text = (ROOT / "docs/how-to/extending.md").read_text(encoding="utf-8")
    rows = rows_of(text.partition("## Where things are")[2].partition("\n## ")[0])
    return {module: row_of(rows, paths[0].relative_to(ROOT)) for module, paths in sources().items()}


def test_each_module_has_a_row_in_the_table():
    assert len(sources()) > 400
    assert [module for module, row in order().items() if row is None] == []


def test_no_modules_import_each_other_in_a_cycle():
    assert cycles(imports()) == []


def test_no_import_goes_against_the_order_of_the_table():
    row = order()
    backward = {
        (one, other)
        for one, others in imports().items()
        for other in others
        if row[one] < row[other]
    }
    assert backward == BACKWARD


def class_names(text: str, is_python: bool) -> list[str]:
    """Return the names of the classes that a source defines."""
    if not is_python:
        return CLASS.findall(text)
    return [node.name for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ClassDef)]


def shared_names(texts: Mapping[str, tuple[str, bool]]) -> dict[str, list[str]]:
    """Return the class names that are defined more than once, with the modules that define them.

    `texts`: by module, the text, and whether it is Python.
    """
    modules: dict[str, list[str]] = {}
    for module, (text, is_python) in texts.items():
        for name in class_names(text, is_python):
            modules.setdefault(name, []).append(module)
    return {name: found for name, found in modules.items() if len(found) > 1}


def test_each_name_of_a_class_is_defined_once():
    paths = [
        path
        for package in (*PACKAGES, "studies")
        for path in sorted((ROOT / package).rglob("*"))
        if path.suffix in (".py", ".pyx")
    ]
    texts = {
        module_of(path.relative_to(ROOT)): (path.read_text(encoding="utf-8"), path.suffix == ".py")
        for path in paths
    }
    assert len(texts) > 400
    assert shared_names(texts) == {}


# -- the rules can fail ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "is_python", "found"),
    [
        ("import harness.a", True, [("harness.a", [])]),
        ("def f():\n    from harness.a import b, c as d", True, [("harness.a", ["b", "c"])]),
        ("if TYPE_CHECKING:\n    from harness import a", True, [("harness", ["a"])]),
        ("from harness.a cimport (\n    b,\n    c as d,\n)", False, [("harness.a", ["b", "c"])]),
        ("cimport harness.a\n    import harness.b", False, [("harness.a", []), ("harness.b", [])]),
    ],
)
def test_imports_of_all_kinds_are_found(source, is_python, found):
    assert list(imported(source, is_python)) == found


def test_a_cycle_is_found_and_what_leads_into_it_is_not_part_of_it():
    graph = {"a": "b", "b": "c", "c": "b", "d": "", "e": "f", "f": "g", "g": "e"}
    assert cycles({one: frozenset(others) for one, others in graph.items()}) == [
        ["b", "c"],
        ["e", "f", "g"],
    ]


def test_a_file_with_a_row_of_its_own_does_not_count_with_its_folder():
    rows = rows_of(
        "| where | what |\n|---|---|\n| `a/b/c.pyx` | x |\n| `a/`, `d/` | y |\n| `a/b/__init__.py` "
        "| z |\n"
    )
    found = {
        name: row_of(rows, Path(name))
        for name in ("a/b/c.pxd", "a/b/e.py", "a/b/__init__.py", "d/f.py", "g/h.py")
    }
    assert found == {
        "a/b/c.pxd": 2,
        "a/b/e.py": 3,
        "a/b/__init__.py": 4,
        "d/f.py": 3,
        "g/h.py": None,
    }


def test_a_name_of_two_classes_is_found_in_python_and_in_cython():
    texts = {
        "a.b.c": ("class One:\n    class Inner: ...\n", True),
        "a.b.d": ("cdef class One:\n    pass\nclass Two:\n    pass\n", False),
        "e.f.g": ("def f():\n    class Inner: ...\n", True),
    }
    assert shared_names(texts) == {"One": ["a.b.c", "a.b.d"], "Inner": ["a.b.c", "e.f.g"]}
