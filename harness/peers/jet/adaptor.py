"""Hazelcast Jet in one process: a cluster of one member, which runs a graph of processors. A
processor executes one operator, or several consecutive ones.
"""

from pathlib import Path

from harness.peers.maven import G1, command, recipe
from harness.peers.peer import Peer

RECIPE = recipe(Path(__file__).resolve().parent, "hazelcast")
QUIET = "-Dhazelcast.logging.type=none"

PEERS = (
    Peer(
        name="jet",
        title="Hazelcast Jet, one member: a processor an operator; a thread a CPU executes them",
        batching="up to 128 tuples of a queue, taken by a processor at once",
        command=command(G1, QUIET),
        **RECIPE,
    ),
    Peer(
        name="jet-fused",
        title="the same, a processor for several consecutive operators",
        batching="the same; none between operators of a processor",
        command=command(G1, QUIET, "-Dfused=true"),
        **RECIPE,
    ),
)
