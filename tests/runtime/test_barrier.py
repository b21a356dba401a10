"""Barriers: a tuple of each input for one that goes on, in order, in bounded memory, under every
model.
"""

from __future__ import annotations

import pytest

from harness.engine import open_engine
from harness.engine.conservation import of_tuples
from harness.graph import Graph
from harness.models import Coroutine, Dedicated, Dynamic, Manual, Model
from tests.runtime.shapes import run_to_end, until
from tests.runtime.test_operators import every_model, watcher


def value_for(sequence: int) -> float:
    """Return what a source gives a tuple (native/tuple.hpp)."""
    return 1.0 + sequence % 1024 / 1024


QUEUES = 1000 + 8 * 32  # tuples of an input that wait at most: in its queue, and in the barrier


def two_sources(seen: list[tuple[int, float]], share: float = 1.0, **of_first: object) -> Graph:
    """first -> filter -> barrier <- second; a watcher behind it."""
    graph = Graph("two sources", 24)
    first, second = graph.source("first", **of_first), graph.source("second")
    sieve = graph.filter("filter", share)
    barrier = graph.barrier("barrier")
    watch = watcher(graph, "watch", seen)
    graph.connect(first, sieve)
    graph.connect(sieve, barrier.input(0))
    graph.connect(second, barrier.input(1))
    graph.connect(barrier, watch)
    graph.connect(watch, graph.sink("sink"))
    return graph


@every_model
def test_the_tuple_of_the_first_input_goes_on_with_the_sum_of_the_values(model: Model) -> None:
    seen: list[tuple[int, float]] = []
    totals = run_to_end(two_sources(seen), model, 3000)
    assert totals.correct and totals.drained and totals.received == 3000
    assert seen == [(sequence, 2 * value_for(sequence)) for sequence in range(3000)]


@every_model
def test_it_ends_with_the_input_that_ends_first_and_what_the_others_still_bring_is_accounted_for(
    model: Model,
) -> None:
    seen: list[tuple[int, float]] = []
    totals = run_to_end(two_sources(seen, share=0.3), model, 3000)
    assert totals.correct and totals.drained and totals.in_flight == 0
    assert totals.sent == 6000 and totals.received == len(seen) and 700 < len(seen) < 1100
    # the nth tuple that passes the filter meets the nth of the other source
    assert [value for _, value in seen] == [
        value_for(sequence) + value_for(n) for n, (sequence, _) in enumerate(seen)
    ]


@every_model
def test_an_input_without_tuples_ends_it_at_once(model: Model) -> None:
    totals = run_to_end(two_sources([], share=0.0), model, 500)
    assert totals.correct and totals.drained and totals.received == 0 and totals.in_flight == 0


@every_model
def test_a_fast_input_waits_for_a_slow_one_in_bounded_memory(model: Model) -> None:
    engine = open_engine(two_sources([], rate=200.0), model)
    engine.start()
    until(engine, lambda sample: sample.sink_tuples > 0)
    totals = engine.stop(drain=False, timeout_s=5.0)
    assert totals.correct and not totals.stuck
    ahead = totals.processed[1] - totals.received
    assert totals.received > 0 and ahead <= QUEUES + 32  # and a batch in the source's hands


@every_model
def test_who_waits_for_an_input_that_brings_nothing_heeds_a_stop(model: Model) -> None:
    engine = open_engine(two_sources([], rates=[(1e5, 0), (1, 1)]), model)
    engine.start()
    until(engine, lambda sample: sample.source_tuples > 0)
    totals = engine.stop(drain=False, timeout_s=5.0)
    assert totals.correct and not totals.stuck and totals.received == 0 and totals.sent > 0


