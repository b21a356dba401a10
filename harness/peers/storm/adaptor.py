"""Apache Storm in one process: a local cluster with its own ZooKeeper. Tuples are handed on by themselves, or in batches."""

from pathlib import Path

from harness.peers.peer import Peer, Tool

HERE = Path(__file__).resolve().parent
COPY = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies"
RECIPE = {
    "folder": HERE,
    "version": ("pom.xml", r"storm-server</artifactId>\s*<version>([\d.]+)"),
    "tools": (Tool("java", "default-jre-headless"), Tool("javac", "default-jdk-headless"), Tool("mvn", "maven")),
    "build": (
        ("mvn", "--quiet", "--batch-mode", "-f", "{here}/pom.xml", COPY, "-DoutputDirectory={out}/lib"),
        ("sh", "-c", 'cd "{out}/lib" && sha256sum --check --quiet "{here}/jars.sha256"'),
        (
            "javac", "-encoding", "UTF-8", "-d", "{out}/classes", "-cp", "{out}/lib/*", "-sourcepath", "{jvm}",
            "{here}/Main.java",
        ),
    ),
    "warmup_s": 2.0,
}  # fmt: skip


def command(batch: int) -> tuple[str, ...]:
    """Starts it with so many tuples a batch. What it writes goes to the working directory, which is removed after the run."""
    opened = [
        f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in ("java.lang", "java.nio", "java.util", "sun.nio.ch")
    ]
    heap = ("-Xms1g", "-Xmx2g", "-XX:+UseParallelGC", "-Djava.io.tmpdir=.", "-Dlog4j2.level=ERROR", f"-Dbatch={batch}")
    return ("java", *heap, *opened, "-cp", "{out}/classes:{out}/lib/*", "Main")


PEERS = (
    Peer(
        name="storm", title="Apache Storm, local cluster: an executor, with a thread, an operator", command=command(1), **RECIPE
    ),
    Peer(name="storm-batched", title="the same, tuples handed on in batches of 100", command=command(100), **RECIPE),
)
