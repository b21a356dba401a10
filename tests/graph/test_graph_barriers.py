"""Tests of which barriers a graph may have: inputs that share a source get the same number of its
tuples.
"""

from __future__ import annotations

import pytest

from harness.graph import Graph, GraphError


def drops_on_one_way(graph: Graph) -> None:
    source, barrier = graph.source("source"), graph.barrier("barrier")
    graph.chain(source, graph.filter("half", 0.5), barrier.input(0))
    graph.chain(source, barrier.input(1), graph.sink("sink"))


def deals_unevenly(graph: Graph) -> None:
    work, barrier = graph.work("work", outputs=3), graph.barrier("barrier")
    graph.chain(graph.source("source"), work)
    for port in range(3):
        graph.connect(work.output(port), barrier.input(min(port, 1)))
    graph.chain(barrier, graph.sink("sink"))


def another_source_joins_one_way(graph: Graph) -> None:
    source, barrier = graph.source("source"), graph.barrier("barrier")
    graph.chain(source, barrier.input(0))
    graph.chain(source, barrier.input(1), graph.sink("sink"))
    graph.chain(graph.source("other"), barrier.input(1))


def by_key(graph: Graph) -> None:
    split, barrier = graph.split("split", 2, keys=100), graph.barrier("barrier")
    graph.chain(graph.source("source"), split)
    graph.chain(split.output(0), barrier.input(0))
    graph.chain(split.output(1), barrier.input(1), graph.sink("sink"))


def users_function_may_drop(graph: Graph) -> None:
    source, barrier = graph.source("source"), graph.barrier("barrier")
    graph.chain(source, graph.python("may drop", lambda sequence, value: None), barrier.input(0))
    graph.chain(source, barrier.input(1), graph.sink("sink"))


def behind_a_barrier_of_another_source(graph: Graph) -> None:
    source, first, second = graph.source("source"), graph.barrier("first"), graph.barrier("barrier")
    graph.chain(source, first.input(0))
    graph.chain(graph.source("other"), first.input(1), second.input(0))
    graph.chain(source, second.input(1), graph.sink("sink"))


STAND_STILL = [
    drops_on_one_way,
    deals_unevenly,
    another_source_joins_one_way,
    by_key,
    users_function_may_drop,
    behind_a_barrier_of_another_source,
]


@pytest.mark.parametrize("build", STAND_STILL)
def test_a_barrier_that_would_wait_for_ever_is_refused_in_one_line(build):
    graph = Graph("g")
    build(graph)
    with pytest.raises(GraphError) as told:
        graph.check()
    assert str(told.value) == (
        "graph 'g': barrier 'barrier': inputs 0 and 1 both get tuples of 'source', but not the "
        "same number, "
        "so that it would wait for ever"
    )


def drops_before_ways_part(graph: Graph) -> None:
    half, barrier = graph.work("half", selectivity=0.5), graph.barrier("barrier", 3)
    graph.chain(graph.source("source"), half)
    for port in range(3):
        graph.chain(half, graph.work(f"work{port}"), barrier.input(port))
    graph.chain(barrier, graph.sink("sink"))


def deals_evenly(graph: Graph) -> None:
    work, barrier = graph.work("work", outputs=4), graph.barrier("barrier")
    graph.chain(graph.source("source"), work)
    for port in range(4):
        graph.connect(work.output(port), barrier.input(port % 2))
    graph.chain(barrier, graph.sink("sink"))


def a_merge_has_brought_all_back(graph: Graph) -> None:
    source = graph.source("source")
    split = graph.split("split", 2, keys=100)
    merge = graph.merge("merge")
    barrier = graph.barrier("barrier")
    graph.chain(source, split)
    for port in range(2):
        graph.chain(split.output(port), graph.work(f"work{port}"), merge)
    graph.chain(merge, barrier.input(0))
    graph.chain(source, barrier.input(1), graph.sink("sink"))


def sources_of_their_own(graph: Graph) -> None:
    barrier = graph.barrier("barrier")
    graph.chain(graph.source("a"), graph.filter("half", 0.5), barrier.input(0))
    graph.chain(graph.source("b"), barrier.input(1), graph.sink("sink"))


def behind_a_barrier_of_the_same(graph: Graph) -> None:
    source, first, second = graph.source("source"), graph.barrier("first"), graph.barrier("second")
    for port in range(2):
        graph.chain(source, graph.work(f"work{port}"), first.input(port))
    graph.chain(first, second.input(0))
    graph.chain(source, second.input(1), graph.sink("sink"))


@pytest.mark.parametrize(
    "build",
    [
        drops_before_ways_part,
        deals_evenly,
        a_merge_has_brought_all_back,
        sources_of_their_own,
        behind_a_barrier_of_the_same,
    ],
)
def test_a_barrier_whose_inputs_agree_or_have_sources_of_their_own_is_sound(build):
    graph = Graph("g")
    build(graph)
    graph.check()


def test_what_a_barrier_passes_on_counts_once_at_its_inputs_and_again_behind_it():
    graph = Graph("g")
    sources_of_their_own(graph)
    graph.chain(graph.operators["barrier"], graph.sink("second"))
    flow = graph.flow()
    assert flow.copies_from["a"] == flow.copies_from["b"] == flow.copies_from["barrier"] == 1
    assert flow.copies_behind == {"barrier": 2}
    assert flow.copies is None
