"""Nobody waits for what another thread has put off, or holds in its hands, longer than a moment."""

from __future__ import annotations

import threading
from collections import Counter

import pytest

from harness.engine import open_engine
from harness.errors import UserError
from harness.graph import Graph, PortId
from harness.graph.annotations import parallel
from harness.models import Dedicated, Dynamic, Manual, Model
from tests.runtime.shapes import comes_soon, pipeline, until


@pytest.mark.parametrize(
    "model",
    [Manual(), Dedicated(), Dedicated(8), Dynamic(3), Dynamic(3, 8), Dynamic(3, 1)],
    ids=str,
)
def test_an_operator_may_wait_on_one_port_for_what_comes_on_the_other_however_short_the_queues(
    model: Model,
) -> None:
    """FREE: a batch does not keep in its sender's hands what a full queue waits for."""
    met, seen, closed = threading.Condition(), Counter(), threading.Event()

    def meet(sequence: int, value: float) -> float:
        with met:
            seen[sequence] += 1
            met.notify_all()
            met.wait_for(lambda: seen[sequence] == 2 or closed.is_set(), timeout=60)
        return value

    graph = Graph("rendezvous", 8)
    source = graph.source("source")
    pair = graph.python("pair", meet, inputs=2, preserves=True, reentrant=True)
    for port in range(2):
        graph.connect(source, pair.input(port))
        if model == Manual():
            graph.threaded_port(pair.input(port), capacity=8)
    graph.connect(pair, graph.sink("sink"))
    engine = open_engine(graph, model, tuples=200)
    engine.start()
    for _ in range(400):
        if engine.finished():
            break
        engine.sample(0.25)
    finished = engine.finished()
    closed.set()
    with met:
        met.notify_all()
    totals = engine.stop(drain=True, timeout_s=5.0)
    assert finished and totals.correct and totals.received == 400


@pytest.mark.parametrize(
    "model", [Manual(), Dedicated(), Dedicated(3), Dynamic(1), Dynamic(3), Dynamic(2, 5)], ids=str
)
@pytest.mark.parametrize(("width", "keys", "slow"), [(2, 5, 0), (2, 5, 1), (4, 12, 3), (3, 1, 0)])
def test_a_split_by_key_waits_for_its_merge_however_uneven_the_keys(
    model: Model, width: int, keys: int, slow: int
) -> None:
    """BOUND and ONCE: what runs ahead of a slow or rare key is bounded, in order, and all there in
    the end.
    """
    costs = iter([20_000 if branch == slow else 1 for branch in range(width)])

    @parallel(width=width, partition_by=keys)
    def region(graph: Graph, inlet: PortId) -> object:
        work = graph.work("work", next(costs))
        graph.connect(inlet, work)
        return work

    graph = Graph("keys", 8)
    graph.connect(region(graph, graph.source("source")), graph.sink("sink"))
    engine = open_engine(graph, model, tuples=8000)
    engine.start()
    engine.sample(0.1)
    totals = engine.stop(drain=True, timeout_s=60.0)
    assert totals.error is None and totals.correct


def comes_soon_from(
    graph: Graph, model: Model, rare: str, steady: str, most: int, off: tuple[PortId, ...] = ()
) -> None:
    """Run the graph until operator `rare` gets its tuples soon, as `comes_soon` says."""
    engine = open_engine(graph, model)
    if off:
        engine.set_queued(off, False)
    engine.start()
    comes_soon(engine, *(list(graph.operators).index(name) for name in (rare, steady)), most)
    assert engine.stop(drain=False, timeout_s=10.0).correct


def test_a_threaded_port_gets_its_tuples_while_its_sender_is_busy_with_a_sibling() -> None:
    graph = Graph("siblings", 8)
    source = graph.source("source")
    near = graph.work("near", 1)
    far = graph.work("far", busy_us=20_000)
    for operator in (near, far):
        graph.connect(source, operator)
        graph.connect(operator, graph.sink(f"{operator.name} sink"))
    graph.threaded_port(near)
    comes_soon_from(graph, Manual(), "near", "far", 20)


@pytest.mark.parametrize("model", [Manual(), Dedicated(), Dynamic(2)], ids=str)
def test_what_a_filter_rarely_passes_on_does_not_wait_for_more(model: Model) -> None:
    graph = Graph("rare", 8)
    # expensive enough that far fewer than the most pass it between two samples
    steady = graph.work("steady", 1000)
    rare, sink = graph.filter("rare", 1e-4), graph.sink("sink")
    graph.connect(graph.source("source"), steady)
    graph.connect(steady, rare)
    graph.connect(rare, sink)
    if model == Manual():
        graph.threaded_port(sink)
    comes_soon_from(graph, model, "sink", "steady", 1_000_000)


