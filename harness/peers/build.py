"""`make peers`: build every peer that this machine has the tools for, or those named. `python -m
harness.peers.build [NAME …]`

A missing tool is one line and no error. A failed build is an error in one line, and the other
builds go on. Only one process builds at a time; another one waits.

This module and `harness.peers` load little, as Python prints a traceback if Ctrl-C comes before
`main` begins.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

from harness.errors import RunFailed, UserError
from harness.peers import all_peers, find_peer
from harness.terminal.output import tell

if TYPE_CHECKING:
    from pathlib import Path

    from harness.peers.peer import Peer

LOCK = "building.lock"
"""File in the folder of all builds."""


def build(peers: Sequence[Peer]) -> int:
    """Build the peers, each folder once, and print the result of each; return the number of
    failures.

    Raises RunFailed if the folder of builds cannot be written.
    """
    with _alone():
        return sum(
            _failed([peer for peer in peers if peer.folder == folder])
            for folder in dict.fromkeys(peer.folder for peer in peers)
        )


def _failed(peers: Sequence[Peer]) -> bool:
    """Build the peers of one folder, and print the result; return True if that failed."""
    names, built = ", ".join(peer.name for peer in peers), peers[0]
    result, failed = "", False
    try:
        lacking = built.missing
        if lacking is None:
            result = built.make()
        else:
            result = f"{lacking.command}: not found; apt install {lacking.package}"
    except RunFailed as error:
        result, failed = f"could not be built: {error}", True
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        result, failed = f"could not be built: {where}{error.strerror or error}", True
    print(f"{names}: {result}", flush=True)
    return failed


@contextmanager
def _alone() -> Iterator[None]:
    """Hold the lock on the folder of builds; say so if another process has it, and wait."""
    from harness.files.lock import open_lock, sign, take_lock
    from harness.peers import peer

    path = peer.BUILD_FOLDER / LOCK
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = open_lock(path)
    except OSError as error:
        raise RunFailed(f"cannot open the lock file {path}: {error.strerror}") from error
    try:
        take_lock(handle, partial(_tell_waiting, path, handle))
        sign(handle)
        yield
    finally:
        os.close(handle)  # and with it the lock


def _tell_waiting(path: Path, handle: int) -> None:
    from harness.files.lock import signer

    tell(f"millrace: waiting until process {signer(handle)} has built peers (lock {path})")


def main(names: Sequence[str]) -> int:
    """Build the peers named, or all; returns the exit code."""
    try:
        from harness.cli.ending import ended_like_ctrl_c

        with ended_like_ctrl_c():
            return min(build([find_peer(name) for name in names] or list(all_peers().values())), 1)
    except UserError as error:
        tell(f"millrace: {error}")
        return 2
    except RunFailed as error:
        tell(f"millrace: {error}")
        return error.exit_code
    except KeyboardInterrupt:
        from harness.cli.ending import exit_code

        tell("millrace: interrupted")
        exec("")  # as in `harness.cli`: else CPython ends with the signal
        return exit_code()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
