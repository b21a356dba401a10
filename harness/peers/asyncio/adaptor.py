"""asyncio of the Python that runs the harness: nothing to build."""

from pathlib import Path
from typing import Any

from harness.peers.peer import Peer

RECIPE: dict[str, Any] = {
    "folder": Path(__file__).resolve().parent,
    "interpreted": True,
    "command": ("{python}", "-P", "{here}/program.py"),
    "version": (
        ("{python}", "-c", "import platform; print(platform.python_version())"),
        r"([\d.]+)",
    ),
}

PEERS = (
    Peer(
        name="asyncio",
        title="Python's asyncio: a task an operator, an asyncio.Queue before each, one thread",
        batching="one tuple a put",
        **RECIPE,
    ),
    Peer(
        name="asyncio-batched",
        title="the same, with lists of tuples in the queues",
        batch=128,
        queue_batches=8,
        batching="lists of up to 128 tuples a put",
        **RECIPE,
    ),
)
