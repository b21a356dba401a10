"""Pure data parallelism (P17 §5.2, M19 Figure 8(b)): source -> split -> `width` work operators ->
sink.

There is no merge: every work operator feeds the one input port of the sink, where many threads may
meet.
"""

from __future__ import annotations

from harness.graph import Graph
from harness.graph.values import MAX_PORTS
from topologies import PAYLOAD, RATE, Parameter, Topology
from topologies.costs import COST, work_costs


def build(width: int, cost: int | str, payload: int, rate: int, seed: int) -> Graph:
    """Return `width` work operators side by side."""
    graph = Graph("data-parallel", payload)
    source, split = graph.source("source", rate or None), graph.split("split", outputs=width)
    graph.connect(source, split)
    workers = [
        graph.work(f"work{number}", flop)
        for number, flop in enumerate(work_costs(cost, width, seed), start=1)
    ]
    sink = graph.sink("sink")
    for port, work in enumerate(workers):
        graph.connect(split.output(port), work)
        graph.connect(work, sink)
    return graph


TOPOLOGY = Topology(
    name="data-parallel",
    summary="operators side by side, all feeding one sink: data parallelism only",
    source="P17 §5.2; M19 Figure 8(b)",
    takes=(
        Parameter("width", 100, "work operators", 1, MAX_PORTS, "operators side by side"),
        COST,
        PAYLOAD,
        RATE,
    ),
    size=lambda width, **_: width + 3,
    build=build,
)
