"""Both engines run the same graph: what it computes, and what each operator executes, does not
depend on who runs it.
"""

from __future__ import annotations

import pytest

from harness.engine import open_engine
from harness.models import Dedicated, Dynamic, Manual, Model, Queue, port_queues
from tests.runtime import shapes
from tests.runtime.shapes import GRAPHS
from tests.simulator.runs import run_to_end, simulated

BALANCES = ("threaded split", "load balance", "load balances in a row")
"""Graphs in which the way of a tuple depends on time."""

MODELS = [Manual(), Dedicated(), Dynamic(2), Dynamic(2, queue_capacity=5)]


@pytest.mark.heavy
@pytest.mark.parametrize("shape", [shape for shape in GRAPHS if shape not in BALANCES])
def test_every_operator_executes_as_many_tuples_on_virtual_threads_as_on_real_ones(
    shape: str,
) -> None:
    for model in MODELS:
        real = shapes.run_to_end(GRAPHS[shape](), model, 300)
        virtual = run_to_end(simulated(GRAPHS[shape](), model, tuples=300))
        assert list(virtual.processed) == list(real.processed)
        assert (virtual.sent, virtual.received, virtual.correct) == (
            real.sent,
            real.received,
            real.correct,
        )


@pytest.mark.parametrize("model", MODELS, ids=repr)
@pytest.mark.parametrize("shape", GRAPHS)
def test_both_engines_promise_the_same_of_a_graph(shape: str, model: Model) -> None:
    """Capacities, threads and the lowest level are the plan's, and both have one plan."""
    real, virtual = open_engine(GRAPHS[shape](), model), simulated(GRAPHS[shape](), model)
    for promise in ("queue_capacity", "threads", "minimum_threads"):
        assert getattr(virtual, promise) == getattr(real, promise)
    assert virtual.layout.batch == real.layout.batch


@pytest.mark.heavy
@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_samples_of_both_engines_have_entries_for_the_same_things(model: Model) -> None:
    graph = GRAPHS["diamond"]()
    for engine in (open_engine(graph, model, profile=True), simulated(graph, model, profile=True)):
        engine.start()
        sample = engine.sample(0.01)
        engine.stop(drain=False, timeout_s=2.0)
        assert len(sample.processed) == len(graph.operators)
        assert len(sample.operator_cost) in (
            0,
            len(graph.operators),
        )  # the runtime's profiler looks seldom
        assert len(sample.queue_fill) == len(sample.write_blocked) == len(list(graph.input_ports()))
        assert sample.queued_ports == sum(
            queue.kind is not Queue.CALLED for queue in port_queues(graph, model)
        )
