"""Data parallelism that restores the order (C-Stream §4.2, §5.1): source -> split -> `width` busy operators -> merge -> sink.

The split numbers the tuples and sends them to the operators in turn; the merge passes them on in the order of their numbers.
The topology data-parallel has no merge.
"""

from __future__ import annotations

from harness.graph import MAX_PORTS, Graph
from topologies import PAYLOAD, Parameter, Topology
from topologies.costs import BUSY


def build(width: int, busy: int, payload: int, seed: int) -> Graph:
    """`width` busy operators side by side."""
    graph = Graph("replicated", payload)
    source, split, merge = graph.source("source"), graph.split("split", outputs=width), graph.merge("merge")
    graph.connect(source, split)
    for port in range(width):
        operator = graph.work(f"busy{port + 1}", busy_us=busy)
        graph.connect(split.output(port), operator)
        graph.connect(operator, merge)
    graph.connect(merge, graph.sink("sink"))
    return graph


TOPOLOGY = Topology(
    name="replicated",
    summary="busy operators side by side between a split and a merge that restores the order",
    source="C-Stream §4.2, Figure 3",
    takes=(Parameter("width", 12, "busy operators", 1, MAX_PORTS, "operators side by side"), BUSY, PAYLOAD),
    size=lambda width, **_: width + 4,
    build=build,
)
