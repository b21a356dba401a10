"""One measuring process at a time on a machine: two would measure each other.

The lock is a file in the temporary directory, one a user. The system releases it when its holder dies, however it dies.
"""

from __future__ import annotations

import fcntl
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from harness.errors import RunFailed


def lock_path() -> Path:
    """Where the lock of this user is."""
    return Path(tempfile.gettempdir(), f"millrace-{os.getuid()}.lock")


def say_on_stderr(notice: str) -> None:
    """The default way to tell that we wait."""
    print(notice, file=sys.stderr, flush=True)


@contextmanager
def measuring_lock(notify: Callable[[str], None] = say_on_stderr, path: Path | None = None) -> Iterator[None]:
    """Hold the lock; if another process has it, say so once through `notify` and wait.

    Raises RunFailed if the lock file cannot be opened. Not re-entrant: a process that holds it would wait for itself.
    """
    path = path or lock_path()
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise RunFailed(f"cannot open the lock file {path}: {error.strerror}") from error
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(handle, 20, 0).decode(errors="replace").strip()
            notify(f"waiting until process {holder or '(unknown)'} has finished measuring (lock {path})")
            fcntl.flock(handle, fcntl.LOCK_EX)
        with suppress(OSError):  # a full disk: the name is only for the notice
            os.ftruncate(handle, 0)
            os.pwrite(handle, f"{os.getpid()}\n".encode(), 0)
        yield
    finally:
        os.close(handle)  # and with it the lock
