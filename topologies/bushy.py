"""Bushy graph (M19 Figure 8(d)): a tree that spreads the tuples, and the mirrored tree that joins
them again.

The paper says that the graph has 82 operators; its drawing is not in the text that we have. Our
reading: with `width` 3 and `depth` 4,

    source -> tree of 1 + 3 + 9 + 27 operators -> mirrored tree of 27 + 9 + 3 + 1 -> sink

This has 1 + 40 + 40 + 1 = 82 operators.

Each operator of the first tree sends its tuples round-robin to its `width` children. The leaves of
the first tree feed the leaves of the second one to one; in the second tree the children of an
operator share its single input port. Every operator of the trees is a work operator: there is
neither a split nor a merge, so all of them can have a queue.
"""

from __future__ import annotations

from harness.graph import Graph, Operator, PortId
from harness.graph.values import MAX_OPERATORS, MAX_PORTS
from topologies import PAYLOAD, Parameter, Topology
from topologies.costs import COST, work_costs

# with a width of 1, two chains; a width of 2 ends at 18 levels
MAX_DEPTH = (MAX_OPERATORS - 2) // 2


def build(width: int, depth: int, cost: int | str, payload: int, seed: int) -> Graph:
    """Return two trees of `depth` levels; `spread2.3` is the third operator of the second level,
    and `join2.3` its mirror image.
    """
    graph = Graph("bushy", payload)
    costs = iter(work_costs(cost, size(width, depth) - 2, seed))
    level = [graph.source("source")]
    for number in range(1, depth + 1):
        outputs = width if number < depth else 1
        below = [
            graph.work(f"spread{number}.{i + 1}", next(costs), outputs=outputs)
            for i in range(width ** (number - 1))
        ]
        for i, operator in enumerate(below):
            graph.connect(_parent_port(level, i, width), operator)
        level = below
    for number in range(depth, 0, -1):
        below = [
            graph.work(f"join{number}.{i + 1}", next(costs)) for i in range(width ** (number - 1))
        ]
        for i, operator in enumerate(level):
            graph.connect(operator, below[i if number == depth else i // width])
        level = below
    graph.connect(level[0], graph.sink("sink"))
    return graph


def _parent_port(parents: list[Operator], child: int, width: int) -> PortId:
    """Return the output port that feeds the child of this index; a source has only one."""
    return (
        parents[0].output(0)
        if parents[0].is_source
        else parents[child // width].output(child % width)
    )


def size(width: int, depth: int, **_: object) -> int:
    """Return the number of operators of the graph; above `MAX_OPERATORS`, any number above it."""
    if width == 1:
        return 2 * depth + 2
    total, level = 2, 1
    for _ in range(depth):
        total += 2 * level
        level *= width
        if total > MAX_OPERATORS:
            break
    return total


TOPOLOGY = Topology(
    name="bushy",
    summary="a tree that spreads tuples round-robin, and its mirror image that joins them",
    source="M19 Figure 8(d)",
    takes=(
        Parameter("width", 3, "children", 1, MAX_PORTS, "children of each operator of the trees"),
        Parameter("depth", 4, "levels", 1, MAX_DEPTH, "levels of each of the two trees"),
        COST,
        PAYLOAD,
    ),
    size=size,
    build=build,
)
