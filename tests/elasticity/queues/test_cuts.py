"""Placements that divide the work, and those beside one."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.bench.queues.graphs import random_graph
from harness.elasticity import layout_of
from harness.elasticity.queues.cuts import DominatorTree
from harness.models import Dynamic
from tests.elasticity.queues.surface import parts_of
from topologies import build


def tree_of(graph):
    return DominatorTree(layout_of(graph, Dynamic(threads=1), 4))


def most(tree, shares, queued):
    """Work of the most loaded part."""
    return max(part.work for part in parts_of(tree, shares, queued))


def chain(count):
    return tree_of(build("pipeline", {"operators": count}, 1)[0])


def test_a_balanced_chain_is_divided_evenly():
    tree = chain(98)
    found = tree.placements([0.01] * 100)
    for parts in (2, 3, 4, 5, 8):
        assert most(tree, [0.01] * 100, found[parts - 1]) == pytest.approx(1 / parts, rel=0.12)


def test_no_queue_and_all_queues_are_among_them_and_their_numbers_grow():
    found = chain(10).placements([1 / 12] * 12)
    assert found[0] == frozenset()
    assert found[11] == frozenset(range(11))
    assert list(found) == sorted(len(queued) for queued in found.values())


def test_a_heavy_operator_is_left_alone():
    tree = chain(10)
    shares = [0.02] * 12
    shares[5] = 1.0 - 0.02 * 11
    assert tree.placements(shares)[2] == {4, 5}, "queues before and behind it"


def test_an_operator_where_branches_meet_belongs_to_where_they_part():
    tree = tree_of(build("data-parallel", {"width": 3}, 1)[0])
    source, split = 0, 1
    assert tree.parent == [-1, source, split, split, split, split]


def test_where_regions_meet_queues_free_them_of_the_lock():
    tree = tree_of(build("data-parallel", {"width": 3}, 1)[0])
    branches, sink = frozenset({0, 1, 2}), 3
    assert tree.met(branches) == branches | {sink}
    assert tree.met(frozenset()) == frozenset(), "one region calls it"


def test_the_most_loaded_region_is_that_of_the_parts():
    tree = chain(20)
    shares = [1 / 22] * 22
    for queued in (frozenset(), frozenset({3}), frozenset({3, 9, 10})):
        assert tree.heaviest(shares, queued) == pytest.approx(most(tree, shares, queued))


def test_placements_nearby_drop_add_and_move_a_queue():
    near = chain(20).near(frozenset({9}))
    assert frozenset() in near
    assert frozenset({8}) in near
    assert frozenset({10}) in near
    assert {len(queued) for queued in near} == {0, 1, 2}


def test_of_a_large_graph_few_placements_nearby_are_returned():
    assert 0 < len(chain(998).near(frozenset({500}))) <= 110


@settings(max_examples=40)
@given(seed=st.integers(0, 10**6), count=st.integers(1, 40), data=st.data())
def test_any_graph_has_placements_within_its_places(seed, count, data):
    tree = tree_of(random_graph(count, 128, seed))
    size = len(tree.order)
    weights = data.draw(st.lists(st.floats(0.0, 1.0), min_size=size, max_size=size))
    total = sum(weights)
    shares = [weight / total if total else 1.0 / size for weight in weights]
    found = tree.placements(shares)
    assert all(queued <= tree.every for queued in found.values())
    for queued in list(found.values())[:: max(1, len(found) // 3)]:
        assert all(other <= tree.every for other in [tree.met(queued), *tree.near(queued)])
        assert tree.heaviest(shares, queued) <= 1.0 + 1e-9
        assert sum(part.work for part in parts_of(tree, shares, queued)) >= 1.0 - 1e-9
