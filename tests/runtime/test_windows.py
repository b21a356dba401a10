"""Window punctuation: in its place among the tuples, once, on every way; and the oracle sees if it
is not.
"""

from __future__ import annotations

import pytest

from harness.engine import Totals, open_engine
from harness.graph import Graph
from harness.models import Dynamic, Manual, Model
from tests.runtime.shapes import MODELS, chain, pipeline, run_to_end, windows

ALL: dict[str, Model] = {**MODELS, "dynamic, queues off": Dynamic(2, queued="none")}
EVERY = pytest.mark.parametrize("model", list(ALL.values()), ids=list(ALL))


def right(totals: Totals) -> bool:
    return totals.drained and totals.correct and totals.order_checked


@EVERY
@pytest.mark.parametrize("window", [1, 2, 31, 32, 33, 5000])
def test_windows_of_any_size_keep_their_place_in_a_chain(window: int, model: Model) -> None:
    graph = Graph("chain", 8)
    graph.connect(chain(graph, graph.source("source", window=window), 4), graph.sink("sink"))
    totals = run_to_end(graph, model, 1000)
    assert right(totals) and totals.received == 1000


@EVERY
@pytest.mark.parametrize("ordered", [False, True])
def test_windows_keep_their_place_through_fan_out_filter_split_merge_and_fan_in(
    ordered: bool, model: Model
) -> None:
    assert right(run_to_end(windows(ordered), model, 3000))


@EVERY
def test_windows_that_wait_in_a_merge_for_a_slow_branch_keep_their_places(model: Model) -> None:
    graph = Graph("slow branch", 8)
    split, merge, sieve = graph.split("split", 3), graph.merge("merge"), graph.filter("filter", 0.1)
    graph.connect(graph.source("source", window=3), sieve)
    graph.connect(sieve, split)  # often several windows without a tuple between them
    for branch in range(3):
        graph.connect(
            chain(graph, split.output(branch), 1, (1, 20_000, 1)[branch], f"w{branch}_"), merge
        )
    graph.connect(merge, graph.sink("sink"))
    assert right(run_to_end(graph, model, 5000))


@EVERY
def test_windows_behind_operators_that_drop_everything_still_arrive(model: Model) -> None:
    graph = Graph("empty windows", 8)
    sieve = graph.filter("filter", 0.0)
    user = graph.python("user", lambda sequence, value: None)
    graph.connect(graph.source("source", window=10), sieve)
    graph.connect(sieve, user)
    graph.connect(user, graph.sink("sink"))
    totals = run_to_end(graph, model, 500)
    assert right(totals) and totals.received == 0


def test_ten_thousand_called_operators_pass_a_window_on_without_overflowing_a_stack() -> None:
    graph = Graph("deep", 0)
    graph.connect(chain(graph, graph.source("source", window=5), 10_000), graph.sink("sink"))
    for model in (Manual(), Dynamic(1, queued="none"), Dynamic(1, queue_capacity=1)):
        assert right(run_to_end(graph, model, 20))


# -- the oracle ------------------------------------------------------------------------------------


def with_forged(graph: Graph, port: str, forged: list[int], tuples: int) -> Totals:
    engine = open_engine(graph, Dynamic(2), tuples=tuples)
    engine.core.forge(port, forged)
    engine.start()
    while not engine.finished():
        engine.sample(0.05)
    return engine.stop(drain=True, timeout_s=5.0)


def chain_of(window: int) -> Graph:
    graph = Graph("chain", 8)
    graph.connect(chain(graph, graph.source("source", window=window), 2), graph.sink("sink"))
    return graph


def test_a_window_punctuation_behind_a_later_tuple_is_a_violation_of_order() -> None:
    """The forged tuple 999 comes first; then ten tuples and five punctuations are late, which is
    more than the tuples alone.
    """
    assert with_forged(chain_of(0), "sink[0]", [999], 10).order_violations == 10
    totals = with_forged(chain_of(2), "sink[0]", [999], 10)
    assert totals.order_violations == 15 and not totals.correct


def test_a_tuple_that_nobody_sent_is_found_behind_each_new_kind_of_operator() -> None:
    """In front of a filter, a split by key with its merge, a control port."""
    graph = Graph("kinds", 8)
    sieve = graph.filter("filter", 1.0)
    split = graph.split("split", 2, keys=5)
    merge = graph.merge("merge")
    head, tail = graph.work("head"), graph.work("tail")
    graph.connect(graph.source("source"), head)
    graph.connect(head, sieve)
    graph.connect(sieve, split)
    for port in range(2):
        graph.connect(split.output(port), merge)
    graph.connect(merge, tail)
    graph.connect(tail, graph.control(head))
    graph.connect(tail, graph.sink("sink"))
    assert with_forged(graph, "filter[0]", [], 50).correct
    for port in ("filter[0]", "tail[0]", "head.control[0]"):
        totals = with_forged(graph, port, [7], 50)
        assert not totals.correct and not totals.checksum_ok, port
        assert totals.conservation == [f"operator {port[:-3]!r} was sent 50 tuples and got 51"]
        assert totals.order_violations > 0


@pytest.mark.parametrize("share", [0.0, 0.5])
def test_a_tuple_that_a_filter_drops_is_not_a_lost_one_but_a_forged_one_that_it_drops_is_found(
    share: float,
) -> None:
    def graph() -> Graph:
        graph = Graph("filter", 8)
        head, sieve = graph.work("head"), graph.filter("filter", share)
        graph.connect(graph.source("source"), head)
        graph.connect(head, sieve)
        graph.connect(sieve, graph.sink("sink"))
        return graph

    assert with_forged(graph(), "filter[0]", [], 50).correct
    for sequence in range(5):
        totals = with_forged(graph(), "filter[0]", [sequence], 50)
        assert not totals.correct and not totals.checksum_ok


def test_a_merge_that_meets_a_number_twice_does_not_pass_it_on_in_silence() -> None:
    graph = Graph("merge", 8)
    split, merge = graph.split("split", 2), graph.merge("merge")
    graph.connect(graph.source("source"), split)
    for port in range(2):
        graph.connect(chain(graph, split.output(port), 1, prefix=f"w{port}_"), merge)
    graph.connect(merge, graph.sink("sink"))
    totals = with_forged(graph, "w1_0[0]", [1], 50)
    assert not totals.correct


def test_without_a_fault_it_says_yes() -> None:
    assert with_forged(chain_of(7), "sink[0]", [], 100).correct
    assert with_forged(pipeline(2), "work1[0]", [], 100).correct
