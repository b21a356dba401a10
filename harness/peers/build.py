"""`make peers`: build every peer that this machine has the tools for, or those named. `python -m
harness.peers.build [NAME …]`

A missing tool is one line and no error. A failed build is an error in one line, and the other
builds go on.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Sequence

from harness.errors import RunFailed, UserError
from harness.peers import all_peers, find_peer
from harness.peers.peer import Peer


def build(peers: Sequence[Peer]) -> int:
    """Build the peers, each folder once, and print the result of each; return the number of
    failures.
    """
    failed = 0
    for folder in dict.fromkeys(peer.folder for peer in peers):
        named = [peer for peer in peers if peer.folder == folder]
        names = ", ".join(peer.name for peer in named)
        lacking = named[0].missing
        if lacking is not None:
            print(
                f"{names}: {lacking.command}: not found; apt install {lacking.package}", flush=True
            )
            continue
        try:
            print(f"{names}: {named[0].make()}", flush=True)
        except RunFailed as error:
            failed += 1
            print(f"{names}: could not be built: {error}", flush=True)
    return failed


def main(names: Sequence[str]) -> int:
    """Build the peers named, or all; returns the exit code."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        return min(build([find_peer(name) for name in names] or list(all_peers().values())), 1)
    except UserError as error:
        print(f"millrace: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("millrace: interrupted", file=sys.stderr)
        return 128 + signal.SIGINT


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
