"""The files that each side loads, and a check that the sides do not load one tree. An editable
install, a `.pth` file or an absolute path among the libraries makes base and head the same code,
and then every verdict is a meaningless "ok".

Each program is rehearsed once on each side, before anything is measured: Python processes record
the modules that they load (`probe/sitecustomize.py`), and the dynamic linker of glibc records
programs and shared objects (LD_DEBUG). Two things are not seen: files that other interpreters read,
and modules of a Python process that ignores its environment (`python -I`).
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from harness.errors import UserError
from harness.gate.cell import COUNT, USE, Program
from harness.gate.git import asked
from harness.gate.probe.sitecustomize import PATHS_VARIABLE, PROBE_FOLDER
from harness.gate.sample import take
from harness.gate.suite import Suite
from harness.gate.toolchain import differences, toolchain
from harness.gate.tree import Role, Tree

OTHER: Mapping[Role, Role] = {"base": "head", "head": "base"}
LINKED = re.compile(rb"^\s*\d+:\s+(?:calling init|initialize program): (.+?)\s*$", re.M)
INSTALLED = frozenset({"site-packages", "dist-packages"})
MAX_LISTED_FILES = 50  # files of a kind in the verdict's file; the counts there are of all files
NAMED = 2  # files named in a message


@dataclass(frozen=True)
class Loaded:
    """The files that the processes of one side loaded: of its own tree and of the other side's
    (relative to the trees), and elsewhere."""

    root: Path
    own: frozenset[str]
    other: frozenset[str]
    elsewhere: frozenset[str]
    foreign: frozenset[str]  # those of `other` whose name exists in the side's own tree too
    installed: frozenset[str]  # those of `elsewhere` that are copies of a module in the side's tree
    by_python: bool  # True if a Python process recorded its modules

    def entry(self) -> dict[str, Any]:
        """Return the entry for the verdict's file. Files installed in a tree come after its own
        code."""
        kinds = {"own": self.own, "other": self.other, "elsewhere": self.elsewhere}
        counts = {kind: len(files) for kind, files in kinds.items()}
        files = {
            kind: sorted(found, key=_last_installed)[:MAX_LISTED_FILES]
            for kind, found in kinds.items()
            if kind != "elsewhere"
        }
        return {"root": str(self.root), "counts": counts, "files": files}


def rehearse(trees: Mapping[Role, Tree], suite: Suite) -> dict[Role, Loaded]:
    """Run each program once in each tree and return the files it loaded. A program that fails here
    does no harm."""
    roots = _roots(trees)
    found: dict[Role, Loaded] = {}
    for role, tree in trees.items():
        paths: set[Path] = set()
        by_python = False
        for program in suite.programs:
            # without the tool that counts instructions, whose files are not the program's
            plain = replace(program, answers=USE) if program.answers == COUNT else program
            loaded, recorded = _run(tree, plain)
            paths |= {path for path in loaded if not _is_named(path, program)}
            by_python = by_python or recorded
        found[role] = _sorted(paths, roots[role], roots[OTHER[role]], by_python)
    return found


def problems(loaded: Mapping[Role, Loaded]) -> Iterator[str]:
    """Yield a text for each side and place that makes base and head the same code, wholly or in
    part."""
    if loaded["base"].root == loaded["head"].root:
        return
    for role, side in loaded.items():
        if side.foreign:
            yield (
                f"{role} loads {_named(side.foreign)} of {OTHER[role]}'s tree "
                f"{loaded[OTHER[role]].root}, not of its own"
            )
        if side.installed:
            yield (
                f"{role} loads {_named(side.installed)}, not what its tree {side.root} has of "
                "that name"
            )


def notes(loaded: Mapping[Role, Loaded]) -> Iterator[str]:
    """Yield other facts about loaded files that a reader of the verdict needs."""
    if loaded["base"].root == loaded["head"].root:
        return
    for role, side in loaded.items():
        more = side.other - side.foreign
        if more:
            yield f"{role} also loads {_named(more)} of {OTHER[role]}'s tree"
    if all(side.by_python and not (side.own or side.other) for side in loaded.values()):
        yield (
            "neither side loads a file of its tree, as far as can be seen: base and head may be "
            "the same code"
        )


def rehearsed(
    trees: Mapping[Role, Tree], suite: Suite, allowed: bool, notify: Callable[[str], None]
) -> tuple[dict[Role, Tree], dict[Role, Any]]:
    """Return the trees, with notes at base on code that both load and on toolchains that differ,
    and, for the verdict's file, the files that each side loads.

    Raises UserError if the sides share code and that is not `allowed`.
    """
    notify("rehearsing: which files does each side load?")
    loaded = rehearse(trees, suite)
    shared = list(problems(loaded))
    if shared and not allowed:
        why = (
            "base and head would be the same code (an editable install, a .pth file, or an "
            "absolute path?)"
        )
        raise UserError(
            f"{why}: {'; '.join(shared)}; give each tree an environment of its own, or "
            "--allow-shared-code"
        )
    if loaded["base"].root == loaded["head"].root:
        differing: tuple[str, ...] = ()
    else:
        made = {
            role: toolchain(
                tree.directory,
                tree.python,
                suite,
                (loaded[role].root / name for name in sorted(loaded[role].own)),
            )
            for role, tree in trees.items()
        }
        differing = tuple(differences(made["base"], made["head"]))
    all_notes = (*trees["base"].notes, *shared, *notes(loaded), *differing)
    base = replace(trees["base"], notes=all_notes)
    return {"base": base, "head": trees["head"]}, {
        role: side.entry() for role, side in loaded.items()
    }


def _run(tree: Tree, program: Program) -> tuple[set[Path], bool]:
    with tempfile.TemporaryDirectory(prefix="millrace-") as room:
        python, linked = Path(room, "python"), Path(room, "linked")
        take(
            tree,
            program,
            {
                "PYTHONPATH": PROBE_FOLDER,
                PATHS_VARIABLE: str(python),
                "LD_DEBUG": "files",
                "LD_DEBUG_OUTPUT": str(linked),
            },
        )
        modules = [file.read_bytes() for file in Path(room).glob("python.*")]
        objects = [file.read_bytes() for file in Path(room).glob("linked.*")]
    names = {name for text in modules for name in text.split(b"\0") if name}
    names |= {name for text in objects for name in LINKED.findall(text) if b"/" in name}
    paths = {_source(Path(tree.directory, os.fsdecode(name))) for name in names}
    return {Path(os.path.realpath(path)) for path in paths}, bool(modules)


def _source(path: Path) -> Path:
    """Return the path of a module's source, also if its compiled form was loaded."""
    if path.suffix == ".pyc" and path.parent.name == "__pycache__":
        return path.parent.parent / f"{path.name.partition('.')[0]}.py"
    return path


