"""A graph with annotations, a threaded port, a barrier, a filter, bursts and window punctuation."""

from harness.graph import Graph, Threading
from harness.graph.annotations import in_force


def graph() -> Graph:
    """Return the graph."""
    built = Graph("seeded", payload=256)
    source = built.source("source", window=500)
    left, right = built.work("left", costs=[(100, 50), (50, 2000)]), built.work("right", cost=300)
    join = built.barrier("join")
    with in_force(Threading("dedicated")):
        thin = built.filter("thin", 0.5)
    with in_force(Threading("manual")):
        last = built.work("last", cost=80)
    built.connect(source, left)
    built.connect(source, right)
    built.chain(left, join.input(0), thin, last, built.sink("sink"))
    built.connect(right, join.input(1))
    built.threaded_port(right, 64)
    return built
