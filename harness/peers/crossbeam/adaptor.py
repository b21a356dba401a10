"""Rust with crossbeam-channel: threads, and bounded channels between them."""

from pathlib import Path

from harness.peers.cargo import recipe
from harness.peers.peer import Peer

RECIPE = recipe(Path(__file__).resolve().parent, "crossbeam-channel")

PEERS = (
    Peer(
        name="crossbeam",
        title="Rust: a thread an operator, a bounded crossbeam channel before each, tuples by "
        "value",
        batching="one tuple a send",
        **RECIPE,
    ),
    Peer(
        name="crossbeam-batched",
        title="the same, with boxed vectors of tuples in the channels, which are used again",
        batch=128,
        queue_batches=32,
        batching="boxed vectors of up to 128 tuples a send, used again",
        **RECIPE,
    ),
)
