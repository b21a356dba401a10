"""A merge restores the order of its split however unequal the branches are; without one it is lost:
the test can fail.
"""

from __future__ import annotations

import pytest

from harness.engine import open_engine
from harness.graph import Graph
from harness.models import Dedicated, Dynamic, Manual, Model
from tests.runtime.shapes import MODELS, chain, run_to_end, until


def observed(ordered: bool, model: object, tuples: int) -> list[int]:
    """Sequence numbers in the order in which an operator behind the join sees them."""
    graph = Graph("observed", 16)
    split = graph.split("split", 4)
    graph.connect(graph.source("source"), split)
    seen: list[int] = []

    def note(sequence: int, value: float) -> float:
        seen.append(sequence)
        return value

    watch = graph.python("watch", note, preserves=True)
    join = graph.merge("join") if ordered else graph.work("join", 0)
    for branch in range(4):
        graph.connect(
            chain(graph, split.output(branch), 2, (1, 5000, 1, 300)[branch], f"w{branch}_"), join
        )
    graph.connect(join, watch)
    graph.connect(watch, graph.sink("sink"))
    totals = run_to_end(graph, model, tuples)
    assert totals.correct, totals
    return seen


@pytest.mark.parametrize("model", MODELS)
def test_merge_restores_the_order_of_the_split(model: str) -> None:
    assert observed(True, MODELS[model], 3000) == list(range(3000))


def test_without_a_merge_branches_overtake_each_other() -> None:
    seen = observed(False, Dynamic(3), 3000)
    assert sorted(seen) == list(range(3000))
    assert seen != sorted(seen)


def test_a_merge_that_is_cut_short_accounts_for_the_tuples_it_holds() -> None:
    graph = Graph("held", 16)
    split = graph.split("split", 2)
    graph.connect(graph.source("source"), split)
    merge = graph.merge("merge")
    graph.connect(chain(graph, split.output(0), 1, 2_000_000, "slow"), merge)
    graph.connect(chain(graph, split.output(1), 1, 1, "fast"), merge)
    graph.connect(merge, graph.sink("sink"))
    engine = open_engine(graph, Dynamic(2, queue_capacity=50))
    engine.start()
    fast = list(graph.operators).index("fast0")
    until(engine, lambda sample: sample.processed[fast] > 10)
    totals = engine.stop(drain=False, timeout_s=5.0)
    assert totals.in_flight > 10
    assert totals.correct, totals


@pytest.mark.parametrize("sources", [2, 16])
def test_more_sources_than_there_are_slots_for_when_it_is_cut_short_are_no_overtaking(
    sources: int,
) -> None:
    """Each source waits at the split for the merge, and sends what it has once the run is over."""
    graph = Graph("many sources", 16)
    split, merge = graph.split("split", 2), graph.merge("merge")
    for index in range(sources):
        graph.connect(graph.source(f"source{index}"), split)
    slow = chain(graph, split.output(0), 1, 2_000_000, "slow")
    graph.threaded_port(slow, 4000)
    graph.connect(slow, merge)
    graph.connect(chain(graph, split.output(1), 1, 1, "fast"), merge)
    graph.connect(merge, graph.sink("sink"))
    engine = open_engine(graph, Manual())
    engine.start()
    engine.sample(0.3)
    totals = engine.stop(drain=False, timeout_s=5.0)
    assert totals.error is None and totals.correct, totals


def joined_before_the_merge(between: int, inside: bool) -> Graph:
    """Both ways of a split lead to one operator, which leads to the merge; a control port is fed
    from between or behind it.
    """
    graph = Graph("joined", 8)
    head = graph.work("head", 1)
    split = graph.split("split", 2)
    join = graph.work("join", 1)
    merge = graph.merge("merge")
    graph.connect(graph.source("source", window=100), head)
    graph.connect(head, split)
    for port in range(2):
        graph.connect(split.output(port), join)
    last = chain(graph, join, between)
    graph.connect(last, merge)
    graph.connect(merge, graph.sink("sink"))
    graph.connect(last if inside else merge, graph.control(head))
    return graph


@pytest.mark.parametrize("model", [Manual(), Dedicated(), Dynamic(2)], ids=lambda model: model.name)
@pytest.mark.parametrize("between", [0, 2])
def test_a_control_port_fed_from_where_branches_have_joined_sees_no_order_that_could_be_violated(
    between: int, model: Model
) -> None:
    totals = run_to_end(joined_before_the_merge(between, inside=True), model, 1000)
    assert totals.correct and totals.drained, totals
    assert not totals.order_checked


def test_a_control_port_fed_from_the_merge_is_checked() -> None:
    totals = run_to_end(joined_before_the_merge(1, inside=False), Manual(), 1000)
    assert totals.correct and totals.order_checked
