"""Chain (C-Stream §5.1): source (-> read) -> busy1 -> busy2 -> … -> sink.

Every busy operator takes an equal time for a tuple and passes on an equal share of the tuples, each
by its own random choice. So a chain of 12 whose operators pass on 90 % delivers 28 % of the
source's tuples. The topology pipeline has operators of so many FLOP instead.

A source takes no time for a tuple. To model one that does, such as a source that reads a file, an
operator `read` follows it. The source calls `read` under every model: the thread that executes the
source is busy for that time, and `read` has no replicas.
"""

from __future__ import annotations

from harness.graph import Graph, Threading
from harness.graph.annotations import in_force
from harness.graph.values import MAX_BUSY_US, MAX_OPERATORS
from topologies import PAYLOAD, Parameter, Topology
from topologies.costs import BUSY


def build(operators: int, busy: int, selectivity: int, read: int, payload: int, seed: int) -> Graph:
    """Return a chain of `operators` busy operators behind a source that takes `read` µs for a
    tuple.
    """
    graph = Graph("chain", payload)
    last = graph.source("source")
    if read > 0:
        with in_force(Threading("manual")):
            reader = graph.work("read", busy_us=read)
        graph.connect(last, reader)
        last = reader
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
        Parameter(
            "operators",
            12,
            "busy operators",
            1,
            MAX_OPERATORS - 3,
            "length of the chain; source and sink not counted",
        ),
        BUSY,
        Parameter("selectivity", 100, "%", 0, 100, "of its tuples that each operator passes on"),
        Parameter(
            "read", 0, "µs a tuple", 0, int(MAX_BUSY_US), "how long the source takes for each"
        ),
        PAYLOAD,
    ),
    size=lambda operators, read, **_: operators + 2 + (read > 0),
    build=build,
)
