"""Pure pipeline (P17 §5.1, M19 Figure 8(a)): source -> work1 -> work2 -> … -> sink.

`operators` counts the work operators, as P17's "1,000 operator pipeline" does; source and sink are
added to them.
"""

from __future__ import annotations

from harness.graph import Graph
from harness.graph.values import MAX_OPERATORS
from topologies import PAYLOAD, RATE, Parameter, Topology
from topologies.costs import COST, work_costs


def build(operators: int, cost: int | str, payload: int, rate: int, seed: int) -> Graph:
    """Return a chain of `operators` work operators."""
    graph = Graph("pipeline", payload)
    last = graph.source("source", rate or None)
    for number, flop in enumerate(work_costs(cost, operators, seed), start=1):
        work = graph.work(f"work{number}", flop)
        graph.connect(last, work)
        last = work
    graph.connect(last, graph.sink("sink"))
    return graph


TOPOLOGY = Topology(
    name="pipeline",
    summary="a chain of operators: pipeline parallelism only",
    source="P17 §5.1; M19 Figure 8(a)",
    takes=(
        Parameter(
            "operators",
            100,
            "work operators",
            0,
            MAX_OPERATORS - 2,
            "length of the chain; source and sink not counted, which 0 leaves alone",
        ),
        COST,
        PAYLOAD,
        RATE,
    ),
    size=lambda operators, **_: operators + 2,
    build=build,
)
