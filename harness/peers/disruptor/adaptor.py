"""The LMAX Disruptor: a ring of events, and a thread for each operator that follows it."""

from pathlib import Path

from harness.peers.maven import PARALLEL, command, recipe
from harness.peers.peer import JIT_WARMUP_S, Peer

RECIPE = recipe(Path(__file__).resolve().parent, "disruptor") | {
    "command": command(PARALLEL),
    "warmup_s": JIT_WARMUP_S,
    "chains_only": True,
}
BATCH = 128

PEERS = (
    Peer(
        name="disruptor",
        title="LMAX Disruptor: an event handler, with a thread, an operator; one ring for all",
        batching="one tuple a publish; handlers catch up in runs",
        **RECIPE,
    ),
    Peer(
        name="disruptor-batched",
        title="the same, with blocks of tuples as events, which the ring makes once; a handler "
        "executes several operators, as there are about as many as CPUs",
        batch=BATCH,
        batching=f"blocks of up to {BATCH} tuples a publish; handlers catch up in runs",
        **RECIPE,
    ),
)
