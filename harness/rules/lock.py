"""One workflow at a time in a working directory.

Snakemake's own lock is a file that a killed workflow leaves behind, and that somebody must then remove by hand. This one
belongs to the process: the system releases it however the process ends.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from harness.errors import RunFailed

LOCK = Path(".millrace/workflow.lock")

_held: dict[
    Path, int
] = {}  # descriptors, kept open until the process ends: the command and the Snakefile both ask for the lock


def hold_lock() -> None:
    """Take the lock of the working directory, for as long as this process lives; does nothing if it has it already.

    Raises RunFailed if another process holds it, or if the lock file cannot be made.
    """
    path = LOCK.absolute()
    if path in _held:
        return
    try:
        path.parent.mkdir(exist_ok=True)
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise RunFailed(f"cannot open the lock file {path}: {error.strerror}") from error
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = os.pread(handle, 20, 0).decode(errors="replace").strip()
        os.close(handle)
        raise RunFailed(f"another workflow is running here (process {holder or 'unknown'}, lock {path})") from None
    os.ftruncate(handle, 0)
    os.pwrite(handle, f"{os.getpid()}\n".encode(), 0)
    _held[path] = handle
