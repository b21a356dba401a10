"""Operators as co-routines on virtual threads: throughput and latency by policy, preemption, and
sources that wait.
"""

from __future__ import annotations

import pytest
from harness.runtime.protocol import latency_bounds_ns

from harness.engine import Sample, Totals
from harness.graph import Graph
from harness.models import Coroutine
from tests.simulator.runs import simulated
from topologies import build


def settled(graph: Graph, model: Coroutine) -> tuple[Sample, Totals]:
    """A second and a half of a run on C-Stream's machine, once it has gone on for as long."""
    engine = simulated(graph, model, "cstream")
    engine.start()
    engine.sample(1.5)
    sample = engine.sample(1.5)
    totals = engine.stop(drain=False, timeout_s=0.0)
    assert totals.correct
    return sample, totals


def latency_ms(sample: Sample) -> float:
    """The mean at the sinks, by the upper bounds of its histogram's buckets."""
    bounds = latency_bounds_ns()
    return (
        sum(count * bound for count, bound in zip(sample.latency_counts, bounds, strict=True))
        / sum(sample.latency_counts)
        / 1e6
    )


@pytest.mark.parametrize("topology", ["chain", "replicated", "reverse-tree"])
def test_policies_pass_as_many_tuples_and_differ_in_latency(topology: str) -> None:
    """Operators of 100 us, 4 threads that always have something to do."""
    graph, _ = build(topology, {"busy": 100}, 0)
    chance, by_queue, by_rate = (
        settled(graph, Coroutine(4, policy, queue_capacity=100))[0]
        for policy in ("random", "max_queue_length", "highest_rate")
    )
    assert by_queue.sink_tuples == pytest.approx(chance.sink_tuples, rel=0.05)
    assert by_rate.sink_tuples == pytest.approx(chance.sink_tuples, rel=0.05)
    assert chance.utilisation > 0.97
    assert latency_ms(by_rate) < latency_ms(by_queue)


def test_the_longest_queue_is_that_of_the_moment_and_costs_the_latency_that_the_paper_saw() -> None:
    """In the tree the queues near the source are full, and the others wait for it."""
    graph, _ = build("tree", {"busy": 100, "depth": 6, "branching": 2}, 0)
    chance, by_queue = (
        settled(graph, Coroutine(6, each, queue_capacity=100))[0]
        for each in ("random", "max_queue_length")
    )
    assert by_queue.sink_tuples == pytest.approx(chance.sink_tuples, rel=0.05)
    assert latency_ms(by_queue) > 8 * latency_ms(chance)


@pytest.mark.parametrize("policy", ["highest_rate", "oldest_source"])
def test_a_source_goes_on_where_nothing_else_can(policy: str) -> None:
    """Sources come first here, so the queues of a reverse tree fill up to the last one."""
    graph, _ = build("reverse-tree", {"busy": 100}, 0)
    chance, last = (
        settled(graph, Coroutine(4, each, queue_capacity=100))[0] for each in ("random", policy)
    )
    assert last.sink_tuples == pytest.approx(chance.sink_tuples, rel=0.05)
    assert latency_ms(last) < latency_ms(chance) / 4


def test_twelve_threads_pass_twelve_times_as_much_but_for_the_clock() -> None:
    graph, _ = build("replicated", {"busy": 100, "width": 24}, 0)
    one, twelve = (
        settled(graph, Coroutine(threads, "random", queue_capacity=20))[0].sink_tuples
        for threads in (1, 12)
    )
    assert twelve / one == pytest.approx(
        12 * 2.2 / 2.5, rel=0.03
    )  # clocks of 1 and of 6 busy cores of a socket


def test_a_short_quantum_preempts() -> None:
    graph, _ = build("chain", {"busy": 100}, 0)
    often, seldom = (
        settled(graph, Coroutine(2, "random", quantum_ms=quantum, queue_capacity=100))[
            1
        ].scheduling["drains"]
        for quantum in (1.0, 50.0)
    )
    assert often > 3 * seldom


def test_a_source_that_waits_for_its_time_leaves_its_thread_to_others() -> None:
    graph = Graph("paced", 8)
    work, sink = graph.work("work", busy_us=100), graph.sink("sink")
    graph.connect(graph.source("source", rate=5000.0), work)
    graph.connect(work, sink)
    sample, _ = settled(graph, Coroutine(1))
    assert sample.sink_tuples == pytest.approx(7500, rel=0.01)
    assert sample.utilisation == pytest.approx(0.5, abs=0.05)


def turn_ns(operators: int, caches_ns: float) -> float:
    """Virtual time of a turn in a pipeline on one thread, where a look beyond the first-level cache
    takes `caches_ns`.
    """
    graph, _ = build("pipeline", {"operators": operators, "cost": 1, "payload": 8}, 0)
    constants = {"latency.l2": caches_ns, "latency.l3": caches_ns}
    model = Coroutine(
        1, "least_recently_run", queue_capacity=64
    )  # it looks at no other operator that is ready
    engine = simulated(graph, model, "xeon", constants=constants)
    engine.start()
    engine.sample(0.002)
    return 2e6 / engine.stop(drain=False, timeout_s=0.0).scheduling["drains"]


def test_a_turn_finds_records_cold_that_the_turns_of_others_have_pushed_out() -> None:
    """Its own, its stack, those of ports and neighbours: about a dozen, where those of operators
    and ports alone are three.
    """
    near, far = 1.0, 11.0
    assert turn_ns(1, far) == pytest.approx(turn_ns(1, near), abs=1.0), (
        "what three of them need is in the nearest cache"
    )
    records = (turn_ns(100, far) - turn_ns(100, near)) / (far - near)
    assert 8 < records < 18
