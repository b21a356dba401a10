"""A simulated run asks this machine for no memory that it never uses: queues are as large as the
described machine's may be.
"""

from __future__ import annotations

import pytest

from harness.engine import open_engine
from harness.errors import UserError
from harness.graph.values import MAX_PAYLOAD, MAX_QUEUE_CAPACITY
from harness.models import Dedicated, Dynamic, Model
from harness.models.layout import layout_of
from tests.runtime.shapes import pipeline, split_and_join
from tests.simulator.runs import run_to_end, simulated

LARGE = {
    "pipeline": lambda: pipeline(20, payload=MAX_PAYLOAD),
    "data parallelism": lambda: split_and_join(20, 1, payload=MAX_PAYLOAD),
}


@pytest.mark.parametrize(
    "model",
    [Dedicated(MAX_QUEUE_CAPACITY), Dynamic(2, MAX_QUEUE_CAPACITY)],
    ids=lambda model: model.name,
)
@pytest.mark.parametrize("shape", LARGE)
def test_a_graph_whose_queues_do_not_fit_here_is_simulated(shape: str, model: Model) -> None:
    graph = LARGE[shape]()
    with pytest.raises(UserError, match="MiB of memory are available"):
        open_engine(graph, model)
    totals = run_to_end(simulated(graph, model, tuples=100))
    assert totals.correct
    assert totals.drained


def test_a_layout_cannot_be_changed() -> None:
    layout = layout_of(pipeline(3), Dynamic(2))
    for name in ("queues", "ways", "operators", "pool_threads"):
        with pytest.raises(AttributeError):
            setattr(layout, name, ())
    with pytest.raises(AttributeError):
        layout.queues[0].capacity = 1
