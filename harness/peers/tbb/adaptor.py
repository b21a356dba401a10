"""oneTBB from its pip packages, headers and library: as a flow graph, and as a parallel
pipeline.
"""

from pathlib import Path

from harness.peers.peer import Peer, Tool

HERE = Path(__file__).resolve().parent
RECIPE = {
    "folder": HERE,
    "version": ("requirements.lock", r"tbb==([\d.]+)"),
    "tools": (Tool("g++", "g++"),),
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

PEERS = (
    Peer(
        name="tbb",
        title="oneTBB's flow graph: a serial function node an operator, which queues; tuples by "
        "value",
        command=("{out}/peer", "graph"),
        ordered=False,
        **RECIPE,
    ),
    Peer(
        name="tbb-pipeline",
        title="oneTBB's parallel pipeline: a filter an operator, a thread takes a tuple through "
        "several; tuples by pointer",
        command=("{out}/peer", "pipeline"),
        **RECIPE,
    ),
)
