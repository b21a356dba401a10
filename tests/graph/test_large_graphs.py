"""A graph of 40,000 operators is checked, ordered and resolved: what a run does before it starts.

No time is asserted, which a busy host would break. What grows with the square of the operators
takes 10^9 steps here and runs into the limit of the test, which is a hundred times what a linear
step needs.
"""

from __future__ import annotations

import pytest

import topologies
from harness.models import Dynamic, Manual, pool_of, port_queues

pytestmark = [pytest.mark.heavy, pytest.mark.timeout(100)]

OPERATORS = 40_000


@pytest.fixture(
    scope="module",
    params=[
        ("pipeline", {"operators": OPERATORS}),
        ("mix", {"width": OPERATORS // 100, "depth": 100}),
    ],
    ids=str,
)
def large(request):
    name, values = request.param
    return topologies.build(name, values, 0)[0]


def test_a_large_graph_is_checked(large):
    large.check()


def test_a_large_graph_is_ordered(large):
    at = {operator: place for place, operator in enumerate(large.topological_order())}
    assert len(at) == len(large.operators) >= OPERATORS
    assert all(at[stream.source.operator] < at[stream.target.operator] for stream in large.streams)


def test_the_flow_of_a_large_graph_reaches_each_of_its_operators(large):
    assert large.flow().copies_from.keys() == large.operators.keys()


def test_a_large_graph_has_its_queues_and_its_threads_resolved(large):
    assert len(port_queues(large, Dynamic(threads=2))) == sum(1 for _ in large.input_ports())
    assert pool_of(large, Dynamic(threads=2)).threads == 2
    assert pool_of(large, Manual()).threads == 0
