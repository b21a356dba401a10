"""Chain (C-Stream §5.1): source -> busy1 -> busy2 -> … -> sink.

Every busy operator takes the same time for a tuple and passes on the same share of the tuples, each by a choice of its own. So
a chain of 12 whose operators pass on 90 % delivers 28 % of the source's tuples. The topology pipeline has operators of so many
FLOP instead.
"""

from __future__ import annotations

from harness.graph import MAX_OPERATORS, Graph
from topologies import PAYLOAD, Parameter, Topology
from topologies.costs import BUSY


def build(operators: int, busy: int, selectivity: int, payload: int, seed: int) -> Graph:
    """A chain of `operators` busy operators."""
    graph = Graph("chain", payload)
    last = graph.source("source")
    for number in range(operators):
        operator = graph.work(f"busy{number + 1}", busy_us=busy, selectivity=selectivity / 100)
        graph.connect(last, operator)
        last = operator
    graph.connect(last, graph.sink("sink"))
    return graph


TOPOLOGY = Topology(
    name="chain",
    summary="busy operators one behind the other, which may drop tuples",
    source="C-Stream §5.1, Figure 3",
    takes=(
        Parameter("operators", 12, "busy operators", 1, MAX_OPERATORS - 2, "length of the chain; source and sink not counted"),
        BUSY,
        Parameter("selectivity", 100, "%", 0, 100, "of its tuples that each operator passes on"),
        PAYLOAD,
    ),
    size=lambda operators, **_: operators + 2,
    build=build,
)
