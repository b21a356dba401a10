"""`batch` bounds how many tuples an operator gets at once, under every model and in both engines."""

from __future__ import annotations

import pytest
from harness.runtime.protocol import MAX_BATCH

import topologies
from harness.graph import values
from harness.measurement.run import run_once
from harness.measurement.spec import run_of
from harness.models import Coroutine, Dedicated, Dynamic, Manual, Model, Multilevel
from harness.models.layout import layout_of
from tests.runtime.shapes import pipeline, run_to_end

TUPLES = 2000
WITH_QUEUES = [Dedicated, Dynamic, Coroutine]


def pushes(model: Model) -> int:
    """Return how often tuples were put into a queue, of a bounded run on real threads."""
    totals = run_to_end(pipeline(3, cost=1), model, tuples=TUPLES)
    assert totals.received == TUPLES
    return totals.scheduling["pushes"]


@pytest.mark.heavy
@pytest.mark.parametrize("model", WITH_QUEUES)
def test_with_a_batch_of_1_each_tuple_is_put_into_each_queue_by_itself(model):
    assert pushes(model(batch=1)) >= 4 * TUPLES
    assert pushes(model()) < TUPLES


@pytest.mark.parametrize("model", [Manual, Dedicated, Dynamic, Multilevel, Coroutine])
def test_a_layout_has_the_batch_that_the_model_says(model):
    graph, _ = topologies.build("pipeline", {"operators": 3}, 0)
    assert layout_of(graph, model()).at_once == MAX_BATCH == values.MAX_BATCH
    assert layout_of(graph, model(batch=1)).at_once == 1
    assert layout_of(graph, model(batch=4)).room_behind[0] == [4]
    # a described runtime that moves fewer moves as few
    assert layout_of(graph, model(batch=4), batch=1).batch == 1


@pytest.mark.heavy
@pytest.mark.parametrize("model", ["manual", "dedicated", "dynamic"])
def test_handing_tuples_over_one_by_one_costs_time_in_a_simulation(model):
    def rate(**options) -> float:
        run = run_of(
            "pipeline",
            {"operators": 4, "cost": 1},
            model,
            machine="xeon",
            simulated=True,
            duration_s=0.001,
            **options,
        )
        record = run_once(run)
        assert record["error"] is None and record["correct"]
        assert record["batch"] == options.get("batch")
        return record["sink_tuples_per_s"]

    assert rate(batch=1) < 0.8 * rate()
