"""A pipeline that is nearly idle: its source sends at a rate that costs next to nothing."""

from __future__ import annotations

import inspect

from harness.graph import Graph
from tests.benchmarks.arms import PAYLOAD
from tests.benchmarks.fresh import Missing


def paced_pipeline(operators: int, tuples_per_s: float, cost: int = 1) -> Graph:
    """Raises Missing if sources have no rate in this build."""
    if "rate" not in inspect.signature(Graph.source).parameters:
        raise Missing("Graph.source(name, rate=...)")
    graph = Graph("paced", PAYLOAD)
    last = graph.source("source", rate=tuples_per_s)
    for number in range(1, operators + 1):
        work = graph.work(f"work{number}", cost)
        graph.connect(last, work)
        last = work
    graph.connect(last, graph.sink("sink"))
    return graph
