"""Parts that a work tree lacks although git calls it complete: submodules and files of Git LFS,
which other commands fetch."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from harness.gate.git import asked

# first bytes of a pointer file, which stands for another file
POINTER = b"version https://git-lfs.github.com/spec/"
GITLINK = "160000"  # mode of a submodule in git's index
NAMED = 3  # names in a note; the others are counted


def missing(directory: Path) -> Iterator[str]:
    """Yield a text for each kind of part that is missing from the directory's work tree. Nothing if
    it is in no work tree."""
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
