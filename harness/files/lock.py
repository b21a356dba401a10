"""Locks on files that belong to a process: the system releases them when it ends, however it ends
(flock(2)).

A handle is a descriptor of the file; closing it releases the lock.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path


def open_lock(path: Path) -> int:
    """Return the handle of a lock's file, which is made if necessary; a link in its place is not
    followed. Raises OSError.
    """
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o666)


def take_lock(
    handle: int, waiting: Callable[[], None] | None = None, *, shared: bool = False
) -> None:
    """Hold the lock alone, or shared with others, in place of the way in which this handle holds it
    already.

    If another process has it, this calls `waiting` and waits. Raises BlockingIOError instead if
    `waiting` is None.
    """
    kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
    try:
        fcntl.flock(handle, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        if waiting is None:
            raise
        waiting()
        fcntl.flock(handle, kind)


def sign(handle: int) -> None:
    """Write this process's number into the lock's file."""
    with suppress(OSError):  # a full disk, or another user's file: the number is only for a notice
        os.ftruncate(handle, 0)
        os.pwrite(handle, f"{os.getpid()}\n".encode(), 0)


def signer(handle: int) -> str:
    """Return the number of the process that has signed last, as text."""
    return os.pread(handle, 20, 0).decode(errors="replace").strip() or "unknown"