def reconvergent(inputs: int, slow: int = 0) -> Graph:
    """One source, as many ways to a barrier, each longer than the one before; a window punctuation
    now and then.
    """
    graph = Graph("reconvergent", 8)
    source, barrier = graph.source("source", window=50), graph.barrier("barrier", inputs)
    for port in range(inputs):
        last = source
        for step in range(port):
            work = graph.work(f"work{port}.{step}", slow if port == 1 else 1)
            graph.connect(last, work)
            last = work
        graph.connect(last, barrier.input(port))
    graph.connect(barrier, graph.sink("sink"))
    return graph


@every_model
@pytest.mark.parametrize("inputs", [2, 5])
def test_ways_of_one_source_that_meet_again_meet_tuple_by_tuple(inputs: int, model: Model) -> None:
    totals = run_to_end(reconvergent(inputs, slow=2000), model, 2000)
    assert totals.correct and totals.drained and totals.received == 2000
    assert totals.processed[1] == 2000 * inputs


@pytest.mark.parametrize("level", [1, 4])
def test_a_row_of_barriers_runs_where_one_thread_was_asked_for_and_with_queues_that_come_and_go(
    level: int,
) -> None:
    graph = Graph("row", 8)
    last = graph.source("source0")
    for step in range(12):
        barrier = graph.barrier(f"barrier{step}")
        graph.connect(last, barrier.input(step % 2))
        graph.connect(graph.source(f"source{step + 1}"), barrier.input(1 - step % 2))
        last = barrier
    graph.connect(last, graph.sink("sink"))
    engine = open_engine(graph, Dynamic(level, queue_capacity=3), tuples=4000)
    assert engine.minimum_threads == 1 + 24
    engine.start()
    ports = [port for port in graph.input_ports() if port.operator.startswith("barrier")]
    for turn in range(40):
        engine.set_queued(
            [port for place, port in enumerate(ports) if (place + turn) % 3 == 0], turn % 2 == 0
        )
        engine.sample(0.002)
    waited = 0.0
    while not engine.finished() and waited < 300.0:
        waited += engine.sample(0.1).elapsed_s
    totals = engine.stop(drain=True, timeout_s=5.0)
    assert totals.correct and totals.drained and totals.received == 4000


def test_the_pool_has_a_thread_for_each_port_that_may_wait_at_a_barrier_but_not_for_co_routines() -> (
    None
):
    from harness.models import least_threads

    graph = two_sources([])  # the callable counts for one
    assert least_threads(graph, Dynamic(1)) == 1 + 1 + 3
    assert least_threads(graph, Coroutine(1)) == 1 + 1


@pytest.mark.parametrize("model", [Manual(), Dedicated(), Dynamic(2)], ids=repr)
def test_a_tuple_that_comes_twice_is_found(model: Model) -> None:
    """The oracle ends at a barrier, and so has to look there: what is absorbed goes nowhere
    else.
    """
    totals = run_to_end(reconvergent(3), model, 300)
    assert totals.correct
    graph = reconvergent(2)
    operators = list(graph.operators.values())
    names = list(graph.operators)
    streams = [
        (names.index(a.operator), a.port, names.index(b.operator), b.port) for a, b in graph.streams
    ]

    def complaints(executed: int, sent_on: int, held: int, discarded: int) -> list[str]:
        processed = [10, executed, 10, sent_on]
        return of_tuples(
            operators,
            streams,
            processed,
            {1: sent_on},
            {},
            [0] * 4,
            [0, held, 0, 0],
            {1: discarded},
        )

    assert complaints(20, 10, 0, 0) == complaints(20, 8, 1, 3) == []
    assert complaints(20, 9, 0, 0) == [
        "barrier 'barrier' did not send one tuple for one of each input"
    ]
    assert complaints(19, 9, 1, 0) == ["operator 'barrier' was sent 20 tuples and got 19"]


@every_model
def test_a_run_cut_short_accounts_for_what_a_barrier_holds(model: Model) -> None:
    for seconds in (0.005, 0.02, 0.04):
        engine = open_engine(reconvergent(4, slow=50_000), model)
        engine.start()
        engine.sample(seconds)
        totals = engine.stop(drain=False, timeout_s=5.0)
        assert totals.correct and not totals.stuck
