"""asyncio of the Python that runs the harness: nothing to build."""

from pathlib import Path

from harness.peers.peer import Peer

HERE = Path(__file__).resolve().parent

PEERS = (
    Peer(
        name="asyncio",
        title="Python's asyncio: a task an operator, an asyncio.Queue before each, one thread",
        batching="one tuple a put",
        folder=HERE,
        command=("{python}", "-P", "{here}/program.py"),
        version=(
            ("{python}", "-c", "import platform; print(platform.python_version())"),
            r"([\d.]+)",
        ),
    ),
)
