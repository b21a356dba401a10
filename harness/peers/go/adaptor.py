"""Go: the standard library is all it needs, so that its only pin is the language version in
go.mod. It is compiled for the level of the processor at hand.

The language version is an old one, which many tool chains have, and Go keeps its old defaults. Of
these only that of GOMAXPROCS matters here: since Go 1.25 it is no more than the quota of CPU time.
The variable GODEBUG asks for the newer one; older tool chains ignore it.
"""

from pathlib import Path
from typing import Any

from harness.files.instructions import level
from harness.peers.peer import Peer, Tool

RECIPE: dict[str, Any] = {
    "folder": Path(__file__).resolve().parent,
    "command": ("env", "GODEBUG=containermaxprocs=1,updatemaxprocs=1", "{out}/peer"),
    "version": (("{out}/peer", "-version"), r"go([\d.]+)"),
    "tools": (Tool("go", "golang"),),
    "build": (("env", f"GOAMD64=v{level()}", "go", "build", "-trimpath", "-o", "{out}/peer", "."),),
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
        queue_batches=4,
        batching="slices of up to 256 tuples a send, from a sync.Pool",
        **RECIPE,
    ),
)
