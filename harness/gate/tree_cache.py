"""Work trees of revisions, each checked out and built once: the folder `trees` in the room of a
repository (`tree.room_of`).

COMMIT          the work tree
COMMIT.built    the commands and compiler flags of its build, and its path; written last: a tree
                without it is half-built, and is made again
COMMIT.log      the output of its build
COMMIT.lock     shared by the processes that use the tree, held until they end
COMMIT.rest.*   remains that could not be removed yet

All of that changes only under the lock of the whole cache, so simultaneous callers build one after
the other. A holder of that lock may wait for the lock of a tree. To avoid deadlock, a process that
has a tree never asks for the cache's lock: a call gets all its trees at once.
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

# trees; a guess, not tuned: one of this project takes 1.5 GB, of which uv shares 1.4 where it can
# make links
MAX_TREES = 8


REST_MARK = ".rest."


class TreeCache:
    """The trees under `room`. `notify` receives messages about builds and about waiting for other
    calls."""

    def __init__(self, room: Path, notify: Callable[[str], None]) -> None:
        self.room = room
        self.trees = room / "trees"
        self.notify = notify

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the lock of the cache; `tree` is only called under it. Raises RunFailed if nothing
        can be written there."""
        try:
            self.trees.mkdir(parents=True, exist_ok=True)
            # if the cache is in a repository, its git must not list this, not even as untracked
            (self.room / ".gitignore").write_text("*\n", encoding="utf-8")
            handle = open_lock(self.room / "lock")
        except OSError as error:
            raise RunFailed(f"cannot write {self.room}: {error.strerror}") from error
        try:
            take_lock(
                handle,
                lambda: self.notify(
                    f"waiting until another call has built its trees ({self.room})"
                ),
            )
            yield
        finally:
            os.close(handle)

    def tree(
        self,
        repository: Path,
        commit: str,
        prefix: str,
        commands: Sequence[Sequence[str]],
        name: str,
    ) -> Path:
        """Return the directory `prefix` of the built tree of a commit, which stays until this
        process ends. `name` is for messages.

        Raises RunFailed, including BuildFailed, if it cannot be made.
        """
        root, marker = self.trees / commit, self.trees / f"{commit}.built"
        settings = {name: os.environ[name] for name in BUILDING if name in os.environ}
        how = {
            "commands": [list(command) for command in commands],
            "root": str(root),
            "prefix": prefix,
            "settings": settings,
        }
        built = json.dumps(how)
        try:
            self._sweep(repository)
            if _text(marker) == built and asked(root, "rev-parse", "HEAD") == commit:
                os.utime(marker)  # marks it as the last used
                _share(self.trees / f"{commit}.lock")
                return root / prefix
            take_lock(
                _handle(self.trees / f"{commit}.lock"),
                lambda: self.notify(f"waiting for calls that use {root}"),
            )
            self._remove(repository, commit)
            self._make(repository, commit, prefix, commands, name)
            write_whole(marker, built.encode())
            _share(self.trees / f"{commit}.lock")
            self._evict(repository)
        except OSError as error:
            raise RunFailed(f"cannot make the tree {root}: {error.strerror}") from error
        return root / prefix

    def _make(
        self,
        repository: Path,
        commit: str,
        prefix: str,
        commands: Sequence[Sequence[str]],
        name: str,
    ) -> None:
        root = self.trees / commit
        # Forced twice: if the making of a tree was killed, git still lists it as locked. Hooks of
        # the user must not run in our trees.
        words = ("worktree", "add", "--quiet", "--force", "--force", "--detach", str(root), commit)
        git(repository, "-c", "core.hooksPath=/dev/null", *words)
        if not (root / prefix).is_dir():
            raise RunFailed(f"has no directory {prefix}")
        build(commands, root / prefix, self.trees / f"{commit}.log", self.notify, name)

    def _sweep(self, repository: Path) -> None:
        """Remove the trees of calls that were killed, or whose build failed: those without a
        marker."""
        for root in self.trees.iterdir():
            if REST_MARK in root.name:
                shutil.rmtree(root, ignore_errors=True)
            elif root.is_dir() and not self.trees.joinpath(f"{root.name}.built").exists():
                self._remove(repository, root.name)

    def _evict(self, repository: Path) -> None:
        """Remove all but the trees used last, unless a process uses them."""
        markers = sorted(
            self.trees.glob("*.built"), key=lambda marker: marker.stat().st_mtime_ns, reverse=True
        )
        for marker in markers[MAX_TREES:]:
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
        """Remove a tree, its marker first, so that its remains never count as built.

        It is moved away before, because the build of a call that was killed may still run in it and
        make files while we remove them.
        """
        self.trees.joinpath(f"{commit}.built").unlink(missing_ok=True)
        if self.trees.joinpath(commit).exists():
            rest = self.trees / f"{commit}{REST_MARK}{os.urandom(6).hex()}"
            self.trees.joinpath(commit).rename(rest)
            shutil.rmtree(rest, ignore_errors=True)
        # Forced twice: git locks a tree while it makes it. Git refuses if it knows no tree there,
        # which is fine. `prune` would also forget trees of the user whose disk is not mounted at
        # the moment.
        asked(repository, "worktree", "remove", "--force", "--force", str(self.trees / commit))


_HELD: dict[str, int] = {}
"""Handles of the locks of trees that this process uses, by file, kept until it ends."""


def _handle(lock: Path) -> int:
    """Return this process's handle of a tree's lock; it is opened if necessary."""
    if str(lock) not in _HELD:
        _HELD[str(lock)] = open_lock(lock)
    return _HELD[str(lock)]


def _share(lock: Path) -> None:
    """Take a tree's lock shared, as other users of the tree do; it replaces an exclusive hold."""
    take_lock(_handle(lock), lambda: None, shared=True)


def _text(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None
