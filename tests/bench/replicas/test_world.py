"""The world of the bench of replicas, against closed forms; its graphs; and the oracle against
trying everything.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from harness.bench.replicas.graphs import chain, layout, replicated, reverse_tree, tree
from harness.bench.replicas.oracle import best_of, least_for
from harness.bench.replicas.world import QUEUE_BATCHES, ReplicaWorld
from tests.elasticity.replicas.small import world


def counts(*given: int) -> np.ndarray:
    return np.array(given, dtype=float)


def test_one_thread_does_all_the_work():
    state = world((7.0, 1.0), scheduling=0.0).state(1, counts(1, 1, 1, 1))
    assert state.rate == pytest.approx(1e5, rel=1e-6), "10 µs for each tuple"
    assert state.useful.sum() == pytest.approx(
        1.0, rel=1e-6
    ) and state.utilisation == pytest.approx(1.0, rel=1e-6)


def test_an_operator_is_as_fast_as_its_replicas_and_no_faster_than_all_threads():
    busy = world((40.0,), scheduling=0.0)
    assert busy.rate(12, counts(1, 1, 1)) == pytest.approx(25_000, rel=1e-6)
    assert busy.rate(12, counts(1, 3, 1)) == pytest.approx(75_000, rel=1e-6)
    assert busy.rate(2, counts(1, 3, 1)) == pytest.approx(2 / 42e-6, rel=1e-6)


def test_paced_sources_send_no_more_than_their_target():
    busy = world((40.0,), target=10_000.0)
    state = busy.state(4, counts(1, 1, 1))
    assert state.rate == 10_000.0 and state.utilisation == pytest.approx(0.105)
    assert state.full.max() < 1e-6, "nothing is congested"


def test_queues_before_a_bottleneck_are_full_and_those_behind_it_are_not():
    state = world((1.0, 40.0, 1.0)).state(12, counts(1, 1, 1, 1, 1))
    assert state.full[0] > 0.9 and state.full[1] > 0.9
    assert state.full[2] < 1e-9 and state.full[3] < 1e-9


def test_a_queue_with_arrivals_as_fast_as_services_is_full_as_any_of_its_lengths():
    state = world((1.0,)).state(12, counts(1, 1, 1))
    assert state.full == pytest.approx([1 / (QUEUE_BATCHES + 1)] * 2)


def test_replicas_behind_one_lock_bring_nothing():
    busy = world((40.0,), serial=(0.0, 1.0, 0.0), scheduling=0.0)
    assert busy.rate(12, counts(1, 4, 1)) == pytest.approx(25_000, rel=1e-6)


def test_threads_beyond_the_cores_bring_nothing():
    busy = world((40.0, 40.0), cores=2, scheduling=0.0)
    assert busy.rate(8, counts(1, 8, 8, 1)) == pytest.approx(
        busy.rate(2, counts(1, 8, 8, 1)), rel=1e-2
    )


def test_splits_deal_out_and_selectivity_thins_out():
    shape = replicated(4)
    flow = layout(shape, [1.0, 1.0, 0.5, 0.5, 0.5, 0.5, 1.0, 1.0], 8)
    assert flow.tuples == [1.0, 1.0, 0.25, 0.25, 0.25, 0.25, 0.5, 0.5]
    assert flow.replicable == [2, 3, 4, 5] and flow.inputs == 10
    assert sorted(link.port for link in flow.links) == list(range(10))


@pytest.mark.parametrize(
    "shape",
    [chain(3), tree(3, 2), tree(2, 3), reverse_tree(3, 2), replicated(5)],
    ids=lambda s: s.name,
)
def test_streams_lead_from_sources_to_sinks_in_the_order_of_operators(shape):
    assert all(source < target for source, target in shape.streams)
    assert list(shape.streams) == sorted(shape.streams)
    kinds = dict(enumerate(shape.kinds))
    assert {each for each, kind in kinds.items() if kind == "source"} == set(kinds) - {
        target for _, target in shape.streams
    }
    assert {each for each, kind in kinds.items() if kind == "sink"} == set(kinds) - {
        source for source, _ in shape.streams
    }
    assert all(sum(target == each for _, target in shape.streams) == 1 for each in shape.busy), (
        "they may be replicated"
    )
    assert all(sum(source == each for source, _ in shape.streams) == 1 for each in shape.busy)


def test_a_tree_thins_out_by_its_branching_and_a_reverse_tree_gathers():
    spread = layout(tree(3, 2), [1.0] * len(tree(3, 2).kinds), 8)
    assert sorted({round(tuples, 9) for tuples in spread.tuples}) == [0.25, 0.5, 1.0]
    gather = layout(reverse_tree(3, 2), [1.0] * len(reverse_tree(3, 2).kinds), 8)
    assert gather.tuples[-1] == 4.0 and len(gather.sources) == 4


@pytest.mark.parametrize(
    "busy",
    [
        world((30.0, 10.0), contention=0.01, ordering_s=0.3e-6, idling=0.01),
        world((30.0, 30.0), cores=3, serial=(0.0, 0.1, 0.0, 0.0)),
        world((30.0, 5.0), stateful=(2,), scheduling=0.05),
        world((30.0, 10.0), target=60_000.0),
    ],
    ids=["contention", "cores and a lock", "stateful", "paced"],
)
def test_the_oracle_is_as_good_as_trying_everything(busy: ReplicaWorld):
    one, two = (range(1, 7) if operator in busy.layout.replicable else (1,) for operator in (1, 2))
    tried = max(busy.rate(n, counts(1, a, b, 1)) for n, a, b in product(range(1, 7), one, two))
    assert 0.995 * tried <= best_of(busy, 6).throughput <= tried * (1 + 1e-9)


def test_what_is_needed_is_the_least_of_all_that_bring_it():
    busy = world((30.0, 10.0), contention=0.01)
    need = least_for(busy, 6, 60_000.0)
    able = [
        (n, a + b + 2)
        for n, a, b in product(range(1, 7), repeat=3)
        if busy.capacity(n, counts(1, a, b, 1)) >= 60_000.0
    ]
    assert (need.threads, need.parts) == (min(n for n, _ in able), min(r for _, r in able))


def test_what_is_needed_knows_no_target():
    busy = world((30.0,), target=1_000.0)
    assert (
        least_for(busy, 8, 100_000.0).parts
        == least_for(replace(busy, target=None), 8, 100_000.0).parts
    )
