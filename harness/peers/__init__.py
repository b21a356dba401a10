"""Other runtimes as arms of an experiment: they run the same graphs, under the same rules, and
leave the same records.

A peer is a folder with a small program in the peer's own idiom, a recipe to build it with pinned
versions, and an `adaptor.py` that describes both (`Peer`). The program reads a graph as a plan
(`plan`), and answers requests for its counters on its standard input (`program`). The code that
measures it sees an engine (`engine`): warm-up, window, oracle and record are those of our own runs.

A folder may offer several peers: its program with different settings, named `FOLDER` or
`FOLDER-SETTINGS`. Users' page: docs/how-to/peers.md.
"""

from __future__ import annotations

import importlib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from harness.errors import UserError

if TYPE_CHECKING:
    from harness.peers.peer import Peer

FOLDER = Path(__file__).resolve().parent


@cache
def all_peers() -> dict[str, Peer]:
    """Return every peer by its name, in alphabetical order, built or not."""
    found = (each for path in FOLDER.glob("*/adaptor.py") for each in _peers_in(path.parent.name))
    return {peer.name: peer for peer in sorted(found, key=lambda peer: peer.name)}


def find_peer(name: str) -> Peer:
    """Return the peer called `name`; import only its folder. Raises UserError for a wrong name."""
    folder = name.partition("-")[0]
    if folder.isidentifier() and (FOLDER / folder / "adaptor.py").is_file():
        for peer in _peers_in(folder):
            if peer.name == name:
                return peer
    from harness.files.checked_yaml import did_you_mean  # late: `build` begins with this module

    known = all_peers()
    raise UserError(
        f"peer {name!r} is unknown{did_you_mean(name, known)}; peers are: {', '.join(known)}"
    )


def _peers_in(folder: str) -> tuple[Peer, ...]:
    peers: tuple[Peer, ...] = importlib.import_module(f"{__name__}.{folder}.adaptor").PEERS
    return peers
