"""The files that a module depends on: all of this project whose edit can change what the module
does.

The sources are read; nothing is imported. From the modules given, the closure follows
* the imports of a Python module, those inside functions too, but none for type checkers alone;
* names of modules in strings, such as `"harness.measurement.child"`, which is started with `-m`;
* the packages of a module: an `__init__` that has only a docstring and constants counts where
  one of these is imported;
* the imports and cimports of a Cython module, and the files it is built from: `.pxd`, `.pxi`, C++
  headers and `setup.py`; and the built module;
* data: a file beside a module that a string of the module names, with or without its ending.

Imports in the text do not show everything. Two short tables add the rest: `LATE_IMPORTS` and
`FOUND_BY_NAME`.
"""

from __future__ import annotations

import ast
import hashlib
import os
import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from harness.files.places import CODE, IS_INSTALLED

ROOT = CODE
PACKAGES = ("harness", "topologies")

LATE_IMPORTS = frozenset(
    (
        "harness.runtime.engine",  # one engine or the other runs a graph,
        "harness.runtime.protocol",  # with the code that both share,
        "harness.runtime.path",
        "harness.simulator.engine",
        "harness.peers.measure",  # or another runtime runs it
        "harness.measurement.profiling",  # runs typed operators before they are simulated
        "harness.files.closure",  # it decides when a result is made, and changes none
    )
)
"""Modules that Python modules import inside a function when a run asks for them. The closure enters
those that it starts from, and no other: a result that does not name them does not depend on them.
"""

FOUND_BY_NAME = {
    "topologies": ("topologies", ".py"),
    "topologies.build": ("topologies", ".py"),
    "harness.machines.machine.load_machine": ("config/machines", ".yaml"),
    "harness.machines.software.load_software": ("config/software", ".yaml"),
}
"""Modules and functions that find a file by its name: the folder and the ending. A file counts if
the result gives its name, or if a module that imports the finder has the name in a string."""

SCHEMAS = ("config/schemas", ".schema.json")
SCHEMA_READERS = frozenset(("load_schema", "read_checked", "read_profile"))
"""Functions that are given the name of a schema."""

HEADERS = ("harness/runtime/native", "harness/native")
MORE_HEADERS = {"applications": ("harness/operators/native", *HEADERS)}
"""Folders of headers besides `native` beside a Cython module, in the order of `setup.py`; by the
module's folder."""

CODE_ENDINGS = frozenset((".py", ".pyx", ".pxd", ".pxi", ".so", ".md"))
"""Endings of files that are no data of the module beside them."""


@dataclass(frozen=True)
class Source:
    """One module, described by its text."""

    files: frozenset[Path]  # the module itself, the files it is built from, and data
    imports: frozenset[str]  # modules of this project
    asked: frozenset[str] = frozenset()  # the `LATE_IMPORTS` among them
    finders: frozenset[str] = frozenset()  # keys of `FOUND_BY_NAME` that it imports
    strings: frozenset[str] = frozenset()


@cache
def closure(*modules: str, names: frozenset[str] = frozenset()) -> frozenset[Path]:
    """Return the files that these modules depend on; `names`: names that the result looks up by
    `FOUND_BY_NAME`.
    """
    files: set[Path] = set()
    seen = set(modules).union(*map(_packages, modules))
    todo = list(seen)
    while todo:
        source = _source(todo.pop())
        found = {
            path
            for finder in source.finders
            for path in _named(*FOUND_BY_NAME[finder], source.strings | names)
        }
        files |= source.files | found
        further = source.imports | {_module_of(path) for path in found if path.suffix == ".py"}
        further -= seen | source.asked
        todo += further
        seen |= further
    return frozenset(files)


def strings(module: str) -> frozenset[str]:
    """Return the strings in a Python module."""
    return _source(module).strings


def digest(files: Iterable[Path]) -> str:
    """Return a digest of the names and contents of files."""
    whole = hashlib.sha256()
    for path in sorted(files):
        content = hashlib.sha256(path.read_bytes()).hexdigest()
        whole.update(f"{content} {path.relative_to(ROOT)}\n".encode())
    return whole.hexdigest()


