"""A graph of 100,000 operators is checked, ordered and resolved in a moment: what a run does before it starts."""

from __future__ import annotations

import time

import pytest

import topologies
from harness.models import Dynamic, Manual, pool_of, port_queues

LIMIT_S = 0.6  # of CPU time; measured 0.01 to 0.2 s on a busy 2-core VM


@pytest.fixture(scope="module", params=[("pipeline", {"operators": 100_000}), ("mix", {"width": 1000, "depth": 100})], ids=str)
def large(request):
    name, values = request.param
    return topologies.build(name, values, 0)[0]


@pytest.mark.heavy
@pytest.mark.parametrize(
    "call",
    [
        lambda graph: graph.check(),
        lambda graph: graph.topological_order(),
        lambda graph: graph.flow(),
        lambda graph: port_queues(graph, Dynamic(threads=2)),
        lambda graph: pool_of(graph, Manual()),
    ],
    ids=["check", "order", "flow", "port_queues", "pool_of"],
)
def test_a_large_graph_is_dealt_with_in_a_moment(large, call):
    before = time.process_time()
    call(large)
    assert time.process_time() - before < LIMIT_S
