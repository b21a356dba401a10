"""Other runtimes as arms of an experiment: they run the same graphs, under the same rules, and leave the same records.

A peer is a folder with a small program in the peer's own idiom, a recipe to build it with pinned versions, and an `adaptor.py`
that says so (`Peer`). The program is told a graph as a plan (`plan`), and asked for its counters on its standard input
(`program`). To what measures it, it is an engine (`engine`): warm-up, window, oracle and record are those of our own runs.

A folder may offer several peers: the same program with other settings. Users' page: docs/peers.md.
"""

from __future__ import annotations

import importlib
from functools import cache
from pathlib import Path

from harness.errors import UserError
from harness.files.checked_yaml import did_you_mean
from harness.peers.peer import Peer

FOLDER = Path(__file__).resolve().parent


@cache
def all_peers() -> dict[str, Peer]:
    """Every peer by its name, in alphabetical order, built or not."""
    adaptors = [
        importlib.import_module(f"{__name__}.{path.parent.name}.adaptor") for path in sorted(FOLDER.glob("*/adaptor.py"))
    ]
    return {peer.name: peer for peer in sorted((each for adaptor in adaptors for each in adaptor.PEERS), key=lambda p: p.name)}


def find_peer(name: str) -> Peer:
    """The peer called `name`. Raises UserError for an unknown name."""
    known = all_peers()
    if name not in known:
        raise UserError(f"peer {name!r} is unknown{did_you_mean(name, known)}; peers are: {', '.join(known)}")
    return known[name]
