"""A port that had tuples stays on the list for a turn, seldom if for nothing; who keeps up rests
(dynamic.hpp).
"""

from __future__ import annotations

import math
import time

from harness.runtime.protocol import CHEAP_BATCH, REST_NS, WARY

from harness.engine import open_engine
from harness.graph import Graph
from harness.models import Dynamic
from tests.runtime.shapes import chain, run_to_end

PORTS, TUPLES = 4, 115


def drains(simulated: bool) -> int:
    """Return the drains of a chain through which tuples go one at a time, with time to spare."""
    graph = Graph("nearly idle", 64)
    graph.connect(chain(graph, graph.source("source", rate=1000.0), PORTS - 1), graph.sink("sink"))
    where = {"machine": "xeon", "simulated": True} if simulated else {}
    totals = run_to_end(graph, Dynamic(1), TUPLES, **where)
    assert totals.correct
    return totals.scheduling["drains"]


def test_a_port_that_stays_for_nothing_does_not_stay_the_next_times() -> None:
    with_tuples, in_vain = (
        TUPLES,
        math.ceil(TUPLES / (WARY + 1)),
    )  # final punctuation comes with the last tuple
    assert drains(simulated=True) == PORTS * (with_tuples + in_vain)


def test_a_nearly_idle_graph_is_seldom_looked_at_in_vain() -> None:
    assert drains(simulated=False) <= 1.1 * PORTS * (TUPLES + 1)


def fan(rate: float | None) -> Graph:
    """A few tuples of each batch go one of 20 ways, so that a scheduler thread keeps up with the
    source. [tuples/s]
    """
    graph = Graph("keeps up", 64)
    split, sink = graph.split("split", 20), graph.sink("sink")
    graph.connect(graph.source("source", rate=rate), split)
    for way in range(20):
        graph.connect(chain(graph, split.output(way), 1, prefix=f"way{way}."), sink)
    return graph


def test_a_thread_that_keeps_up_rests_and_finds_more_tuples_at_a_time() -> None:
    totals = run_to_end(fan(4e6), Dynamic(1), 100_000, machine="xeon", simulated=True)
    assert totals.correct
    assert 2 * 100_000 / totals.scheduling["drains"] > 8  # half as many without rests


def test_a_thread_on_a_real_core_rests_after_drains_of_a_few_tuples() -> None:
    """So these take it no less than a rest each; a fast core does a quarter more of them
    without.
    """
    engine = open_engine(fan(None), Dynamic(1))
    began = time.monotonic()
    engine.start()
    engine.sample(0.5)
    totals = engine.stop(drain=False, timeout_s=10.0)
    ended = time.monotonic()
    in_batches = 2 * totals.sent / CHEAP_BATCH  # through two queues
    assert totals.correct
    assert totals.scheduling["drains"] <= (ended - began) / (REST_NS * 1e-9) + in_batches
