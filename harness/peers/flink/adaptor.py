"""Apache Flink in one process: a mini cluster. Operators that can be are chained into one task, or
into one for each CPU, or none is.
"""

from pathlib import Path

from harness.peers.maven import G1, command, recipe
from harness.peers.peer import Peer

RECIPE = recipe(Path(__file__).resolve().parent, "flink-clients") | {"chains_only": True}

PEERS = (
    Peer(
        name="flink",
        batching="none within a task; buffers of 32 KiB between tasks",
        title="Apache Flink, mini cluster: chained operators share a task, and its thread",
        command=command(G1, "-Dchaining=on"),
        **RECIPE,
    ),
    Peer(
        name="flink-split",
        batching="none within a task; buffers of 32 KiB between tasks",
        title="the same, each chain split into enough tasks for all CPUs",
        command=command(G1, "-Dchaining=split"),
        **RECIPE,
    ),
    Peer(
        name="flink-unchained",
        batching="buffers of 32 KiB between tasks",
        title="the same, each operator a task with a thread, and serialised tuples between them",
        command=command(G1, "-Dchaining=off"),
        **RECIPE,
    ),
)
