"""Go: the standard library is all it needs, so that its only pin is the language version in
go.mod.
"""

from pathlib import Path
from typing import Any

from harness.peers.peer import Peer, Tool

RECIPE: dict[str, Any] = {
    "folder": Path(__file__).resolve().parent,
    "command": ("{out}/peer",),
    "version": (("{out}/peer", "-version"), r"go([\d.]+)"),
    "tools": (Tool("go", "golang"),),
    "build": (("go", "build", "-trimpath", "-o", "{out}/peer", "."),),
}

PEERS = (
    Peer(
        name="go",
        title="Go channels: a goroutine an operator, a buffered channel before each, tuples by "
        "value",
        batching="one tuple a send",
        **RECIPE,
    ),
    Peer(
        name="go-batched",
        title="the same, with pointers to pooled slices of tuples in the channels",
        batch=256,
        batching="slices of up to 256 tuples a send, from a sync.Pool",
        **RECIPE,
    ),
)
