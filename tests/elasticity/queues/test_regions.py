"""Regions by hand: what each of them has to do, what is locked, and what a hop costs whom."""

from __future__ import annotations

import pytest
from harness.elasticity.queues.limits import loads_of

from harness.elasticity import layout_of
from harness.elasticity.layout import BATCH
from harness.elasticity.queues.regions import CALL_COST_IN_LOCKS, DirectedLayout
from harness.graph import Graph
from harness.models import Dynamic
from topologies import build


def flow_of(graph):
    return DirectedLayout(layout_of(graph, Dynamic(threads=1), 4))


def chain(count=4):
    return flow_of(build("pipeline", {"operators": count}, 1)[0])


def fan_in():
    """source → split → a, b → join → sink; places: a 0, b 1, join 2, sink 3."""
    graph = Graph("fan-in", 128)
    source, split = graph.source("source"), graph.split("split", outputs=2)
    a, b, join, sink = graph.work("a"), graph.work("b"), graph.work("join"), graph.sink("sink")
    graph.connect(source, split)
    for port, work in enumerate((a, b)):
        graph.connect(split.output(port), work)
        graph.connect(work, join)
    graph.connect(join, sink)
    return flow_of(graph)


SHARES = (0.1, 0.1, 0.2, 0.2, 0.3, 0.1)  # of the fan-in


def test_without_queues_the_source_does_it_all():
    loads = loads_of(chain(), [1 / 6] * 6, frozenset())
    assert loads.work == pytest.approx([1.0])
    assert (loads.hops, loads.queues, loads.own_threads) == (0.0, 0, 1)


def test_a_queue_divides_a_chain_and_each_side_pays_for_the_hop():
    loads = loads_of(
        chain(), [0.1, 0.1, 0.2, 0.2, 0.3, 0.1], frozenset({2})
    )  # before the third work operator
    assert sorted(loads.work) == pytest.approx([0.4, 0.6])
    assert sorted(loads.pushes) == sorted(loads.pops) == [0.0, 1.0]
    assert loads.pushes[loads.work.argmin()] == 1.0, "the side of the source"


def test_all_queues_leave_an_operator_to_each_region():
    loads = loads_of(chain(), [0.1, 0.1, 0.2, 0.2, 0.3, 0.1], frozenset(range(5)))
    assert sorted(loads.work) == pytest.approx([0.1, 0.1, 0.1, 0.2, 0.2, 0.3])
    assert loads.hops == 5.0


def test_what_two_regions_call_is_locked_with_all_that_is_called_behind_it():
    loads = loads_of(fan_in(), SHARES, frozenset({0, 1}))
    regions, lock = loads.work[loads.contenders == 1], loads.work[loads.contenders > 1]
    assert lock == pytest.approx([0.4]), "join and sink"
    assert sorted(regions) == pytest.approx([0.2, 0.4, 0.4]), (
        "each branch with its half of what it calls"
    )
    assert loads.contenders.max() == 2


def test_a_branch_that_is_called_contends_with_one_that_has_a_queue():
    loads = loads_of(fan_in(), SHARES, frozenset({0}))
    assert sorted(loads.work[loads.contenders == 1]) == pytest.approx([0.4, 0.6])


def test_a_queue_where_branches_meet_needs_no_lock():
    loads = loads_of(fan_in(), SHARES, frozenset({0, 1, 2}))
    assert (loads.contenders == 1).all()
    assert sorted(loads.work) == pytest.approx([0.2, 0.2, 0.2, 0.4])


def test_tuples_that_are_shared_out_make_half_a_hop_each():
    loads = loads_of(fan_in(), SHARES, frozenset({0, 1}))
    assert loads.hops == pytest.approx(1.0)
    assert sorted(loads.pops[loads.contenders == 1]) == pytest.approx([0.0, 0.5, 0.5])


def test_a_split_calls_with_a_tuple_at_a_time_and_a_queue_makes_batches_of_them_again():
    cut = loads_of(fan_in(), SHARES, frozenset())
    whole = loads_of(fan_in(), SHARES, frozenset({0, 1, 2}))
    #    split, then a and b and join and sink with single tuples
    assert cut.all_entries == pytest.approx(CALL_COST_IN_LOCKS * (1 / BATCH + 1 + 1 + 1))
    assert whole.all_entries == pytest.approx(CALL_COST_IN_LOCKS * (1 + 1 + 1 + 1) / BATCH)


def test_a_join_gets_pieces_as_they_come_and_not_as_its_largest_ones():
    half = loads_of(
        fan_in(), SHARES, frozenset({0})
    )  # a has batches, b single tuples; the join is locked
    pieces = 0.5 / BATCH + 0.5
    assert half.all_entries == pytest.approx(
        CALL_COST_IN_LOCKS * (1 / BATCH + pieces + pieces) + pieces
    )


def test_a_filter_leaves_runs_of_neighbours():
    graph = Graph("filtered", 128)
    source, some, sink = graph.source("source"), graph.filter("some", 0.25), graph.sink("sink")
    graph.connect(source, some)
    graph.connect(some, sink)
    loads = loads_of(flow_of(graph), [0.5, 0.25, 0.25], frozenset())
    runs = (
        0.75 + 0.25 / BATCH
    )  # for a tuple that passes: a run ends where the next one does not pass, or the batch does
    assert loads.all_entries == pytest.approx(CALL_COST_IN_LOCKS * (1 / BATCH + 0.25 * runs))


def test_the_work_of_all_regions_is_all_the_work():
    graph = build("bushy", {"width": 3, "depth": 4}, 1)[0]
    flow = flow_of(graph)
    shares = [1 / 82] * 82
    for queued in (frozenset(), frozenset({3, 7, 20, 60}), frozenset(range(81))):
        loads = loads_of(flow, shares, queued)
        assert loads.work[loads.contenders == 1].sum() == pytest.approx(1.0)


def test_two_sources_are_two_regions_and_two_threads():
    graph = Graph("two", 128)
    one, two, work, sink = (
        graph.source("one"),
        graph.source("two"),
        graph.work("work"),
        graph.sink("sink"),
    )
    for source in (one, two):
        graph.connect(source, work)
    graph.connect(work, sink)
    loads = loads_of(flow_of(graph), [0.1, 0.2, 0.4, 0.3], frozenset())
    assert loads.own_threads == 2
    assert sorted(loads.work) == pytest.approx([0.45, 0.55, 0.7])
    assert loads.work[loads.contenders > 1] == pytest.approx([0.7]), "work and sink are locked"


def test_a_port_with_a_thread_of_its_own_is_a_region_at_no_cost():
    graph = Graph("threaded", 128)
    source, one, sink = graph.source("source"), graph.work("one"), graph.sink("sink")
    graph.connect(source, one)
    graph.connect(one, sink)
    graph.threaded[one.input(0)] = 1000
    loads = loads_of(flow_of(graph), [0.2, 0.5, 0.3], frozenset())
    assert sorted(loads.work) == pytest.approx([0.2, 0.8])
    assert (loads.hops, loads.own_threads) == (0.0, 2)
