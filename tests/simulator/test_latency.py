"""The latency that sinks record is time as it passes: on busy cores steps take as much longer there
as for their threads.
"""

from __future__ import annotations

import pytest
from harness.runtime.protocol import MAX_BATCH, latency_bounds_ns

from harness.graph import Graph
from harness.models import Manual
from tests.simulator.runs import simulated


def pipelines(count: int, operators: int = 20) -> Graph:
    """Return as many pipelines by themselves."""
    graph = Graph("pipelines", 64)
    for number in range(count):
        last = graph.source(f"source{number}")
        for place in range(operators):
            work = graph.work(f"work{number}_{place}", 1)
            graph.connect(last, work)
            last = work
        graph.connect(last, graph.sink(f"sink{number}"))
    return graph


@pytest.mark.parametrize(
    ("machine", "count"), [("xeon", 1), ("xeon", 44), ("xeon", 176), ("power8", 184)]
)
def test_tuples_that_are_called_through_are_as_late_as_their_batch_takes(
    machine: str, count: int
) -> None:
    """The first tuple of a batch is born when the batch before it is done, and seen at the sink
    when its own is.
    """
    engine = simulated(pipelines(count), Manual(), machine)
    engine.start()
    engine.sample(5e-4)
    sample = engine.sample(2e-3)
    batch_ns = MAX_BATCH * count * sample.elapsed_s / sample.sink_tuples * 1e9
    bounds = latency_bounds_ns()
    mean_ns = sum(n * bound for n, bound in zip(sample.latency_counts, bounds, strict=True)) / sum(
        sample.latency_counts
    )
    assert mean_ns == pytest.approx(batch_ns, rel=0.1)
