"""Tree (C-Stream §5.1): source -> `depth` levels of busy operators -> a sink behind each leaf.

Each operator sends its tuples to its `branching` children in turn, so that a level passes on as
much as the one before it. The paper gives the tree a depth of 6 and a branching factor of 2: 63
busy operators. Its drawing (Figure 3) is not part of the text that we have; that each leaf has a
sink of its own is our reading.
"""

from __future__ import annotations

from harness.graph import Graph
from harness.graph.values import MAX_OPERATORS, MAX_PORTS
from topologies import PAYLOAD, Parameter, Topology
from topologies.costs import BUSY

DEPTH = Parameter("depth", 6, "levels", 1, 2 * MAX_OPERATORS, "levels of busy operators")
BRANCHING = Parameter(
    "branching", 2, "children", 1, MAX_PORTS, "children of each operator that is no leaf"
)


def build(depth: int, branching: int, busy: int, payload: int, seed: int) -> Graph:
    """Return the graph. `busy2.3` is the third operator of the second level, `sink3` is behind the
    third leaf.
    """
    graph = Graph("tree", payload)
    ways = [graph.source("source").output(0)]
    for level in range(1, depth + 1):
        outputs = branching if level < depth else 1
        operators = [
            graph.work(f"busy{level}.{i + 1}", busy_us=busy, outputs=outputs)
            for i in range(len(ways))
        ]
        for way, operator in zip(ways, operators, strict=True):
            graph.connect(way, operator)
        ways = [operator.output(port) for operator in operators for port in range(outputs)]
    for i, way in enumerate(ways):
        graph.connect(way, graph.sink(f"sink{i + 1}"))
    return graph


def size(depth: int, branching: int, **_: object) -> int:
    """Return the number of operators of the graph; above `MAX_OPERATORS`, any number above it."""
    if branching == 1:
        return depth + 2
    total, level = 1, 1
    for _level in range(depth):
        total += level
        leaves, level = level, level * branching
        if total > MAX_OPERATORS:
            break
    return total + leaves


TOPOLOGY = Topology(
    name="tree",
    summary="busy operators that spread tuples over a tree, a sink behind each leaf",
    source="C-Stream §5.1, Figure 3",
    takes=(DEPTH, BRANCHING, BUSY, PAYLOAD),
    size=size,
    build=build,
)
