"""Threads that wait for tuples, for room, or for a flag: who looks for what it waits for, who
sleeps, and when it is woken.
"""

from __future__ import annotations

import pytest

from harness.engine import Sample
from harness.graph import Graph
from harness.models import Dedicated, Dynamic
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
    """With a CPU for each thread: a batch leaves the queue every few hundred nanoseconds, and they
    look for 20 µs.

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


def before_a_slow_operator(cost: int, **constants: float) -> Sample:
    """A source whose queue is full, and often in the hands of the only scheduler thread; each of
    the two has a CPU.
    """
    graph = Graph("slow", 64)
    slow = graph.work("slow", cost)
    graph.connect(graph.source("source"), slow)
    graph.connect(slow, graph.sink("sink"))
    replaced = {f"cost.{name}": value for name, value in constants.items()}
    engine = simulated(graph, Dynamic(1, queue_capacity=64), constants=replaced)
    engine.start()
    engine.sample(10e-3)
    return engine.sample(50e-3)


def test_who_waits_goes_on_as_soon_as_the_queue_has_changed_however_long_a_round_takes() -> None:
    short, long = (
        before_a_slow_operator(30, wait_round=length_ns).sink_tuples for length_ns in (5.0, 2000.0)
    )
    assert long == pytest.approx(short, rel=0.15)


def test_who_has_waited_for_a_few_rounds_looks_at_the_clock_twice_in_each() -> None:
    """The operator has a tuple that takes longer than the sample: who waits behind it naps, but
    later with a slow clock.
    """
    fast, slow = (
        before_a_slow_operator(100_000_000, clock=clock_ns) for clock_ns in (5.0, 20_000.0)
    )
    assert fast.cpu_s < 1.2 * fast.elapsed_s
    assert slow.cpu_s > 1.9 * slow.elapsed_s
