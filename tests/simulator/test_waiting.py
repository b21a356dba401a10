"""Threads of threaded ports and of those who feed them: who looks for what it waits for, who sleeps, and when it is woken."""

from __future__ import annotations

import pytest

from harness.graph import Graph
from harness.models import Dedicated
from tests.runtime.shapes import pipeline
from tests.simulator.runs import simulated


def fan_in(sources: int) -> Graph:
    graph = Graph("fan in", 64)
    sink = graph.sink("sink")
    for number in range(sources):
        graph.connect(graph.source(f"source{number}"), sink)
    return graph


@pytest.mark.parametrize("sources", [1, 4, 20, 100])
def test_all_who_wait_for_room_look_a_while_before_they_sleep(sources: int) -> None:
    """With a CPU for each thread: a batch leaves the queue every few hundred nanoseconds, and they look for 20 µs.

    Now and then others are always faster for so long.
    """
    engine = simulated(fan_in(sources), Dedicated())
    engine.start()
    engine.sample_events(100_000)
    scheduling = engine.stop(drain=False, timeout_s=0.0).scheduling
    assert scheduling["waits"] <= scheduling["drains"] / 1000


@pytest.mark.parametrize(("machine", "sleeps"), [("local", True), ("xeon", False)])
def test_who_sleeps_and_who_wakes_a_sleeper_takes_a_mutex(machine: str, sleeps: bool) -> None:
    """Two CPUs for many threads, or one for each, so that nobody sleeps."""

    def rate(lock_ns: float) -> float:
        engine = simulated(pipeline(), Dedicated(), machine, constants={"cost.lock": lock_ns})
        engine.start()
        engine.sample(1e-3)
        sample = engine.sample(5e-3)
        return sample.sink_tuples / sample.elapsed_s

    assert (rate(5000.0) < 0.9 * rate(10.0)) == sleeps
    assert (rate(5000.0) == rate(10.0)) != sleeps
