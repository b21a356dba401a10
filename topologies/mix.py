"""Data parallelism of pipelines (P17 §5.3, M19 Figure 8(c)): source -> split -> chains of work
operators -> sink.

There are `width` chains of `depth` operators; the papers use 10 of 50 to 100. There is no merge, as
in `data_parallel`.
"""

from __future__ import annotations

from harness.graph import Graph
from topologies import PAYLOAD, RATE, Parameter, Topology
from topologies.costs import COST, work_costs

MAX_SIDE = 100_000  # the longest chain, and the most chains


def build(width: int, depth: int, cost: int | str, payload: int, rate: int, seed: int) -> Graph:
    """Return `width` chains side by side; `work2.5` is the fifth operator of the second chain."""
    graph = Graph("mix", payload)
    source, split = graph.source("source", rate or None), graph.split("split", outputs=width)
    graph.connect(source, split)
    ends = []
    costs = iter(work_costs(cost, width * depth, seed))
    for chain in range(width):
        last = split.output(chain)
        for step in range(depth):
            work = graph.work(f"work{chain + 1}.{step + 1}", next(costs))
            graph.connect(last, work)
            last = work.output(0)
        ends.append(last)
    sink = graph.sink("sink")
    for end in ends:
        graph.connect(end, sink)
    return graph


TOPOLOGY = Topology(
    name="mix",
    summary="chains side by side, all feeding one sink: data and pipeline parallelism",
    source="P17 §5.3; M19 Figure 8(c)",
    takes=(
        Parameter("width", 10, "chains", 1, MAX_SIDE, "chains side by side"),
        Parameter("depth", 10, "work operators", 1, MAX_SIDE, "length of each chain"),
        COST,
        PAYLOAD,
        RATE,
    ),
    size=lambda width, depth, **_: width * depth + 3,
    build=build,
)
