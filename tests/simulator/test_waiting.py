"""Threads of threaded ports and of those who feed them: who looks for what it waits for, who sleeps, and when it is woken."""

from __future__ import annotations

import pytest

from harness.graph import Graph
from harness.models import Dedicated
from tests.simulator.runs import simulated


def fan_in(sources: int) -> Graph:
    graph = Graph("fan in", 64)
    sink = graph.sink("sink")
    for number in range(sources):
        graph.connect(graph.source(f"source{number}"), sink)
    return graph


@pytest.mark.parametrize("sources", [1, 4, 20, 100])
def test_all_who_wait_for_room_look_a_while_before_they_sleep(sources: int) -> None:
    """With a CPU for each thread: a batch leaves the queue every few hundred nanoseconds, and they look for 20 µs."""
    engine = simulated(fan_in(sources), Dedicated())
    engine.start()
    engine.sample_events(100_000)
    assert engine.stop(drain=False, timeout_s=0.0).scheduling["waits"] == 0
