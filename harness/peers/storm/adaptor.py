"""Apache Storm in one process: a local cluster with its own ZooKeeper. Tuples are handed on by
themselves, or in batches.
"""

from pathlib import Path

from harness.peers.maven import G1, command, recipe
from harness.peers.peer import Peer

BUFFER = 32_768  # topology.executor.receive.buffer.size, by Storm's defaults.yaml
TUNED_BUFFER = 4096
BATCH = 100
# A compiler that is one thread beside a dozen busy executors gets so little CPU time that the rate
# still rises after 20 s.
COMPILER_THREADS = ("-XX:CICompilerCount=12", "-XX:-UseDynamicNumberOfCompilerThreads")

RECIPE = recipe(Path(__file__).resolve().parent, "storm-server") | {
    "command": command(G1, *COMPILER_THREADS, "-Dlog4j2.level=ERROR")
}

PEERS = (
    Peer(
        name="storm",
        title="Apache Storm, local cluster: a bolt an operator, with an executor, and its thread, "
        "for each replica",
        batching="one tuple a hand-over, as by default",
        queue_capacity=BUFFER,
        **RECIPE,
    ),
    Peer(
        name="storm-batched",
        title=f"the same, tuples handed on in batches of {BATCH}; no more executors a bolt than "
        "CPUs, which sleep when idle",
        batch=BATCH,
        bounded_batch=False,  # a batch that is not full is sent by the clock
        batching=f"batches of {BATCH} tuples between executors",
        queue_capacity=TUNED_BUFFER,
        **RECIPE,
    ),
)
