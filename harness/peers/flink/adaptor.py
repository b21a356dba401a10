"""Apache Flink in one process: a mini cluster. Operators that can be are chained into one task, or none is."""

from pathlib import Path

from harness.peers.peer import Peer, Tool

HERE = Path(__file__).resolve().parent
COPY = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies"
RECIPE = {
    "folder": HERE,
    "version": ("pom.xml", r"flink-clients</artifactId>\s*<version>([\d.]+)"),
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


def command(chaining: str) -> tuple[str, ...]:
    """Starts it with operators chained or not. What it writes goes to the working directory, which is removed after the run."""
    opened = [
        f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in ("java.lang", "java.nio", "java.util", "sun.nio.ch")
    ]
    heap = ("-Xms1g", "-Xmx2g", "-XX:+UseParallelGC", "-Djava.io.tmpdir=.", f"-Dchaining={chaining}")
    return ("java", *heap, *opened, "-cp", "{out}/classes:{out}/lib/*", "Main")


PEERS = (
    Peer(
        name="flink",
        title="Apache Flink, mini cluster: chained operators share a task, and its thread",
        command=command("true"),
        **RECIPE,
    ),
    Peer(
        name="flink-unchained",
        title="the same, each operator a task with a thread, and serialised tuples between them",
        command=command("false"),
        **RECIPE,
    ),
)