@pytest.mark.parametrize("order", [("near", "far"), ("far", "near")])
def test_a_queued_sibling_does_not_wait_for_a_called_one(order: tuple[str, str]) -> None:
    arrived, missed, met = set(), [], threading.Condition()

    def near(sequence: int, value: float) -> float:
        with met:
            arrived.add(sequence)
            met.notify_all()
        return value

    def far(sequence: int, value: float) -> float:
        # it is called, so it holds the thread that executes `head`
        with met:
            if not met.wait_for(lambda: sequence in arrived, timeout=0.0 if missed else 60.0):
                missed.append(sequence)
        return value

    graph = Graph("siblings", 8)
    head = graph.work("head", 1)
    graph.connect(graph.source("source"), head)
    operators = {
        function.__name__: graph.python(function.__name__, function, preserves=True)
        for function in (near, far)
    }
    for name in order:
        graph.connect(head, operators[name])
        graph.connect(operators[name], graph.sink(f"{name} sink"))
    engine = open_engine(graph, Dynamic(2), tuples=200)
    engine.set_queued((PortId("far", 0), PortId("far sink", 0)), False)
    engine.start()
    for _ in range(400):
        if engine.finished():
            break
        engine.sample(0.1)
    totals = engine.stop(drain=True, timeout_s=5.0)
    assert totals.correct and not missed and len(arrived) == 200


def test_a_thread_that_runs_in_the_stead_of_a_held_one_keeps_running() -> None:
    opened, inside = threading.Event(), []

    def gate(sequence: int, value: float) -> float:
        inside.append(sequence)
        opened.wait(100)
        return value

    graph = Graph("held", 8)
    sink = graph.sink("sink")
    for index in range(3):
        held = graph.python(f"held{index}", gate, preserves=True)
        graph.connect(graph.source(f"one{index}", rates=[(0.01, 100), (1000, 0)]), held)
        graph.connect(held, sink)
    beside = graph.work("beside", 1)
    graph.connect(graph.source("many", rate=1000), beside)
    graph.connect(beside, sink)
    engine = open_engine(graph, Dynamic(2))
    engine.start()
    until(engine, lambda sample: len(inside) == 3)
    for _ in range(6):
        until(engine, lambda sample: sample.sink_tuples > 0, period_s=0.2)
    opened.set()
    assert engine.stop(drain=True, timeout_s=10.0).correct


@pytest.mark.parametrize("seconds", [float("nan"), float("inf"), -1, 1e12, "1", None, True])
def test_a_time_that_is_none_is_refused(seconds: object) -> None:
    engine = open_engine(pipeline(1), Dynamic(1))
    engine.start()
    with pytest.raises(UserError, match=r"period_s must be from 0 to 1,000,000 seconds"):
        engine.sample(seconds)
    with pytest.raises(UserError, match=r"timeout_s must be from 0 to 1,000,000 seconds"):
        engine.stop(drain=True, timeout_s=seconds)
    assert engine.stop(drain=False, timeout_s=5.0).correct


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Dynamic(threads="4"), "threads must be a whole number from 1 to 1024, not '4'"),
        (lambda: Dynamic(threads=2.5), "threads must be a whole number from 1 to 1024, not 2.5"),
        (
            lambda: Dedicated(queue_capacity=True),
            "queue_capacity must be a whole number from 1 to 1048576, not True",
        ),
        (lambda: open_engine("g", Manual()), "graph must be a harness.graph.Graph, not str"),
        (
            lambda: open_engine(pipeline(1), "dynamic"),
            "model must be one of manual, dedicated, dynamic, multilevel, coroutine of "
            "harness.models, not 'dynamic'",
        ),
        (
            lambda: open_engine(pipeline(1), Manual(), tuples=2**65),
            "tuples must be from 0 to 1000000000000000, not",
        ),
        (
            lambda: open_engine(pipeline(1), Manual(), tuples=1.5),
            "tuples must be from 0 to 1000000000000000, not 1.5",
        ),
        (
            lambda: open_engine(pipeline(1), Dynamic(1)).set_queued(5, True),
            "set_queued: no input port is named 5",
        ),
    ],
)
def test_what_an_engine_cannot_run_is_told_in_one_line(make: object, message: str) -> None:
    with pytest.raises(UserError, match=message):
        make()
