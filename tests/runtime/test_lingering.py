"""A port that had tuples stays on the list of ready ports for one turn, seldom if for nothing (dynamic.pyx, Lingering)."""

from __future__ import annotations

import math

import pytest

from harness.graph import Graph
from harness.models import Dynamic
from tests.runtime.shapes import chain, run_to_end

PORTS, TUPLES = 4, 115
WARY = 16  # times that a port leaves at once, after it stayed for nothing


def drains(simulated: bool) -> int:
    """Of a chain through which tuples go one at a time, with time to spare."""
    graph = Graph("nearly idle", 64)
    graph.connect(chain(graph, graph.source("source", rate=1000.0), PORTS - 1), graph.sink("sink"))
    where = {"machine": "xeon", "simulated": True} if simulated else {}
    totals = run_to_end(graph, Dynamic(1), TUPLES, **where)
    assert totals.correct
    return totals.scheduling["drains"]


def test_a_port_that_stays_for_nothing_does_not_stay_the_next_times() -> None:
    with_tuples, in_vain = TUPLES, math.ceil(TUPLES / (WARY + 1))  # final punctuation comes with the last tuple
    assert drains(simulated=True) == PORTS * (with_tuples + in_vain)


@pytest.mark.timeout(60)
def test_a_nearly_idle_graph_is_seldom_looked_at_in_vain() -> None:
    assert drains(simulated=False) <= 1.1 * PORTS * (TUPLES + 1)
