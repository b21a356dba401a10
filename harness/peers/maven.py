"""Recipe of a peer whose jars come from Maven Central: its pom.xml names them, its jars.sha256 has
the sum of each.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from harness.peers.peer import Tool

JAVA = Tool(
    "java", "default-jre-headless", runs=True, version=(("java", "-version"), r'version "([^"]+)"')
)
COPY = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies"
OPENED = [
    f"--add-opens=java.base/{package}=ALL-UNNAMED"
    for package in ("java.lang", "java.nio", "java.util", "sun.nio.ch")
]
UNWATCHED = "-XX:-UsePerfData"
"""Without it a virtual machine that is killed leaves a file in /tmp."""
# the working folder, removed after the run
HEAP = ("-Xms1g", "-Xmx2g", "-Djava.io.tmpdir=.", UNWATCHED)
PARALLEL, G1 = "-XX:+UseParallelGC", "-XX:+UseG1GC"

CLUSTER_WARMUP_S = 8.0
"""Time for the compiler. The rate of a cluster rises until about 16 s of CPU time are spent, in the
slowest arm seen, `flink-split`: that is 8 s of two free CPUs.
"""


def recipe(folder: Path, artifact: str) -> dict[str, Any]:
    """Return arguments of `Peer`; the version is that of an artifact in the pom.xml."""
    classes = (
        "-d",
        "{out}/classes",
        "-cp",
        "{out}/lib/*",
        "-sourcepath",
        "{jvm}:{here}",
        "{here}/Main.java",
    )
    return {
        "folder": folder,
        "version": ("pom.xml", rf"{artifact}</artifactId>\s*<version>([\d.]+)"),
        "tools": (JAVA, Tool("javac", "default-jdk-headless"), Tool("mvn", "maven")),
        "build": (
            (
                "mvn",
                "--quiet",
                "--batch-mode",
                "-f",
                "{here}/pom.xml",
                COPY,
                "-DoutputDirectory={out}/lib",
            ),
            ("sh", "-c", 'cd "{out}/lib" && sha256sum --check --quiet "{here}/jars.sha256"'),
            ("javac", "-encoding", "UTF-8", *classes),
        ),
        "warmup_s": CLUSTER_WARMUP_S,
    }


def command(collector: str, *settings: str) -> tuple[str, ...]:
    """Return the command that starts its program with a garbage collector and other settings of the
    virtual machine.
    """
    classes = "{out}/classes:{out}/lib/*"
    return ("java", *HEAP, collector, *settings, *OPENED, "-cp", classes, "Main")
