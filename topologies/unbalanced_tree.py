"""Unbalanced tree: source -> `depth` operators in a row -> sink, and at each of them but the last
one a branch that ends at once.

    source -> trunk1 -> trunk2 -> ... -> sink
                 |         |
               leaf1     leaf2           each with a sink of its own

An operator of the trunk sends its tuples in turn to the next one and to its leaf. So half of the
tuples leave the trunk at each level, and its operators have all, a half, a quarter, ... of them.
The trees of C-Stream and M19 give all operators of a level the same load.
"""

from __future__ import annotations

from harness.graph import Graph
from harness.graph.values import MAX_OPERATORS
from topologies import PAYLOAD, Parameter, Topology
from topologies.costs import COST, work_costs

MAX_DEPTH = MAX_OPERATORS // 3
"""With which a tree has `MAX_OPERATORS` operators, nearly."""


def build(depth: int, cost: int | str, payload: int, seed: int) -> Graph:
    """Return the graph. `leaf2` is the branch at `trunk2`, and `sink2` is behind it; the last sink
    is behind the trunk.
    """
    graph = Graph("unbalanced-tree", payload)
    costs = iter(work_costs(cost, 2 * depth - 1, seed))
    way = graph.source("source").output(0)
    ends = []
    for level in range(1, depth):
        trunk = graph.work(f"trunk{level}", next(costs), outputs=2)
        leaf = graph.work(f"leaf{level}", next(costs))
        graph.connect(way, trunk)
        graph.connect(trunk.output(0), leaf)
        ends.append(leaf.output(0))
        way = trunk.output(1)
    last = graph.work(f"trunk{depth}", next(costs))
    graph.connect(way, last)
    for number, end in enumerate([*ends, last.output(0)], start=1):
        graph.connect(end, graph.sink(f"sink{number}"))
    return graph


TOPOLOGY = Topology(
    name="unbalanced-tree",
    summary="operators in a row, at each of which half of the tuples leave by a branch",
    source="validation of the simulator",
    takes=(
        Parameter("depth", 8, "levels", 1, MAX_DEPTH, "operators in a row, the trunk"),
        COST,
        PAYLOAD,
    ),
    size=lambda depth, **_: 3 * depth,
    build=build,
)
