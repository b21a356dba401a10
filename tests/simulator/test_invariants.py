"""ORDER, ONCE, ALONE, BOUND and ENDS on every shape under every model, simulated: the oracle finds
nothing.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest

from harness.engine import Totals
from harness.graph import Graph
from harness.models import Coroutine, Dedicated, Dynamic, Manual
from tests.runtime.shapes import GRAPHS, MODELS, pipeline, split_and_join
from tests.runtime.test_invariants import ARRIVING, BALANCES, DROPPING
from tests.simulator.runs import EACH_PLACE, IN_TURN, models_in_turn, run_to_end, simulated
from topologies import TOPOLOGIES, build


def assert_right(graph: Graph, totals: Totals, tuples: int, arriving: int | None) -> None:
    """Everything has arrived in order, and nothing is left. `arriving`: at the sinks, for each that
    a source sends.
    """
    sources = sum(operator.is_source for operator in graph.operators.values())
    assert totals.drained
    assert totals.sent == sources * tuples
    if arriving is not None:
        assert totals.received == arriving * tuples
    assert totals.in_flight == 0
    assert totals.order_checked and totals.order_violations == 0
    assert totals.checksum_ok
    assert totals.conservation == []
    assert totals.correct


@pytest.mark.parametrize("places", IN_TURN)
@pytest.mark.parametrize("shape", GRAPHS)
def test_every_tuple_arrives_once_in_order_and_the_run_ends_by_itself(
    shape: str, places: tuple[tuple[str, str], ...]
) -> None:
    arriving = None if shape in DROPPING else ARRIVING.get(shape, 1)
    for number, model, place in models_in_turn(shape, places):
        graph = GRAPHS[shape]()
        totals = run_to_end(simulated(graph, model, **place, tuples=200, seed=number))
        assert_right(graph, totals, 200, arriving)


@pytest.mark.parametrize("tuples", [0, 1])
@pytest.mark.parametrize("shape", GRAPHS)
def test_hardly_any_tuples_are_enough_to_end_a_run(shape: str, tuples: int) -> None:
    arriving = None if shape in DROPPING else ARRIVING.get(shape, 1)
    for model in MODELS.values():
        graph = GRAPHS[shape]()
        assert_right(graph, run_to_end(simulated(graph, model, tuples=tuples)), tuples, arriving)


@pytest.mark.parametrize("topology", TOPOLOGIES)
def test_every_topology_keeps_the_invariants_under_every_model(topology: str) -> None:
    """With the work of the experiments: 100 FLOP and more an operator."""
    for model in (Manual(), Dedicated(), Dynamic(1), Dynamic(12), Coroutine(1), Coroutine(12)):
        few = {"records": 10} if "records" in TOPOLOGIES[topology].parameters else {}
        graph, _ = build(topology, few, 0)
        if any(operator.users for operator in graph.operators.values()):
            pytest.skip("nobody knows what users' own operators cost")
        engine = simulated(graph, model, tuples=40)
        assert run_to_end(engine).correct and engine.finished()


@pytest.mark.parametrize("places", IN_TURN)
@pytest.mark.parametrize(
    "shape",
    [
        "pipeline",
        "merge, skewed",
        "diamond",
        "data-parallel",
        "split fan-out",
        "filters",
        "selective",
        "barriers",
        *BALANCES,
    ],
)
def test_a_run_cut_short_accounts_for_every_tuple_left_behind(
    shape: str, places: tuple[tuple[str, str], ...]
) -> None:
    for _, model, place in models_in_turn(shape, places):
        engine = simulated(GRAPHS[shape](), model, **place)
        engine.start()
        engine.sample_events(3000)
        totals = engine.stop(drain=False, timeout_s=0.0)
        assert totals.correct, (model, totals)
        assert totals.sent > 0 and not totals.drained


def test_nothing_is_left_of_a_run_whose_last_operator_closed_before_others_gave_back_their_last_batch() -> (
    None
):
    for events in range(500, 10_000, 500):
        engine = simulated(split_and_join(7, 3, ordered=True, skew=True), Dedicated(), "local")
        engine.start()
        engine.sample_events(events)
        totals = engine.stop(drain=True, timeout_s=10.0)
        assert totals.correct and totals.in_flight == 0, (events, totals.conservation)


@pytest.mark.parametrize("places", IN_TURN)
@pytest.mark.parametrize(
    "shape", ["pipeline", "merge, skewed", "keys, merge", "windows", "load balance"]
)
def test_a_run_that_is_told_to_end_drains_what_is_queued(
    shape: str, places: tuple[tuple[str, str], ...]
) -> None:
    for _, model, place in models_in_turn(shape, places):
        engine = simulated(GRAPHS[shape](), model, **place)
        engine.start()
        engine.sample_events(3000)
        totals = engine.stop(drain=True, timeout_s=10.0)
        assert totals.correct and totals.drained and totals.in_flight == 0, (model, totals)


@pytest.mark.parametrize("capacity", [1, 7, 64])
@pytest.mark.parametrize("software", ["millrace", "streams-4.2"])
def test_queues_hold_no_more_than_their_capacity(capacity: int, software: str) -> None:
    """BOUND: with a slow operator at the end, all queues before it are full, and not more."""
    short = {"queue_capacity": capacity}
    for model in (Dedicated(**short), Dynamic(3, **short), Coroutine(3, **short)):
        graph = pipeline(5)
        graph.operators["work4"] = replace(graph.operators["work4"], cost=100_000)
        engine = simulated(graph, model, software=software)
        engine.start()
        fill = [engine.sample(2e-3).queue_fill for _ in range(10)]
        totals = engine.stop(drain=False, timeout_s=0.0)
        assert all(0.0 <= share <= 1.0 for shares in fill for share in shares)
        assert max(shares[4] for shares in fill) >= 0.5
        assert (
            totals.correct and totals.in_flight <= 6 * capacity + 64
        )  # and batches in the hands of threads


def test_one_thread_is_enough_for_any_graph() -> None:
    """FREE: a pool of one executes every port, and full queues of one tuple do not stop it."""
    for shape in ("data-parallel", "merge, skewed", "diamond", "shared splitters"):
        for software, model in product(("millrace", "streams-4.2"), (Dynamic, Coroutine)):
            engine = simulated(
                GRAPHS[shape](), model(1, queue_capacity=1), software=software, tuples=300
            )
            assert run_to_end(engine).correct and engine.finished()


def test_ten_thousand_operators_deep_do_not_overflow_a_stack() -> None:
    """Queues of one tuple make every push drain the next queue from within: nested as deep as the
    graph.
    """
    for model in (
        Manual(),
        Dynamic(1, queue_capacity=1),
        Dynamic(3, queue_capacity=2),
        Coroutine(3, queue_capacity=2),
    ):
        totals = run_to_end(simulated(pipeline(10_000, payload=0), model, tuples=3))
        assert totals.correct and totals.received == 3


def test_a_run_that_does_not_come_to_its_end_is_not_called_drained() -> None:
    engine = simulated(split_and_join(), Dynamic(2), tuples=1000)
    totals = run_to_end(engine, events=50)
    assert not totals.drained and totals.correct and totals.in_flight > 0


@pytest.mark.parametrize("place", EACH_PLACE)
def test_a_timed_run_fills_no_queue_of_a_port_that_is_called(place: tuple[str, str]) -> None:
    """Tuples before a port that its producers call would be overtaken (ORDER)."""
    machine, software = place
    engine = simulated(
        pipeline(20),
        Dynamic(threads=2, queued="none", queue_capacity=100),
        machine,
        software=software,
    )
    engine.start()
    assert set(engine.sample_events(1).queue_fill) == {0.0}
    totals = engine.stop(drain=True, timeout_s=1.0)
    assert totals.drained and totals.in_flight == 0
    assert totals.correct
