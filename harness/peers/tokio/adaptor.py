"""Rust with tokio: tasks on its scheduler with several threads, and bounded channels between
them.
"""

from pathlib import Path

from harness.peers.cargo import recipe
from harness.peers.peer import Peer

RECIPE = recipe(Path(__file__).resolve().parent, "tokio")

PEERS = (
    Peer(
        name="tokio",
        title="Rust: a tokio task an operator, a bounded mpsc channel before each, tuples by value",
        batching="one tuple a send",
        **RECIPE,
    ),
    Peer(
        name="tokio-batched",
        title="the same, with boxed vectors of tuples in the channels, which are used again",
        batch=128,
        queue_batches=8,
        batching="boxed vectors of up to 128 tuples a send, used again",
        **RECIPE,
    ),
)
