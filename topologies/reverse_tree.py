"""Reverse tree (C-Stream §5.1): a source before each leaf -> `depth` levels of busy operators ->
sink.

The mirror image of the topology tree: the children of an operator share its input port. As there,
the paper's drawing is not part of the text that we have, and the sources are our reading.
"""

from __future__ import annotations

from harness.graph import Graph
from topologies import PAYLOAD, Topology
from topologies.costs import BUSY
from topologies.tree import BRANCHING, DEPTH, size


def build(depth: int, branching: int, busy: int, payload: int, seed: int) -> Graph:
    """Return the graph. `busy2.3` is the third operator of the second level, seen from the sink;
    `source3` is before the third leaf.
    """
    graph = Graph("reverse-tree", payload)
    above = [graph.source(f"source{i + 1}") for i in range(branching ** (depth - 1))]
    for level in range(depth, 0, -1):
        operators = [
            graph.work(f"busy{level}.{i + 1}", busy_us=busy)
            for i in range(branching ** (level - 1))
        ]
        for i, operator in enumerate(above):
            graph.connect(operator, operators[i if level == depth else i // branching])
        above = operators
    graph.connect(above[0], graph.sink("sink"))
    return graph


TOPOLOGY = Topology(
    name="reverse-tree",
    summary="busy operators that join the tuples of many sources, a tree upside down",
    source="C-Stream §5.1, Figure 3",
    takes=(DEPTH, BRANCHING, BUSY, PAYLOAD),
    size=size,
    build=build,
)
