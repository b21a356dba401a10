"""Nothing is left lying: what is in a queue is executed soon while the threads that may execute it
have nothing else to do.
"""

from __future__ import annotations

import pytest

from harness.engine import Sample, open_engine
from harness.graph import Graph, Threading
from harness.models import Coroutine, Dedicated, Dynamic, Manual, Model
from tests.runtime.shapes import annotate, chain, comes_soon, until

BURST = 5  # tuples of the burst


def beside_a_slow_one(behind_a_queue: bool) -> Graph:
    """A fan-out to a cheap operator with a queue and to a slow one that is called; a busy one keeps
    the pool at first.
    """
    graph = Graph("beside", 8)
    head = graph.source("source")
    if behind_a_queue:
        head = chain(graph, head, 1)
    cheap = graph.work("cheap", 1)
    slow = graph.work("slow", 2_000_000)
    busy = graph.work("busy", 30_000_000)
    graph.connect(head, cheap)
    graph.connect(head, slow)
    graph.connect(cheap, graph.sink("sink"))
    graph.connect(slow, graph.sink("slow sink"))
    graph.connect(graph.source("burst", rates=[(0.01 * BURST, 100), (1e5, 0)]), busy)
    graph.connect(busy, graph.sink("busy sink"))
    for name in ("slow", "slow sink"):
        annotate(graph, name, Threading("manual"))
    return graph


@pytest.mark.parametrize("pool", [Dynamic, Coroutine], ids=lambda pool: pool.name)
@pytest.mark.parametrize(
    "behind_a_queue", [False, True], ids=["from a source", "from a scheduler thread"]
)
def test_tuples_that_a_slow_sender_has_queued_are_executed_while_threads_are_idle(
    behind_a_queue: bool, pool: type[Dynamic | Coroutine]
) -> None:
    graph = beside_a_slow_one(behind_a_queue)
    cheap, slow, busy = (list(graph.operators).index(name) for name in ("cheap", "slow", "busy"))
    engine = open_engine(graph, pool(2 if behind_a_queue or pool is Coroutine else 1))
    engine.start()
    left = BURST

    def busy_is_done(sample: Sample) -> bool:
        nonlocal left
        left -= sample.processed[busy]
        return left == 0

    until(engine, busy_is_done)
    comes_soon(engine, cheap, slow, 100)  # 250 or more if they waited for a wake-up
    assert engine.stop(drain=False, timeout_s=10.0).correct


@pytest.mark.parametrize("slow", ["work", "busy", "bursts", "python", "called region"])
@pytest.mark.parametrize(
    "model", [Manual(), Dedicated(), Coroutine(2)], ids=lambda model: model.name
)
def test_a_threaded_port_behind_a_slow_sender_is_woken_long_before_its_queue_is_full(
    model: Model, slow: str
) -> None:
    """20 ms a tuple or so: a wake-up for every 250 tuples would be one in five seconds."""

    def spin(sequence: int, value: float) -> float:
        for _ in range(400_000):
            value = value * 1.0
        return value

    graph = Graph("slow sender", 8)
    sender = {
        "work": lambda: graph.work("sender", 10_000_000),
        "busy": lambda: graph.work("sender", busy_us=20_000),
        "bursts": lambda: graph.work("sender", costs=[(1, 10_000_000)]),
        "python": lambda: graph.python("sender", spin, preserves=True),
        "called region": lambda: graph.work("sender", 10_000_000),
    }[slow]()
    graph.connect(graph.source("source"), sender)
    if slow == "called region":
        last = chain(graph, sender, 1)
        annotate(graph, "work0", Threading("manual"))
        sender = last
    sink = graph.sink("sink")
    graph.connect(sender, sink)
    graph.threaded_port(sink)
    engine = open_engine(graph, model)
    engine.start()
    place, sent, arrived = list(graph.operators).index("sender"), 0, 0
    while sent <= 3 or arrived < sent // 2:
        sample = engine.sample(0.1)
        sent, arrived = sent + sample.processed[place], arrived + sample.sink_tuples
        assert sent < 200, arrived
    assert engine.stop(drain=False, timeout_s=10.0).correct
