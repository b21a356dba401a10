"""No wake-up is lost: what a burst leaves in the queues is executed in the silence after it, though
nothing new comes.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from harness.graph import Graph
from harness.models import Dedicated, Dynamic, Manual, Model
from tests.runtime.shapes import GRAPHS, pipeline, scheduled_ports
from tests.runtime.test_random_runs import BUILT_IN, graphs
from tests.simulator.runs import EACH_PLACE, PLACES, has_cpus, simulated

BURST_S = [1e-4, 1.5e-4, 2e-4]
MODELS = [
    Manual(),
    Dedicated(),
    Dedicated(queue_capacity=1),
    Dynamic(1),
    Dynamic(2),
    Dynamic(2, queue_capacity=1),
    Dynamic(2, queue_capacity=30),
    Dynamic(2, queued="none"),
]


def silenced(graph: Graph, burst_s: float) -> Graph:
    """While everybody sleeps its sources begin to send as fast as they may, and soon after they are
    silent for an hour.
    """
    for name, operator in list(graph.operators.items()):
        if operator.is_source:
            graph.operators[name] = replace(
                operator, rates=((0.01, 0.0), (burst_s, None), (3600.0, 0.0))
            )
    return graph


def sent_and_nothing_left(graph: Graph, model: Model, place: tuple[str, str], seed: int) -> int:
    """Return how many tuples have been sent, all of which have arrived."""
    machine, software = place
    engine = simulated(graph, model, machine, software=software, seed=seed)
    engine.start()
    engine.sample(0.05)
    while any((sample := engine.sample(0.05)).processed):
        assert sample.time_s < 10.0, "that is long enough"
    assert not any(sample.queue_fill), (model, place)
    totals = engine.stop(drain=False, timeout_s=1.0)
    assert totals.correct and totals.in_flight == 0, (model, place)
    return totals.sent


@pytest.mark.parametrize("place", EACH_PLACE)
@pytest.mark.parametrize(
    "shape", [shape for shape in GRAPHS if shape != "barriers"]
)  # there, what is ahead waits for the rest
def test_silence_finds_all_queues_empty(shape: str, place: tuple[str, str]) -> None:
    sent = 0
    for number, model in enumerate(MODELS):
        sent += sent_and_nothing_left(
            silenced(GRAPHS[shape](), BURST_S[number % 3]), model, place, number
        )
    assert sent > 0


@pytest.mark.parametrize("place", EACH_PLACE)
@pytest.mark.parametrize("model", [Dynamic(1), Dynamic(2), Dedicated()], ids=repr)
def test_a_tuple_that_comes_while_a_thread_goes_to_sleep_is_not_forgotten(
    model: Model, place: tuple[str, str]
) -> None:
    """Three tuples and then silence: with gaps of all lengths around what it takes to find nothing
    and to fall asleep.
    """
    for step in range(150):
        gap_s = 3e-6 + 0.25e-6 * step
        graph = pipeline(1)
        graph.operators["source"] = replace(
            graph.operators["source"], rates=((0.01, 0.0), (2.5 * gap_s, 1 / gap_s), (3600.0, 0.0))
        )
        assert sent_and_nothing_left(graph, model, place, step) == 3


@given(
    graph=graphs(tuple(kind for kind in BUILT_IN if kind != "barrier")),
    model=st.sampled_from(MODELS),
    place=st.sampled_from(PLACES),
    burst_s=st.sampled_from(BURST_S),
    seed=st.integers(0, 100),
)
@settings(max_examples=150, suppress_health_check=list(HealthCheck))
def test_silence_finds_all_queues_of_random_graphs_empty(
    graph: Graph, model: Model, place: tuple[str, str], burst_s: float, seed: int
) -> None:
    assume(has_cpus(place[0], graph, model))
    sent_and_nothing_left(silenced(graph, burst_s), model, place, seed)


def test_as_many_threads_as_ports_work_instead_of_waking_each_other() -> None:
    """From empty queues on: 64 threads for 64 ports that get some tuples at a time, and all of them
    sleep in one place.
    """
    graph = pipeline(192, cost=100)
    model = Dynamic(64, queued="none")
    engine = simulated(graph, model)
    engine.start()
    alone = engine.sample(0.001)
    engine.set_queued(scheduled_ports(graph, model)[2::3], queued=True)
    engine.sample(0.02)
    together = engine.sample(0.001)
    assert (
        together.submitted_tuples > 25 * alone.submitted_tuples
    )  # 5 times when whoever makes a port ready wakes a thread
    engine.stop(drain=False, timeout_s=0.0)