# -- modules -------------------------------------------------------------------------------------


@cache
def _path(module: str) -> Path | None:
    """Return the source of a module of this project; None if there is no such module."""
    if module.partition(".")[0] not in PACKAGES:
        return None
    place = ROOT.joinpath(*module.split("."))
    candidates = (place / "__init__.py", place.with_suffix(".py"), place.with_suffix(".pyx"))
    return next((path for path in candidates if path.is_file()), None)


def _module_of(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts)


@cache
def _source(module: str) -> Source:
    """Return the source of a module, which must exist."""
    path = _path(module)
    if path is None:
        raise ValueError(f"no module is named {module!r}")
    return _cython(path) if path.suffix == ".pyx" else _python(path)


def _packages(module: str) -> list[str]:
    """Return the packages above a module whose `__init__` is not passive."""
    parts = module.split(".")
    above = [".".join(parts[:end]) for end in range(1, len(parts))]
    return [package for package in above if _path(package) and not _is_passive(package)]


@cache
def _is_passive(package: str) -> bool:
    """Return True if an `__init__` has only a docstring and constants, which no submodule uses."""
    path = _path(package)
    assert path is not None
    active = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef, ast.Call)
    return not any(isinstance(node, active) for node in ast.walk(_parsed(path)))


def _imported(module: str, names: Collection[str] = ()) -> Iterator[str]:
    """Yield the modules that `import module` executes, or `from module import names`."""
    inside = [f"{module}.{name}" for name in names]
    found = [each for each in inside if _path(each)]
    declared = [
        each
        for each in inside
        if not _path(each) and ROOT.joinpath(*each.split(".")).with_suffix(".pxd").is_file()
    ]
    if _path(module) and (not inside or len(found) + len(declared) < len(inside)):
        yield module
    yield from found
    if LATE_IMPORTS.isdisjoint([*found, module]):
        for each in [*found, module]:
            yield from _packages(each)


# -- Python --------------------------------------------------------------------------------------


def _parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), path)


def _executed(tree: ast.Module) -> Iterator[ast.AST]:
    """Yield the nodes of a module, except those under `if TYPE_CHECKING`."""
    todo: list[ast.AST] = [tree]
    while todo:
        node = todo.pop()
        yield node
        if (
            isinstance(node, ast.If)
            and isinstance(node.test, ast.Name)
            and node.test.id == "TYPE_CHECKING"
        ):
            todo += node.orelse
        else:
            todo += ast.iter_child_nodes(node)


def _python(path: Path) -> Source:
    imports: set[str] = set()
    words: set[str] = set()  # imported, by their full names
    strings: set[str] = set()
    schemas: set[str] = set()
    for node in _executed(_parsed(path)):
        match node:
            case ast.Constant(value=str(text)):
                strings.add(text)
            case ast.Import():
                for alias in node.names:
                    imports.update(_imported(alias.name))
                    words.add(alias.name)
            case ast.ImportFrom(module=str(module)):
                names = [alias.name for alias in node.names]
                imports.update(_imported(module, names))
                words.update(f"{module}.{name}" for name in names)
            case ast.Call(func=ast.Name(id=function)) if function in SCHEMA_READERS:
                schemas.update(
                    str(each.value) for each in node.args if isinstance(each, ast.Constant)
                )
    schemas.update(text.removesuffix(SCHEMAS[1]) for text in strings if text.endswith(SCHEMAS[1]))
    for text in strings:
        if "." in text and (source := _path(text)) and source.name != "__init__.py":
            imports.update(_imported(text))
    data = (each for each in _data(path.parent) if each.name in strings or each.stem in strings)
    return Source(
        files=frozenset((path, *data, *_named(*SCHEMAS, schemas))),
        imports=frozenset(imports),
        asked=LATE_IMPORTS & imports,
        finders=FOUND_BY_NAME.keys() & words,
        strings=frozenset(strings),
    )


