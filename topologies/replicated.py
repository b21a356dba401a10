"""C-Stream's data parallelism (§4.2, §5.1): source -> split -> `width` busy operators -> merge ->
sink.

The split numbers the tuples and sends them to the operators in turn; the merge passes them on in
the order of their numbers. With `merge=none` the operators feed the sink: other runtimes, such as
Storm, do not restore the order, and get the same graph.
"""

from __future__ import annotations

from harness.graph import Graph
from harness.graph.values import MAX_PORTS
from topologies import PAYLOAD, Parameter, Topology
from topologies.costs import BUSY

MERGE = Parameter(
    name="merge",
    default="ordered",
    unit="",
    low=None,
    high=None,
    meaning="ordered: a merge restores the order; none: the busy operators feed the sink",
    words=("ordered", "none"),
)


def build(width: int, busy: int, merge: str, payload: int, seed: int) -> Graph:
    """Return `width` busy operators side by side."""
    graph = Graph("replicated", payload)
    source, split = graph.source("source"), graph.split("split", outputs=width)
    graph.connect(source, split)
    merges = [graph.merge("merge")] if merge == "ordered" else []
    workers = [graph.work(f"busy{port + 1}", busy_us=busy) for port in range(width)]
    sink = graph.sink("sink")
    for port, worker in enumerate(workers):
        graph.connect(split.output(port), worker)
        graph.connect(worker, *merges or [sink])
    for each in merges:
        graph.connect(each, sink)
    return graph


TOPOLOGY = Topology(
    name="replicated",
    summary="busy operators side by side behind a split, and a merge that restores the order",
    source="C-Stream §4.2, Figure 3",
    takes=(
        Parameter("width", 12, "busy operators", 1, MAX_PORTS, "operators side by side"),
        BUSY,
        MERGE,
        PAYLOAD,
    ),
    size=lambda width, merge, **_: width + (3 if merge == "none" else 4),
    build=build,
)
