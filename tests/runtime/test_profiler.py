"""The profiler says roughly what operators cost, is off unless asked for, and its windows are never
empty.
"""

from __future__ import annotations

import time
from collections import deque
from statistics import fmean

import psutil
import pytest

from harness.engine import Sample, open_engine
from harness.errors import UserError
from harness.graph import Graph
from harness.models import Coroutine, Dedicated, Dynamic, Manual, Model
from tests.runtime.shapes import at_most_threads, chain, pipeline, until


def unequal() -> Graph:
    """Two operators that cost 1 : 10."""
    graph = Graph("unequal", 8)
    source = graph.source("source")
    light = graph.work("light", 30_000)
    heavy = graph.work("heavy", 300_000)
    graph.connect(source, light)
    graph.connect(light, heavy)
    graph.connect(heavy, graph.sink("sink"))
    return graph


def share(sample: Sample, place: int) -> float:
    """Return the share of an operator, 0 while the profiler has had no look."""
    return sample.operator_cost[place] if len(sample.operator_cost) else 0.0


@pytest.mark.parametrize(
    "model",
    [Manual(), Dynamic(1), Dynamic(2, queued="none"), Coroutine(1), Coroutine(2, replicas=3)],
    ids=["manual", "dynamic", "queues off", "coroutine", "replicas"],
)
def test_shares_are_roughly_those_of_the_costs_and_add_up_to_one(model: Model) -> None:
    engine = open_engine(unequal(), model, profile=True)
    engine.start()
    last = deque(maxlen=5)

    def fit(sample: Sample) -> bool:
        """Shares are of a recent window. The first ones have the time in which the light operator
        fills the queue behind it, and on a busy host they have few looks.
        """
        if len(sample.operator_cost):
            assert abs(sum(sample.operator_cost) - 1.0) < 1e-9
            last.append(sample.operator_cost)
        if len(last) < 5:
            return False
        _, light, heavy, sink = (fmean(shares) for shares in zip(*last, strict=True))
        return heavy > 0.6 and light < 0.3 and heavy > 3 * light and sink < 0.1

    until(engine, fit, period_s=0.3)
    assert engine.stop(drain=False, timeout_s=5.0).correct


def test_an_operator_called_from_another_gets_its_own_share() -> None:
    """Under manual all is one thread's call; the heavy one sits behind a fan-out beside light
    ones.
    """
    graph = Graph("fan-out", 8)
    head, sink = graph.work("head", 1000), graph.sink("sink", inputs=3)
    graph.connect(graph.source("source"), head)
    for port, cost in enumerate((1000, 300_000, 1000)):
        graph.connect(chain(graph, head, 1, cost, f"branch{port}_"), sink.input(port))
    engine = open_engine(graph, Manual(), profile=True)
    engine.start()
    place = list(graph.operators).index("branch1_0")
    until(engine, lambda sample: share(sample, place) > 0.7)
    assert engine.stop(drain=False, timeout_s=5.0).correct


@pytest.mark.parametrize("model", [Dynamic(2), Coroutine(2)], ids=lambda model: model.name)
def test_a_users_operator_that_waits_shows_as_busy_in_it(model: Model) -> None:
    """Time counts for the operator in which a thread is, whatever the thread does there."""
    graph = Graph("waits", 8)
    source = graph.source("source", rate=50)
    user = graph.python("user", lambda sequence, value: time.sleep(0.01) or value)
    graph.connect(source, user)
    graph.connect(user, graph.sink("sink"))
    engine = open_engine(graph, model, profile=True)
    engine.start()
    until(engine, lambda sample: share(sample, 1) > 0.8)
    assert engine.stop(drain=True, timeout_s=5.0).correct


@pytest.mark.parametrize("model", [Manual(), Dedicated(), Dynamic(2)], ids=lambda model: model.name)
def test_without_being_asked_for_there_is_none(model: Model) -> None:
    engine = open_engine(pipeline(2), model)
    engine.start()
    assert list(engine.sample(0.05).operator_cost) == []
    assert engine.stop(drain=True, timeout_s=5.0).correct


def test_a_window_is_never_empty_once_there_were_samples() -> None:
    """Across the change of windows, every 2.5 s, with readers that come far more often than
    that.
    """
    engine = open_engine(unequal(), Dynamic(2), profile=True)
    engine.start()
    until(engine, lambda sample: len(sample.operator_cost) > 0)
    for _ in range(55):
        shares = engine.sample(0.05).operator_cost
        assert len(shares) == 4 and abs(sum(shares) - 1.0) < 1e-9
    assert engine.stop(drain=False, timeout_s=5.0).correct


def test_idle_at_most_threads_in_no_operator() -> None:
    graph = Graph("silent", 8)
    graph.connect(
        chain(graph, graph.source("source", rates=[(1e5, 0), (0.001, 1)]), 2), graph.sink("sink")
    )
    engine = open_engine(graph, Dynamic(3), profile=True)
    engine.start()
    assert list(engine.sample(0.2).operator_cost) == []
    assert engine.stop(drain=True, timeout_s=5.0).correct


def test_a_profiled_engine_that_is_dropped_or_stopped_early_leaves_no_thread() -> None:
    before = psutil.Process().num_threads()
    for _ in range(5):
        engine = open_engine(pipeline(2), Dynamic(2), profile=True)
        engine.start()
        del engine
        engine = open_engine(pipeline(2), Dynamic(2), profile=True)
        engine.start()
        engine.stop(drain=False, timeout_s=5.0)
        open_engine(pipeline(2), Dynamic(2), profile=True).stop(drain=True, timeout_s=1.0)
    assert at_most_threads(before)


def test_what_was_before_the_window_is_forgotten() -> None:
    """Two operators of which the first keeps its thread for 100 tuples, and the second one from
    there on.
    """
    graph = Graph("moves", 8)
    first = graph.python(
        "first", lambda sequence, value: (sequence < 100 and time.sleep(0.005)) or value
    )
    second = graph.python(
        "second", lambda sequence, value: (sequence >= 100 and time.sleep(0.005)) or value
    )
    graph.connect(graph.source("source"), first)
    graph.connect(first, second)
    graph.connect(second, graph.sink("sink"))
    engine = open_engine(graph, Manual(), profile=True, profile_window_s=0.2)
    engine.start()
    until(engine, lambda sample: share(sample, 0) > 0.9)
    until(engine, lambda sample: share(sample, 1) > 0.9)
    assert engine.stop(drain=False, timeout_s=5.0).correct


@pytest.mark.parametrize("window_s", [0.0, -1.0, float("nan"), float("inf")])
def test_a_window_that_cannot_be_is_refused(window_s: float) -> None:
    with pytest.raises(UserError, match="profile_window_s must be above 0 and finite, not"):
        open_engine(pipeline(2), Manual(), profile=True, profile_window_s=window_s)
