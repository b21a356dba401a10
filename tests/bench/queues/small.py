"""Graphs and worlds that are small enough to think through."""

from __future__ import annotations

from harness.bench.queues.graphs import TopologyShape
from harness.bench.queues.scenario import QueueScenario
from harness.bench.queues.surface import Surface
from harness.bench.queues.world import QueueWorld
from harness.elasticity import Decides, Decision, Law, Layout, layout_of
from harness.elasticity.cpu_limit import LastPeriod
from harness.graph import Graph
from harness.models import Dynamic

LARGE = QueueWorld("xeon", "millrace", 16)
STREAMS = QueueWorld("xeon", "streams-4.2", 16)


def seen(graph: Graph, cpus: int = 16) -> Layout:
    """Return what a law sees before it begins."""
    return layout_of(graph, Dynamic(threads=1, queued="none"), cpus)


def pipeline(costs: list[int], payload: int = 128) -> Graph:
    """A chain of work operators."""
    graph = Graph("chain", payload)
    last = graph.source("source")
    for number, flop in enumerate(costs, start=1):
        work = graph.work(f"work{number}", flop)
        graph.connect(last, work)
        last = work
    graph.connect(last, graph.sink("sink"))
    return graph


def parallel(costs: list[int], payload: int = 128) -> Graph:
    """Work operators side by side, behind a split and before one sink."""
    graph = Graph("parallel", payload)
    source, split = graph.source("source"), graph.split("split", len(costs))
    graph.connect(source, split)
    works = [graph.work(f"work{number}", flop) for number, flop in enumerate(costs, start=1)]
    sink = graph.sink("sink")
    for number, work in enumerate(works):
        graph.connect(split.output(number), work)
        graph.connect(work, sink)
    return graph


def surface(graph: Graph, world: QueueWorld = LARGE, seed: int = 1, **options) -> Surface:
    return Surface(seen(graph, world.cpus), world, seed, **options)


def scenario(operators: int = 8, costs: str = "balanced-1000", **options) -> QueueScenario:
    given = {
        "shape": TopologyShape("pipeline", (("operators", operators),)),
        "payload": 128,
        "world": LARGE,
        "periods": 40,
    }
    return QueueScenario("small", costs=costs, **(given | options))


class Toy(Law):
    """Goes to four threads and a queue before every second place in its third period, and stays
    there.
    """

    name = "toy"
    summary = "a toy"
    decides = Decides.QUEUES

    def cpu_limit(self) -> LastPeriod:
        return LastPeriod(1.0)

    def decide(self, reading) -> Decision:
        self.readings = [*getattr(self, "readings", []), reading]
        if len(self.readings) < 3:
            return Decision(reading.threads, "waits", "waiting")
        return Decision(4, "goes", "settled", frozenset(range(0, len(self.layout.ports), 2)))
