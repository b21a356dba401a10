"""Work trees of revisions, each checked out and built once: `.millrace/gate/trees`, in the repository.

COMMIT          the work tree
COMMIT.built    by what commands and compiler's flags it was built, and where; written last: a tree without it was left
                half-built, and is made anew
COMMIT.log      what its build printed
COMMIT.lock     shared by those who use the tree, held until they end
COMMIT.rest.*   what could not be removed yet

All of that changes only under the lock of the whole cache, so that callers who come together build one after the other.
Who holds it may wait for the lock of a tree, so nobody asks for it who has a tree already: a call gets all its trees at once.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from harness.errors import RunFailed
from harness.files.lock import open_lock, take_lock
from harness.files.whole import write_whole
from harness.gate.build import build
from harness.gate.environment import BUILDING
from harness.gate.git import asked, git

KEPT = 8  # trees; a guess, not tuned: one of this project takes 1.5 GB, of which uv shares 1.4 where it can make links


REST = ".rest."


class TreeCache:
    """The trees under `room`. `notify` is told what is built, and for whom we wait."""

    def __init__(self, room: Path, notify: Callable[[str], None]) -> None:
        self.room = room
        self.trees = room / "trees"
        self.notify = notify

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the lock of the cache; `tree` is only called under it. Raises RunFailed if nothing can be written there."""
        try:
            self.trees.mkdir(parents=True, exist_ok=True)
            (self.room / ".gitignore").write_text("*\n", encoding="utf-8")  # nothing here is the user's, not even untracked
            handle = open_lock(self.room / "lock")
        except OSError as error:
            raise RunFailed(f"cannot write {self.room}: {error.strerror}") from error
        try:
            take_lock(handle, lambda: self.notify(f"waiting until another call has built its trees ({self.room})"))
            yield
        finally:
            os.close(handle)

    def tree(self, repository: Path, commit: str, prefix: str, commands: Sequence[Sequence[str]], name: str) -> Path:
        """The directory `prefix` of a built tree of a commit, which stays until this process ends. `name` is for people.

        Raises RunFailed, BuildFailed among them, if it cannot be made.
        """
        root, marker = self.trees / commit, self.trees / f"{commit}.built"
        settings = {name: os.environ[name] for name in BUILDING if name in os.environ}
        how = {"commands": [list(command) for command in commands], "root": str(root), "prefix": prefix, "settings": settings}
        built = json.dumps(how)
        try:
            self._sweep(repository)
            if _text(marker) == built and asked(root, "rev-parse", "HEAD") == commit:
                os.utime(marker)  # used last
                _share(self.trees / f"{commit}.lock")
                return root / prefix
            take_lock(_handle(self.trees / f"{commit}.lock"), lambda: self.notify(f"waiting for calls that use {root}"))
            self._remove(repository, commit)
            self._make(repository, commit, prefix, commands, name)
            write_whole(marker, built.encode())
            _share(self.trees / f"{commit}.lock")
            self._evict(repository)
        except OSError as error:
            raise RunFailed(f"cannot make the tree {root}: {error.strerror}") from error
        return root / prefix

    def _make(self, repository: Path, commit: str, prefix: str, commands: Sequence[Sequence[str]], name: str) -> None:
        root = self.trees / commit
        # Forced twice: git still knows, as locked, a tree whose making was killed. The user's hooks are not for our trees.
        words = ("worktree", "add", "--quiet", "--force", "--force", "--detach", str(root), commit)
        git(repository, "-c", "core.hooksPath=/dev/null", *words)
        if not (root / prefix).is_dir():
            raise RunFailed(f"has no directory {prefix}")
        build(commands, root / prefix, self.trees / f"{commit}.log", self.notify, name)

    def _sweep(self, repository: Path) -> None:
        """Remove the trees of calls that were killed, or whose build failed: those without a marker."""
        for root in self.trees.iterdir():
            if REST in root.name:
                shutil.rmtree(root, ignore_errors=True)
            elif root.is_dir() and not self.trees.joinpath(f"{root.name}.built").exists():
                self._remove(repository, root.name)

    def _evict(self, repository: Path) -> None:
        """Remove all but the trees used last, unless somebody uses them."""
        markers = sorted(self.trees.glob("*.built"), key=lambda marker: marker.stat().st_mtime_ns, reverse=True)
        for marker in markers[KEPT:]:
            lock = self.trees / f"{marker.stem}.lock"
            if str(lock) in _HELD:
                continue
            handle = open_lock(lock)
            try:
                take_lock(handle)
            except BlockingIOError:
                continue
            else:
                self._remove(repository, marker.stem)
                self.trees.joinpath(f"{marker.stem}.log").unlink(missing_ok=True)
                lock.unlink()
            finally:
                os.close(handle)

    def _remove(self, repository: Path, commit: str) -> None:
        """Remove a tree, its marker first, so that nobody takes what is left of it for built.

        It is moved away before: the build of a call that was killed may still run in it, and make files as we remove them.
        """
        self.trees.joinpath(f"{commit}.built").unlink(missing_ok=True)
        if self.trees.joinpath(commit).exists():
            rest = self.trees / f"{commit}{REST}{os.urandom(6).hex()}"
            self.trees.joinpath(commit).rename(rest)
            shutil.rmtree(rest, ignore_errors=True)
        # Forced twice: git locks a tree while it makes it. It refuses if it knows of none there, which is as well. Not `prune`:
        # that would forget trees of the user's, too, whose disk is not there at the moment.
        asked(repository, "worktree", "remove", "--force", "--force", str(self.trees / commit))


_HELD: dict[str, int] = {}
"""The locks of trees that this process uses, by file, with their handles: until it ends."""


def _handle(lock: Path) -> int:
    """The handle of a tree's lock that this process has, or has from now on."""
    if str(lock) not in _HELD:
        _HELD[str(lock)] = open_lock(lock)
    return _HELD[str(lock)]


def _share(lock: Path) -> None:
    """Use a tree, as others may, too; in place of holding its lock alone."""
    take_lock(_handle(lock), lambda: None, shared=True)


def _text(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None
