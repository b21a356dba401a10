"""The small graphs whose steps are measured (steps.pyx). None of them is run."""

from __future__ import annotations

from harness.calibration.steps import Steps
from harness.graph import Graph
from harness.models import Dynamic, Manual

CHAIN_LENGTH = 9
"""Work operators in a row."""

DRAINED_QUEUE_SLOTS = 1 << 16
"""Slots of a queue that is drained without being filled meanwhile."""


def chain(payload: int, silent: str = "sink") -> Steps:
    """source -> work0 -> … -> sink, all called, one of them silenced."""
    steps = Steps(_chain(payload, CHAIN_LENGTH), Manual())
    steps.silence(silent)
    return steps


def queues(payload: int, capacity: int) -> Steps:
    """source -> work0 -> sink with queues before the two."""
    return Steps(_chain(payload, 1), Dynamic(threads=1, queue_capacity=capacity))


def sieve(share: float) -> Steps:
    """source -> filter -> sink, all called, the sink silenced."""
    graph = Graph("sieve", 128)
    filter_ = graph.filter("filter", share)
    graph.connect(graph.source("source"), filter_)
    graph.connect(filter_, graph.sink("sink"))
    steps = Steps(graph, Manual())
    steps.silence("sink")
    return steps


def fan(ways: int, keys: int = 0) -> Steps:
    """source -> split -> `ways` silenced work operators -> sink, all called."""
    graph = Graph("fan", 128)
    split, sink = graph.split("split", ways, keys), graph.sink("sink")
    graph.connect(graph.source("source"), split)
    for way in range(ways):
        work = graph.work(f"work{way}", 1)
        graph.connect(split.output(way), work)
        graph.connect(work, sink)
    steps = Steps(graph, Manual())
    for way in range(ways):
        steps.silence(f"work{way}")
    return steps


def join() -> Steps:
    """source -> split -> 2 work operators -> merge -> sink, all called, the sink silenced."""
    graph = Graph("join", 128)
    split, merge, sink = graph.split("split", 2), graph.merge("merge"), graph.sink("sink")
    graph.connect(graph.source("source"), split)
    for way in range(2):
        work = graph.work(f"work{way}", 1)
        graph.connect(split.output(way), work)
        graph.connect(work, merge)
    graph.connect(merge, sink)
    steps = Steps(graph, Manual())
    steps.silence("sink")
    return steps


def _chain(payload: int, length: int) -> Graph:
    graph = Graph("chain", payload)
    last = graph.source("source")
    for number in range(length):
        work = graph.work(f"work{number}", 1)
        graph.connect(last, work)
        last = work
    graph.connect(last, graph.sink("sink"))
    return graph
