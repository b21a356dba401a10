"""A pipeline whose load changes in mid-run (M19 Figure 13): source -> work1 -> work2 -> … -> sink.

For the first `phase` tuples `before` % of the work operators are heavy, for the next `phase` tuples
`after` %, and so on, repeatedly. The paper's run changes once, after 20 minutes; here the number of
tuples decides, so a run should end within the second phase. Each operator counts for itself, so the
change moves down the pipeline with the tuples.

The paper gives the share of heavy operators and not the cost of the others. Our reading: a third of
them cost 100 FLOP and two thirds 1, as in the skewed distribution (M19 §4.1), and operators that
are heavy in the smaller share are heavy in the larger one.
"""

from __future__ import annotations

from harness.graph import Graph
from harness.graph.values import MAX_OPERATORS, MAX_TUPLES
from topologies import PAYLOAD, Parameter, Topology
from topologies.costs import shared_costs


def build(operators: int, before: int, after: int, phase: int, payload: int, seed: int) -> Graph:
    """Return a chain of `operators` work operators; operators whose cost does not change have a
    fixed cost.
    """
    graph = Graph("phase-change", payload)
    last = graph.source("source")
    phases = (shared_costs(share, operators, seed) for share in (before, after))
    for number, (first, second) in enumerate(zip(*phases, strict=True), start=1):
        bursts = [(phase, first), (phase, second)] if first != second else []
        work = graph.work(f"work{number}", 0 if bursts else first, costs=bursts)
        graph.connect(last, work)
        last = work
    graph.connect(last, graph.sink("sink"))
    return graph


TOPOLOGY = Topology(
    name="phase-change",
    summary="a pipeline whose share of heavy operators changes in mid-run",
    source="M19 Figure 13",
    takes=(
        Parameter(
            "operators",
            100,
            "work operators",
            1,
            MAX_OPERATORS - 2,
            "length of the chain; source and sink not counted",
        ),
        Parameter("before", 10, "%", 0, 100, "of the work operators are heavy in odd phases"),
        Parameter("after", 90, "%", 0, 100, "of the work operators are heavy in even phases"),
        Parameter("phase", 1_000_000, "tuples", 1, MAX_TUPLES, "length of each phase"),
        PAYLOAD,
    ),
    size=lambda operators, **_: operators + 2,
    build=build,
)
