"""Throughput over placement and threads: what physics says of any of them, in numbers by hand where
that is possible.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.bench.queues.graphs import random_graph
from harness.bench.queues.oracle import best_of
from harness.bench.queues.world import Prices, QueueWorld
from harness.elasticity import Bounds
from harness.graph import Graph
from tests.bench.queues.small import LARGE, STREAMS, parallel, pipeline, surface


def test_without_queues_the_level_is_of_no_consequence():
    plain = surface(pipeline([1000] * 8))
    assert plain.throughput((), 1) == plain.throughput((), 16)


def test_manual_throughput_is_that_of_the_operators_alone():
    plain = surface(pipeline([10_000] * 10))
    per_tuple = 10 * 10_000 * plain.prices.flop
    assert plain.throughput((), 1) / plain.submitted == pytest.approx(
        1e9 / per_tuple, rel=0.2
    )  # costs are jittered


def test_one_thread_that_executes_everything_waits_for_nobody():
    plain = surface(pipeline([10_000] * 10))
    work_ns = float(np.dot(plain.work, plain.layout.tuples))
    assert plain.throughput((), 1) == pytest.approx(
        plain.submitted * 1e9 / work_ns, rel=0.02
    )  # levels are jittered


def test_a_queue_in_the_middle_nearly_doubles_a_balanced_pipeline():
    plain = surface(pipeline([10_000] * 9))
    assert 1.6 < plain.throughput({5}, 1) / plain.throughput((), 1) < 2.05


def test_threads_help_up_to_the_number_of_regions_and_then_hurt_a_little():
    plain = surface(pipeline([10_000] * 15), STREAMS)
    rates = [plain.throughput({4, 8, 12}, threads) for threads in (1, 2, 3, 8)]
    assert rates[0] * 1.2 < rates[1] < rates[2] / 1.1
    assert 0.9 * rates[2] < rates[3] < 1.02 * rates[2]


def test_a_region_bounds_what_threads_can_do():
    plain = surface(pipeline([100] * 4 + [100_000] + [100] * 4))
    everywhere = range(plain.places)
    assert plain.throughput(everywhere, 16) < 1.15 * plain.throughput(everywhere, 2)


def test_queues_cost_and_cost_more_with_large_tuples():
    def left(payload):
        plain = surface(pipeline([100] * 20, payload), STREAMS)
        return plain.throughput(range(plain.places), 1) / plain.throughput((), 1)

    assert left(16384) < 0.3 * left(1)


def test_few_queues_beat_all_queues_and_none_where_tuples_are_large():
    plain = surface(pipeline([1000] * 40, 16384), STREAMS)
    some = max(plain.throughput(range(0, plain.places, step), 8) for step in (4, 6, 8))
    assert some > 1.2 * plain.throughput((), 1)
    assert some > 1.2 * max(
        plain.throughput(range(plain.places), threads) for threads in range(1, 17)
    )


def test_a_shared_sink_collapses_where_operators_are_cheap_and_tuples_come_one_by_one():
    plain = surface(parallel([1] * 30), QueueWorld("xeon", "streams-4.2", 88))
    before = list(range(30))  # the works, not the sink: it is called under a lock
    assert plain.throughput(before, 64) < plain.throughput(before, 4)


@pytest.mark.parametrize(("depth", "flop"), [(1, 1), (10, 24)])
def test_behind_a_split_calls_are_paid_for_tuple_by_tuple_and_work_on_the_same_one_waits(
    depth, flop
):
    graph = Graph("ways", 128)
    source, split, sink = graph.source("source"), graph.split("split", 4), graph.sink("sink")
    graph.connect(source, split)
    for way in range(4):
        last = split.output(way)
        for number in range(depth):
            work = graph.work(f"work{way}.{number}", flop)
            graph.connect(last, work)
            last = work
        graph.connect(last, sink)
    plain = surface(graph)
    price, cost = plain.prices, plain.prices.cost
    calls = (2 / 32 + depth) * cost["call_batch"] + cost[
        "sink_batch"
    ]  # source and split get batches
    waits = (depth - 1) * price.flop * flop * (1 - 1 / price.overlap)
    ways = cost["way_tuple"] + 4 / 32 * cost["way"]
    expected = plain.work @ plain.layout.tuples + calls + waits + ways
    assert 1e9 * plain.submitted / plain.throughput((), 1) == pytest.approx(expected, rel=0.05)


def test_a_dedicated_thread_for_each_port_is_good_where_there_are_cpus_for_all():
    few = surface(pipeline([10_000] * 8))
    many = surface(pipeline([10_000] * 200), QueueWorld("local", "millrace", 2))
    assert few.dedicated() > 0.8 * best_of(few, Bounds(1, 16, 1)).throughput
    assert many.dedicated() < 0.6 * best_of(many, Bounds(1, 2, 1)).throughput


def test_others_on_the_cpus_take_their_share():
    graph = pipeline([10_000] * 30)
    alone, beside = surface(graph), surface(graph, others=0.5)
    everywhere = range(alone.places)
    assert beside.throughput(everywhere, 16) < 0.7 * alone.throughput(everywhere, 16)
    assert beside.throughput((), 1) == pytest.approx(alone.throughput((), 1))


def test_dearer_operators_are_slower():
    graph = pipeline([100] * 8)
    assert surface(graph, flop=[1000.0] * 10).throughput((), 1) < 0.3 * surface(graph).throughput(
        (), 1
    )


def test_each_seed_is_another_truth_and_the_same_seed_the_same():
    graph = pipeline([1000] * 8)
    assert surface(graph, seed=1).throughput({3}, 2) == surface(graph, seed=1).throughput({3}, 2)
    assert surface(graph, seed=1).throughput({3}, 2) != surface(graph, seed=2).throughput({3}, 2)


def test_the_declared_work_is_not_the_true_work():
    plain = surface(pipeline([1000] * 50))
    shares = plain.shares()[1:-1]
    assert shares.max() > 1.15 * shares.min()


@pytest.mark.parametrize(
    "world",
    [
        QueueWorld("local", cpus=2),
        LARGE,
        QueueWorld("xeon", "streams-4.2", 16, 2),
        QueueWorld("power8", cpus=88),
    ],
)
def test_a_world_has_the_cpus_asked_for(world):
    prices = Prices(world)
    busy = np.arange(1.0, world.cpus + 1)
    power = prices.power(busy, 0.0)
    assert power[0] == pytest.approx(1.0) and power[-1] <= world.cpus
    assert power[-1] > 0.5 * world.cores
    assert prices.power(np.array([4.0 * world.cpus]), 0.0)[0] < power[-1]


def test_queues_hold_as_many_tuples_as_those_of_the_software_do():
    """Ours fewer of 4 KiB, with a header of 64 bytes; IBM Streams 1,000 of any size."""
    ours, theirs = (
        Prices(QueueWorld("xeon", cpus=16, software=software))
        for software in ("millrace", "streams-4.2")
    )
    assert (ours.capacity(10, 4160, cheap=False), ours.threaded_capacity(4160)) == (128, 252)
    assert (theirs.capacity(10, 4160, cheap=False), theirs.threaded_capacity(4160)) == (1000, 1000)


def test_copies_are_as_fast_as_the_cache_in_which_the_queues_of_a_thread_fit():
    prices = Prices(LARGE)
    own_l1, own_l2, l3, dram = (
        prices.machine[f"copy.bandwidth.{name}"]
        for name in ("own_l1", "own_l2", "l3", "dram_local")
    )
    first, second, third = (prices.machine[f"cache.{name}"] for name in ("l1d", "l2", "l3"))
    own = np.array([first / 2, first, second, 2.0 * second])
    for threads in (1.0, 2.0):
        assert prices.bandwidth(own * threads, np.full(4, threads)) == pytest.approx(
            [own_l1, own_l1, own_l2, l3]
        )
    assert prices.bandwidth(np.array([3.0 * third, 9.0 * third]), np.ones(2)) == pytest.approx(
        [dram, dram]
    )


def test_hardware_threads_of_a_core_bring_less_than_cores():
    power = Prices(QueueWorld("xeon", cpus=16, smt=2)).power(np.array([8.0, 16.0]), 0.0)
    assert 1.0 < power[1] / power[0] < 1.4


@settings(max_examples=30)
@given(st.integers(0, 10**6), st.integers(1, 25), st.sampled_from([LARGE, STREAMS]), st.data())
def test_many_at_once_are_as_one_by_one_and_always_some_throughput(seed, operators, world, data):
    plain = surface(random_graph(operators, 1024, seed), world, seed)
    draw = np.random.default_rng(seed)
    placements = draw.integers(0, 2, (5, plain.places)).astype(np.uint8)
    levels = np.array(data.draw(st.lists(st.integers(1, 16), min_size=5, max_size=5)))
    together = plain.rates(placements, levels)
    alone = [
        plain.throughput(np.flatnonzero(row).tolist(), int(level))
        for row, level in zip(placements, levels, strict=True)
    ]
    assert together == pytest.approx(alone)
    assert (together > 0).all() and np.isfinite(together).all()
    assert (
        0.0 <= plain.busy(frozenset(np.flatnonzero(placements[0]).tolist()), int(levels[0])) <= 1.0
    )
