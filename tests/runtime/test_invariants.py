"""ORDER, ONCE, ALONE and ENDS on every shape under every model: the run's oracle finds nothing, the counts are right."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.engine import open_engine
from harness.graph import Graph
from harness.models import Dedicated, Dynamic, Manual
from tests.runtime.shapes import GRAPHS, MODELS, run_to_end

ARRIVING = {
    "diamond": 3,
    "threaded ports": 3,
    "split fan-out": 4,
    "shared splitters": 3,
    "annotations": 2,
    "several sources": 6,
    "load balances in a row": 4,
}
"""Tuples at the sinks for each that every source sends, where it is not one."""

BALANCES = ("threaded split", "load balance", "load balances in a row")


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("shape", GRAPHS)
@pytest.mark.parametrize("tuples", [0, 1, 6000])
def test_every_tuple_arrives_once_in_order_and_the_run_ends_by_itself(shape: str, model: str, tuples: int) -> None:
    graph = GRAPHS[shape]()
    totals = run_to_end(graph, MODELS[model], tuples)
    sources = sum(operator.is_source for operator in graph.operators.values())
    assert totals.error is None and not totals.stuck
    assert totals.drained
    assert totals.sent == sources * tuples
    assert totals.received == ARRIVING.get(shape, 1) * tuples or shape in ("filters", "selective", "windows", "windows, merge")
    assert totals.in_flight == 0
    assert totals.order_checked and totals.order_violations == 0
    assert totals.checksum_ok
    assert totals.conservation == []
    assert totals.correct


@pytest.mark.parametrize("model", MODELS)
def test_each_operator_executes_exactly_the_tuples_sent_to_it(model: str) -> None:
    graph = GRAPHS["diamond"]()
    totals = run_to_end(graph, MODELS[model], 1000)
    executed = dict(zip(graph.operators, totals.processed, strict=True))
    assert executed == {
        "first": 1000,
        "second": 1000,
        "head": 1000,
        "left": 1000,
        "right": 1000,
        "join": 3000,
        "spread": 3000,
        "near": 1000,
        "far": 2000,
    }


@pytest.mark.parametrize("model", MODELS)
def test_a_run_cut_short_accounts_for_every_tuple_left_behind(model: str) -> None:
    for shape in ("pipeline", "merge, skewed", "diamond", "data-parallel", "split fan-out", *BALANCES):
        engine = open_engine(GRAPHS[shape](), MODELS[model])
        engine.start()
        engine.sample(0.03)
        totals = engine.stop(drain=False, timeout_s=5.0)
        assert totals.correct, (shape, totals)
        assert totals.sent > 0


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    """Random acyclic graphs: fan-out, fan-in, several ports, splits, operators of very different cost, several sources."""
    graph = Graph("random", draw(st.sampled_from([0, 7, 96, 200])))
    open_ports = [graph.source(f"source{index}").output(0) for index in range(draw(st.integers(1, 3)))]
    for index in range(draw(st.integers(0, 9))):
        kind = draw(st.sampled_from(["work", "work", "split", "spread", "join"]))
        inputs = 2 if kind == "join" else 1
        if kind == "split":
            operator = graph.split(f"op{index}", draw(st.integers(1, 4)))
        else:
            outputs = draw(st.integers(2, 3)) if kind == "spread" else 1
            operator = graph.work(f"op{index}", draw(st.sampled_from([0, 1, 30, 20_000])), inputs, outputs)
        for port in range(inputs):
            for origin in draw(st.lists(st.sampled_from(open_ports), min_size=1, max_size=3, unique=True)):
                graph.connect(origin, operator.input(port))
        open_ports += [operator.output(port) for port in range(operator.outputs)]
    sink = graph.sink("sink", inputs=draw(st.integers(1, 2)))
    for port, targets in graph.successors().items():
        if not targets:
            graph.connect(port, sink.input(draw(st.integers(0, sink.inputs - 1))))
    for port, origins in graph.predecessors().items():
        if not origins:
            graph.connect(draw(st.sampled_from(open_ports)), port)
    return graph


@given(
    graph=graphs(),
    model=st.one_of(
        st.just(Manual()),
        st.builds(Dedicated, queue_capacity=st.sampled_from([1, 2, 30, 1000])),
        st.builds(Dynamic, threads=st.integers(1, 6), queue_capacity=st.sampled_from([1, 2, 30, 1000])),
    ),
    tuples=st.sampled_from([0, 1, 50, 700]),
)
@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
def test_random_graphs_keep_every_invariant(graph: Graph, model: object, tuples: int) -> None:
    totals = run_to_end(graph, model, tuples)
    assert totals.drained and totals.correct, totals
    flow = graph.flow()
    if flow.copies is not None:
        assert totals.received == totals.sent * flow.copies
