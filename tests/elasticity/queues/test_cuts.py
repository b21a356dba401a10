"""Placements that divide the work, and those beside one."""

from __future__ import annotations

import pytest
from harness.elasticity.queues.limits import loads_of
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.bench.queues.graphs import random_graph
from harness.elasticity import layout_of
from harness.elasticity.queues.cuts import Dominators, neighbours, placements
from harness.elasticity.queues.regions import DirectedLayout
from harness.models import Dynamic
from topologies import build


def tree_of(graph):
    return Dominators(DirectedLayout(layout_of(graph, Dynamic(threads=1), 4)))


def most(tree, shares, queued):
    """Work of the most loaded part."""
    return loads_of(tree.flow, shares, queued).work.max()


def chain(count):
    return tree_of(build("pipeline", {"operators": count}, 1)[0])


def test_a_balanced_chain_is_divided_evenly():
    tree = chain(98)
    found = placements(tree, [0.01] * 100)
    for parts in (2, 3, 4, 5, 8):
        best = min(most(tree, [0.01] * 100, queued) for queued in found if len(queued) == parts - 1)
        assert best == pytest.approx(1 / parts, rel=0.12)


def test_no_queue_and_all_queues_are_among_them():
    found = placements(chain(10), [1 / 12] * 12)
    assert frozenset() in found
    assert frozenset(range(11)) in found


def test_a_heavy_operator_is_left_alone():
    tree = chain(10)
    shares = [0.02] * 12
    shares[5] = 1.0 - 0.02 * 11
    assert frozenset({4, 5}) in placements(tree, shares), "queues before and behind it"


def test_dear_hops_leave_more_to_the_source_and_the_sink_than_to_what_lies_between():
    tree = chain(98)
    shares = [0.01] * 100
    found = [queued for queued in placements(tree, shares, hop=0.2) if len(queued) == 2]
    loads = [loads_of(tree.flow, shares, queued) for queued in found]
    total = [(each.work + 0.1 * each.pushes + 0.1 * each.pops).max() for each in loads]
    assert min(total) == pytest.approx((1.0 + 2 * 0.2) / 3, rel=0.06)


def test_branches_are_queued_with_and_without_the_operator_where_they_meet():
    tree = tree_of(build("data-parallel", {"width": 10}, 1)[0])
    found = placements(tree, [0.02, 0.02, *[0.09] * 10, 0.06])
    sink = 10
    assert frozenset(range(10)) in found
    assert frozenset(range(11)) in found
    assert any(sink not in queued and 4 <= len(queued) < 10 for queued in found)


def test_an_operator_where_branches_meet_belongs_to_where_they_part():
    tree = tree_of(build("data-parallel", {"width": 3}, 1)[0])
    source, split, sink = 0, 1, 5
    assert tree.parent == [-1, source, split, split, split, split]
    assert tree.fan_ins == [sink]


def test_neighbours_drop_add_and_move_queues():
    tree = chain(20)
    around = neighbours(tree, [1 / 22] * 22, frozenset({9}), 10, 0)
    assert frozenset() in around
    assert frozenset({8}) in around
    assert frozenset({10}) in around
    assert any(len(queued) == 2 for queued in around)


def test_the_next_turn_has_other_neighbours_until_a_queue_was_added_everywhere():
    tree, queued = chain(20), frozenset({9})
    every = set().union(
        *(
            other - queued
            for turn in range(10)
            for other in neighbours(tree, [1 / 22] * 22, queued, 4, turn)
        )
    )
    assert every == set(range(21)) - queued


def test_the_first_queue_to_be_added_halves_the_region_with_the_most_work():
    tree = chain(20)
    shares = [0.01] * 12 + [
        0.88 / 10
    ] * 10  # source, 20 operators, sink: nearly all of the work is at the end
    added = next(
        other for other in neighbours(tree, shares, frozenset({9}), 1, 0) if len(other) == 2
    )
    assert added - {9} == {middle_place(shares, 10)}


def middle_place(shares, begin):
    """Of the places from `begin` on, the one with half of the work from there on before it."""
    half = 0.5 * sum(shares[begin:])
    return min(
        range(begin, len(shares) - 1), key=lambda place: abs(sum(shares[begin : place + 1]) - half)
    )


@settings(max_examples=40)
@given(
    seed=st.integers(0, 10**6), count=st.integers(1, 40), hop=st.floats(0.0, 3.0), data=st.data()
)
def test_any_graph_has_placements_within_its_places(seed, count, hop, data):
    tree = tree_of(random_graph(count, 128, seed))
    size = len(tree.order)
    weights = data.draw(st.lists(st.floats(0.0, 1.0), min_size=size, max_size=size))
    total = sum(weights) or 1.0
    shares = [weight / total if sum(weights) else 1.0 / size for weight in weights]
    places = set(range(len(tree.flow.layout.ports)))
    found = placements(tree, shares, hop)
    assert all(queued <= places for queued in found)
    assert len(set(found)) == len(found)
    for queued in found[:: max(1, len(found) // 3)]:
        for turn in (0, 1, 50):
            assert all(other <= places for other in neighbours(tree, shares, queued, 6, turn))
        assert loads_of(tree.flow, shares, queued).work.sum() >= 1.0 - 1e-9
