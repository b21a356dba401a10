"""Tests of what a simulated run takes grows with what happens in it: counted in events, and, where
that says nothing, in time.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable

import pytest
from tests.simulator.probes import Bench, simulate

from harness.machines.machine import load_machine
from harness.models import Dedicated, Dynamic, Manual, Model
from tests.runtime.shapes import pipeline, split_and_join
from tests.simulator.runs import ENOUGH, simulated
from tests.simulator.simpy_queues import Network

TUPLES = 200


def events(operators: int, model: Model, software: str = "millrace") -> int:
    """Count the events of a pipeline that TUPLES tuples go through."""
    engine = simulated(pipeline(operators), model, software=software, tuples=TUPLES)
    engine.start()
    engine.sample_events(50 * ENOUGH)
    assert engine.finished()
    return engine.simulation["events"]


@pytest.mark.parametrize(
    "model", [Dedicated(), Dynamic(4, queue_capacity=64), Dynamic(4, queued="none")], ids=repr
)
def test_events_grow_linearly_in_operators(model: Model) -> None:
    few, many = (events(operators, model) / operators for operators in (50, 800))
    assert many < 1.5 * few


def test_a_batch_is_an_event_and_not_each_of_its_tuples() -> None:
    """A hop of a queue with a thread of its own takes a few events for 32 tuples."""
    hops = 40 * TUPLES / 32
    assert events(40, Manual()) < 2 * hops
    assert events(40, Dedicated()) < 20 * hops


def test_what_is_called_takes_an_event_a_batch() -> None:
    assert events(400, Manual()) <= events(2, Manual()) + 398 * math.ceil(TUPLES / 32) + 2


@pytest.mark.parametrize("software", ["millrace", "streams-4.2"])
def test_threads_that_have_nothing_to_do_take_hardly_any_events(software: str) -> None:
    """Twenty times as many threads for the same tuples: the others sleep, or back off."""

    def of_a_slow_graph(threads: int) -> float:
        engine = simulated(split_and_join(4, 1), Dynamic(threads), software=software, tuples=2000)
        engine.start()
        engine.sample_events(ENOUGH)
        assert engine.finished()
        return engine.simulation["events"]

    assert of_a_slow_graph(160) < 20 * of_a_slow_graph(8)


def best_of(rounds: int, measured: Callable[[], tuple[float, int]]) -> float:
    """Seconds an event: the median of several rounds."""
    return statistics.median(
        seconds / count for seconds, count in (measured() for _ in range(rounds))
    )


@pytest.mark.slow
def test_an_event_takes_as_long_as_a_heap_of_its_threads_is_deep() -> None:
    """n log n: with 4,096 threads an event takes longer than with 64 as its heap is deeper, caches
    aside.
    """

    def computing(threads: int) -> tuple[float, int]:
        bench = Bench(load_machine("xeon"), threads)
        for _ in range(threads):
            bench.compute(1e12, step=1e4)
        begin = time.perf_counter()
        bench.run(2e8)
        return time.perf_counter() - begin, bench.events

    few, many = (best_of(5, lambda threads=threads: computing(threads)) for threads in (64, 4096))
    assert many < 6 * few * math.log(4096) / math.log(64)


@pytest.mark.slow
def test_an_event_of_the_core_takes_hardly_longer_among_many_processes() -> None:
    def round_trip(stations: int) -> tuple[float, int]:
        network = Network((1.0,) * stations, customers=stations)
        begin = time.perf_counter()
        outcome = simulate(network, 1, 2e6 / stations)
        return time.perf_counter() - begin, outcome.events

    few, many = (
        best_of(5, lambda stations=stations: round_trip(stations)) for stations in (64, 4096)
    )
    assert many < 6 * few * math.log(4096) / math.log(64)


@pytest.mark.slow
def test_time_grows_linearly_in_operators() -> None:
    def hop(operators: int) -> tuple[float, int]:
        engine = simulated(pipeline(operators, payload=0), Dynamic(8), tuples=64)
        engine.start()
        begin = time.perf_counter()
        engine.sample_events(50 * ENOUGH)
        assert engine.finished()
        return time.perf_counter() - begin, operators

    few, many = (
        best_of(5, lambda operators=operators: hop(operators)) for operators in (1000, 20_000)
    )
    assert many < 4 * few
