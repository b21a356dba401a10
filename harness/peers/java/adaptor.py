"""Plain Java: the standard library is all it needs. What it is compiled with, its Java virtual
machine runs.
"""

from pathlib import Path
from typing import Any

from harness.peers.maven import JAVA, PARALLEL, UNWATCHED
from harness.peers.peer import JIT_WARMUP_S, Peer, Tool

RECIPE: dict[str, Any] = {
    "folder": Path(__file__).resolve().parent,
    "command": (
        "java",
        "-Xms1g",
        "-Xmx2g",
        "-Xss256k",
        PARALLEL,
        UNWATCHED,
        "-cp",
        "{out}/classes",
        "Main",
    ),
    "version": JAVA.version,
    "tools": (JAVA, Tool("javac", "default-jdk-headless")),
    "build": (
        (
            "javac",
            "-encoding",
            "UTF-8",
            "-d",
            "{out}/classes",
            "-sourcepath",
            "{jvm}:{here}",
            "{here}/Main.java",
        ),
    ),
    "warmup_s": JIT_WARMUP_S,
}

BATCH = 128
BLOCKS = 32  # in a queue

PEERS = (
    Peer(
        name="java",
        title="Java: a thread an operator, an ArrayBlockingQueue before each, tuples by reference",
        batching="one tuple a put",
        **RECIPE,
    ),
    Peer(
        name="java-batched",
        title="the same, with blocks of tuples in the queues: arrays of primitives, used again",
        batch=BATCH,
        batching=f"arrays of up to {BATCH} tuples a put, used again",
        queue_capacity=BLOCKS * BATCH,
        **RECIPE,
    ),
)
