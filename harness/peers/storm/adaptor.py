"""Apache Storm in one process: a local cluster with its own ZooKeeper. Tuples are handed on by
themselves, or in batches.
"""

from pathlib import Path

from harness.peers.maven import G1, command, recipe
from harness.peers.peer import Peer

BUFFER = 32_768  # topology.executor.receive.buffer.size, by Storm's defaults.yaml
RECIPE = recipe(Path(__file__).resolve().parent, "storm-server") | {
    "command": command(G1, "-Dlog4j2.level=ERROR"),
    "queue_capacity": BUFFER,
}

PEERS = (
    Peer(
        name="storm",
        title="Apache Storm, local cluster: a bolt an operator, with an executor, and its thread, "
        "for each replica",
        batching="one tuple a hand-over, as by default",
        **RECIPE,
    ),
    Peer(
        name="storm-batched",
        title="the same, tuples handed on in batches of 100; no more executors a bolt than CPUs",
        batch=100,
        batching="batches of 100 tuples between executors",
        **RECIPE,
    ),
)
