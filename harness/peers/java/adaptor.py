"""Plain Java: the standard library is all it needs. What it is compiled with, its Java virtual
machine runs.
"""

from pathlib import Path

from harness.peers.peer import Peer, Tool

PEERS = (
    Peer(
        name="java",
        title="Java: a thread an operator, an ArrayBlockingQueue before each, tuples by reference",
        folder=Path(__file__).resolve().parent,
        command=(
            "java",
            "-Xms1g",
            "-Xmx2g",
            "-Xss256k",
            "-XX:+UseParallelGC",
            "-cp",
            "{out}/classes",
            "Main",
        ),
        version=(("java", "-version"), r'version "([^"]+)"'),
        tools=(Tool("java", "default-jre-headless"), Tool("javac", "default-jdk-headless")),
        build=(
            (
                "javac",
                "-encoding",
                "UTF-8",
                "-d",
                "{out}/classes",
                "-sourcepath",
                "{jvm}",
                "{here}/Main.java",
            ),
        ),
        warmup_s=1.0,
    ),
)
