"""What a work tree lacks although git finds it complete: submodules and files of Git LFS are fetched by other commands."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from harness.gate.git import asked

POINTER = b"version https://git-lfs.github.com/spec/"  # with what a file begins that stands for another one
GITLINK = "160000"  # mode of a submodule in git's index
NAMED = 3  # in a note; the others are counted


def missing(directory: Path) -> Iterator[str]:
    """What is not there of the work tree that a directory is in, a text each. Nothing if it is in none."""
    top = asked(directory, "rev-parse", "--show-toplevel")
    if top is None:
        return
    absent = [name for name in _submodules(Path(top)) if not _has_files(Path(top, name))]
    if absent:
        yield f"submodules are not checked out: {_named(absent)}"
    pointers = [name for name in _of_lfs(Path(top)) if _is_pointer(Path(top, name))]
    if pointers:
        yield f"files of Git LFS are pointers, not what they point to: {_named(pointers)}"


def _submodules(top: Path) -> list[str]:
    if not (top / ".gitmodules").exists():
        return []
    entries = (asked(top, "ls-files", "--stage", "-z") or "").split("\0")
    return [entry.split("\t", 1)[1] for entry in entries if entry.startswith(GITLINK)]


def _of_lfs(top: Path) -> list[str]:
    names = asked(top, "ls-files", "-z", "--", ":(attr:filter=lfs)") or ""
    return [name for name in names.split("\0") if name]


def _has_files(directory: Path) -> bool:
    try:
        return any(directory.iterdir())
    except OSError:
        return False


def _is_pointer(file: Path) -> bool:
    try:
        with file.open("rb") as opened:
            return opened.read(len(POINTER)) == POINTER
    except OSError:
        return False


def _named(names: list[str]) -> str:
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more