@cache
def _data(folder: Path) -> tuple[Path, ...]:
    return tuple(
        path for path in folder.iterdir() if path.is_file() and path.suffix not in CODE_ENDINGS
    )


def _named(folder: str, ending: str, names: Collection[str]) -> list[Path]:
    return [path for name, path in _files(folder, ending) if name in names]


@cache
def _files(folder: str, ending: str) -> list[tuple[str, Path]]:
    """Return the files of a folder with their names: without the ending, and with hyphens, as users
    write them.
    """
    place = ROOT / "harness" if IS_INSTALLED and folder.startswith("config/") else ROOT
    paths = sorted((place / folder).glob(f"*{ending}"))
    return [(path.name.removesuffix(ending).replace("_", "-"), path) for path in paths]


# -- Cython and C++ ------------------------------------------------------------------------------

IMPORT = re.compile(
    r"^[ \t]*(?:from[ \t]+([\w.]+)[ \t]+)?(c?import)[ \t]+(\([^)]*\)|[^\n#]*)", re.M
)
EXTERN = re.compile(r'^[ \t]*cdef extern from "([^"]+)"', re.M)
PART = re.compile(r'^include "([^"]+)"', re.M)
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"]+)"', re.M)


def _cython(path: Path) -> Source:
    """Return a Cython module: its imports, and all files that it is compiled from."""
    declared = _declarations(path)
    own = [_imports(text) for text in (path, path.with_suffix(".pxd"), *_parts(path))]
    folders = (
        path.parent / "native",
        *(ROOT / each for each in MORE_HEADERS.get(path.parent.name, HEADERS)),
    )
    headers: set[Path] = set()
    todo = [(name, source.parent) for source in declared for name in _matches(EXTERN, source)]
    while todo:
        name, folder = todo.pop()
        header = next((each for each in _places(name, folder, folders) if each.is_file()), None)
        if header is not None and header not in headers:
            headers.add(header)
            todo += [(each, header.parent) for each in _matches(INCLUDE, header)]
    built = path.parent.glob(f"{path.stem}.*so")
    recipes = [each for each in (ROOT / "setup.py",) if each.is_file()]
    return Source(
        files=frozenset((*recipes, *declared, *headers, *built)),
        imports=frozenset(
            each
            for imports in own
            for _, module, names in imports
            for each in _imported(module, names)
        ),
    )


def _declarations(path: Path) -> set[Path]:
    """Return a Cython file, its parts, its own `.pxd`, those that it cimports, and so on."""
    found: set[Path] = set()
    todo = [path, path.with_suffix(".pxd"), *_parts(path)]
    while todo:
        source = todo.pop()
        if source not in found and source.is_file():
            found.add(source)
            for kind, module, names in _imports(source):
                places = (
                    [module, *(f"{module}.{name}" for name in names)] if kind == "cimport" else []
                )
                todo += [ROOT.joinpath(*place.split(".")).with_suffix(".pxd") for place in places]
    return found


def _parts(path: Path) -> list[Path]:
    """Return the files that a Cython module includes: it is compiled with them as one unit."""
    return [path.parent / name for name in _matches(PART, path)]


@cache
def _imports(path: Path) -> list[tuple[str, str, tuple[str, ...]]]:
    """Return the imports and cimports of a Cython file: the kind, the module, and the names from
    it.

    A cimport executes the module as well, if it is more than declarations.
    """
    found: list[tuple[str, str, tuple[str, ...]]] = []
    for source, kind, what in _matches(IMPORT, path):
        names = tuple(part.split()[0] for part in what.strip("()").split(",") if part.split())
        found += [(kind, source, names)] if source else [(kind, name, ()) for name in names]
    return found


def _places(name: str, folder: Path, folders: Iterable[Path]) -> Iterator[Path]:
    """Yield the places where the compiler looks for a header that a file in a folder includes."""
    return (Path(os.path.normpath(place / name)) for place in (folder, *folders))


@cache
def _matches(pattern: re.Pattern[str], path: Path) -> list[Any]:
    """Return all matches in a file; none if there is no file."""
    return pattern.findall(path.read_text(encoding="utf-8")) if path.is_file() else []