def _roots(trees: Mapping[Role, Tree]) -> dict[Role, Path]:
    """Return the work trees by role; for two folders in one work tree, the folders."""
    folders = {role: Path(os.path.realpath(tree.directory)) for role, tree in trees.items()}
    tops = {
        role: Path(os.path.realpath(top))
        for role, tree in trees.items()
        if tree.side.commit and (top := asked(tree.directory, "rev-parse", "--show-toplevel"))
    }
    roots = {role: tops.get(role, folder) for role, folder in folders.items()}
    return folders if roots["base"] == roots["head"] else roots


def _is_named(path: Path, program: Program) -> bool:
    """Return True if the program's words name the file, or a script in a folder above it, by an
    absolute path: then it is shared on purpose."""
    scripts = [Path(os.path.realpath(word)) for word in program.argv if Path(word).is_absolute()]
    return any(
        path == script or (script.is_file() and script.parent in path.parents) for script in scripts
    )


def _sorted(paths: set[Path], mine: Path, theirs: Path, by_python: bool) -> Loaded:
    own, other, elsewhere, foreign, installed = set(), set(), set(), set(), set()
    for path in paths:
        is_installed = not INSTALLED.isdisjoint(path.parts)
        # the deeper root first, because the tree of a revision is inside the repository
        for root in sorted((mine, theirs), key=lambda root: -len(root.parts)):
            if path.is_relative_to(root):
                break
        else:
            root = None
        if root == mine:
            own.add(str(path.relative_to(mine)))
        elif root == theirs and not is_installed:
            name = str(path.relative_to(theirs))
            other.add(name)
            if (mine / name).is_file():
                foreign.add(name)
        else:
            elsewhere.add(str(path))
            if _is_module_of(path, mine):
                installed.add(str(path))
    return Loaded(
        mine, *map(frozenset, (own, other, elsewhere, foreign, installed)), by_python=by_python
    )


def _is_module_of(path: Path, tree: Path) -> bool:
    """Return True if a tree has the module too, as part of a package at its top or in `src`."""
    if path.suffix not in (".py", ".so"):
        return False
    top = path.parent
    while (top / "__init__.py").exists():
        top = top.parent
    name = path.relative_to(top)
    return len(name.parts) > 1 and any((tree / place / name).is_file() for place in ("", "src"))


def _last_installed(file: str) -> tuple[bool, str]:
    return not INSTALLED.isdisjoint(Path(file).parts), file


def _named(files: frozenset[str]) -> str:
    first = sorted(files)[:NAMED]
    more = f" and {len(files) - len(first)} more" if len(files) > len(first) else ""
    return ", ".join(first) + more
