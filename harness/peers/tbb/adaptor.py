"""oneTBB from its pip packages, headers and library: as a flow graph, and as a parallel
pipeline.
"""

from pathlib import Path
from typing import Any

from harness.peers.peer import Peer, Tool

HERE = Path(__file__).resolve().parent
RECIPE: dict[str, Any] = {
    "folder": HERE,
    "version": ("requirements.lock", r"tbb==([\d.]+)"),
    "tools": (Tool("g++", "g++", version=(("g++", "-dumpfullversion"), r"([\d.]+)")),),
    "build": (
        (
            "{python}",
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            "--no-deps",
            "--ignore-installed",
            "--require-hashes",
            "--prefix",
            "{out}/tbb",
            "-r",
            "{here}/requirements.lock",
        ),
        (
            "g++",
            "-std=c++20",
            "-O3",
            "-march=native",
            "-ffp-contract=off",
            "-pthread",
            "-I{out}/tbb/include",
            "-I{native}",
            "{here}/main.cpp",
            "-o",
            "{out}/peer",
            "-L{out}/tbb/lib",
            "-ltbb",
            "-Wl,-rpath,{out}/tbb/lib",
        ),
    ),
}

GRAPH, PIPELINE = (RECIPE | {"command": ("{out}/peer", word)} for word in ("graph", "pipeline"))
PIPELINE["chains_only"] = True
BLOCK = 256

PEERS = (
    Peer(
        name="tbb",
        title="oneTBB's flow graph: a serial function node an operator, which queues; tuples by "
        "pointer",
        batching="one tuple a message",
        ordered=False,
        **GRAPH,
    ),
    Peer(
        name="tbb-batched",
        title="the same, with blocks of tuples as messages; nodes are lightweight where a block "
        "has less than 1,000 FLOP",
        batch=BLOCK,
        batching=f"blocks of up to {BLOCK} tuples a message",
        ordered=False,
        **GRAPH,
    ),
    Peer(
        name="tbb-pipeline",
        title="oneTBB's parallel pipeline: a filter an operator, a thread takes a tuple through "
        "several; tuples by pointer",
        batching="one tuple a token",
        **PIPELINE,
    ),
    Peer(
        name="tbb-pipeline-batched",
        title="the same, with a block of tuples for each token, which is used again",
        batch=BLOCK,
        batching=f"blocks of up to {BLOCK} tuples a token",
        **PIPELINE,
    ),
)
