"""Go: the standard library is all it needs, so that its only pin is the language version in
go.mod.
"""

from pathlib import Path

from harness.peers.peer import Peer, Tool

PEERS = (
    Peer(
        name="go",
        title="Go channels: a goroutine an operator, a buffered channel before each, tuples by "
        "value",
        folder=Path(__file__).resolve().parent,
        command=("{out}/peer",),
        version=(("{out}/peer", "-version"), r"go([\d.]+)"),
        tools=(Tool("go", "golang"),),
        build=(("go", "build", "-trimpath", "-o", "{out}/peer", "."),),
    ),
)
