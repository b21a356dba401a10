"""One workflow at a time in a working directory.

Snakemake's own lock is a file that a killed workflow leaves behind, and that a user must then
remove by hand. This lock belongs to the process: the system releases it however the process ends.
"""

from __future__ import annotations

import os
from pathlib import Path

from harness.errors import RunFailed
from harness.files.lock import open_lock, sign, signer, take_lock

LOCK = Path(".millrace/workflow.lock")

# descriptors, kept open until the process ends: the command and the Snakefile both ask for the lock
_held: dict[Path, int] = {}


def hold_lock() -> None:
    """Take the lock of the working directory, for as long as this process lives; does nothing if
    the process has it already.

    Raises RunFailed if another process holds it, or if the lock file cannot be made.
    """
    path = LOCK.absolute()
    if path in _held:
        return
    try:
        path.parent.mkdir(exist_ok=True)
        handle = open_lock(path)
    except OSError as error:
        raise RunFailed(f"cannot open the lock file {path}: {error.strerror}") from error
    try:
        take_lock(handle)
    except BlockingIOError:
        holder = signer(handle)
        os.close(handle)
        raise RunFailed(
            f"another workflow is running here (process {holder}, lock {path})"
        ) from None
    sign(handle)
    _held[path] = handle
