"""Hazelcast Jet in one process: a cluster of one member, which runs a graph of processors."""

from pathlib import Path

from harness.peers.maven import G1, command, recipe
from harness.peers.peer import Peer

PEERS = (
    Peer(
        name="jet",
        title="Hazelcast Jet, one member: a processor an operator; a thread a CPU executes them",
        batching="what its queue holds, taken by a processor at once",
        command=command(G1, "-Dhazelcast.logging.type=none"),
        **recipe(Path(__file__).resolve().parent, "hazelcast"),
    ),
)
