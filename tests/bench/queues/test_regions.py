"""Work of each thread for a placement of queues: compared with sums by hand and with rules
that hold for any graph.
"""

from __future__ import annotations

import numpy as np
import pytest
from harness.bench.queues.regions import Regions
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.bench.queues.graphs import random_graph
from harness.graph import Graph
from tests.bench.queues.small import parallel, pipeline, seen

ALL, BUSIEST, LOCKED, SQUARES = range(4)


def measured(
    layout,
    queued,
    work=None,
    push=0.0,
    take=0.0,
    lock=0.0,
    call=0.0,
    batch=32.0,
    slow=0.0,
    besides=(0.0, 0.0, 0.0),
):
    """One row, with the same price for all; `besides`: of a push, of a way that is dealt to, and of
    a tuple there.
    """
    regions = Regions(layout)
    placement = np.zeros((1, regions.places), dtype=np.uint8)
    placement[0, list(queued)] = 1
    work = np.ones(layout.operators) if work is None else np.asarray(work, dtype=float)
    even = np.ones(regions.heads), np.ones(layout.operators)
    prices = (
        np.array([float(push)]),
        np.array([float(take)]),
        np.array([[0.0, 0.0, *(lock * n for n in range(2, 20))]]),
    )
    of_all = np.full(layout.operators, float(slow)), np.full(layout.operators, float(call))
    return regions.measure(placement, work, *of_all, *even, *prices, besides, batch)[0]


def test_without_queues_the_source_does_everything():
    row = measured(seen(pipeline([1, 1, 1])), [], work=[1, 2, 3, 4, 5])
    assert (row[ALL], row[BUSIEST], row[LOCKED]) == (15, 15, 0)


def test_a_queue_cuts_a_pipeline_in_two():
    row = measured(seen(pipeline([1, 1, 1])), [1], work=[1, 2, 3, 4, 5])
    assert (row[ALL], row[BUSIEST], row[SQUARES]) == (15, 12, 3**2 + 12**2)


def test_a_push_is_the_senders_and_a_take_the_receivers():
    row = measured(seen(pipeline([1, 1, 1])), [1], work=[1, 2, 3, 4, 5], push=100, take=7)
    assert (row[ALL], row[BUSIEST]) == (122, 103)


def test_who_shares_an_operator_locks_it_and_pays_by_the_number_of_contenders():
    layout = seen(parallel([1, 1, 1]))
    free = measured(layout, [], lock=10)
    one_queue = measured(
        layout, [0], lock=10, batch=1.0
    )  # work1 by a thread of its own, the others by the source
    assert free[LOCKED] == 0
    assert one_queue[LOCKED] == pytest.approx(
        1 + 2 * 10
    )  # a tuple of the sources is one at the sink
    assert list(Regions(layout).shared(np.array([1, 1, 1, 0], dtype=np.uint8)))[-1] == 3
    assert list(Regions(layout).shared(np.array([1, 1, 1, 1], dtype=np.uint8)))[-1] == 1


def test_what_is_called_behind_a_locked_operator_is_locked_with_it():
    hall = Graph("hall")
    source = hall.source("s")
    split = hall.split("p", 2)
    join = hall.work("j")
    last = hall.work("l")
    sink = hall.sink("k")
    hall.connect(source, split)
    for way in range(2):
        work = hall.work(f"w{way}")
        hall.connect(split.output(way), work)
        hall.connect(work, join)
    hall.connect(join, last)
    hall.connect(last, sink)
    layout = seen(hall)
    at = {port.operator: place for place, port in enumerate(layout.ports)}
    row = measured(layout, [at["w0"], at["w1"]])
    assert row[LOCKED] == 3  # join, last and sink, one thread at a time
    assert measured(layout, [at["w0"], at["w1"], at["l"]])[LOCKED] == 1


def test_a_split_calls_with_a_tuple_at_a_time_and_a_queue_makes_batches_of_them_again():
    layout = seen(parallel([1] * 4))
    work = np.zeros(layout.operators)
    cut = measured(layout, [], work=work, call=32.0)
    whole = measured(layout, [4], work=work, call=32.0)  # the sink's queue
    branches = measured(layout, [0, 1, 2, 3], work=work, call=32.0)
    assert cut[ALL] == pytest.approx(
        1 + 1 + 32 + 32
    )  # source, split, the works' tuples and the sink's, one by one
    assert whole[ALL] == pytest.approx(1 + 1 + 32 + 1)
    assert branches[ALL] == pytest.approx(1 + 1 + 1 + 1)


def test_an_operator_gets_pieces_as_they_come_and_not_as_the_largest_of_them():
    layout = seen(parallel([1] * 4))
    one_queue = measured(layout, [0], work=np.zeros(layout.operators), call=32.0)
    assert one_queue[ALL] == pytest.approx(1 + 1 + (0.25 + 0.75 * 32) + (0.25 + 0.75 * 32))


def test_a_push_is_paid_for_by_the_piece_and_dealing_by_way_and_tuple():
    layout = seen(parallel([1] * 4))
    work = np.zeros(layout.operators)
    queues = [0, 1, 2, 3]
    assert measured(layout, queues, work=work, besides=(32.0, 0.0, 0.0))[ALL] == pytest.approx(
        4
    )  # 8 tuples a push
    assert measured(layout, queues, work=work, besides=(0.0, 32.0, 0.0))[ALL] == pytest.approx(
        4
    )  # 4 ways a batch
    assert measured(layout, queues, work=work, besides=(0.0, 0.0, 5.0))[ALL] == pytest.approx(5)
    assert measured(layout, [], work=work, besides=(32.0, 0.0, 0.0))[ALL] == 0


def test_more_ways_than_tuples_get_a_tuple_each():
    layout = seen(parallel([1] * 64))
    row = measured(layout, range(64), work=np.zeros(layout.operators), besides=(7.0, 0.0, 0.0))
    assert row[ALL] == pytest.approx(7)


def test_work_on_a_tuple_that_comes_alone_from_who_had_it_alone_waits_for_what_was_done_to_it():
    layout = seen(parallel([1] * 4))
    work = np.zeros(layout.operators)
    assert measured(layout, [], work=work, slow=1.0)[ALL] == pytest.approx(
        1
    )  # the sink; a work before it has the next tuple at hand
    assert measured(layout, [4], work=work, slow=1.0)[ALL] == 0
    assert measured(layout, [], work=work, slow=1.0, batch=1.0)[ALL] == pytest.approx(
        3
    )  # all but the source


def test_a_filter_leaves_runs_of_neighbours():
    graph = Graph("filtered")
    source, some, sink = graph.source("source"), graph.filter("some", 0.25), graph.sink("sink")
    graph.connect(source, some)
    graph.connect(some, sink)
    row = measured(seen(graph), [], work=np.zeros(3), call=32.0)
    assert row[ALL] == pytest.approx(1 + 1 + 0.25 * (0.75 * 32 + 0.25))


def test_a_threaded_port_is_always_a_head():
    graph = pipeline([1, 1, 1])
    graph.threaded_port(graph.operators["work2"])
    row = measured(seen(graph), [], work=[1, 2, 3, 4, 5])
    assert (row[ALL], row[BUSIEST]) == (15, 12)


@settings(max_examples=40)
@given(st.integers(0, 10**6), st.integers(2, 40), st.data())
def test_work_is_neither_lost_nor_done_twice_wherever_queues_stand(seed, operators, data):
    layout = seen(random_graph(operators, 128, seed))
    places = len(layout.ports)
    queued = data.draw(st.sets(st.integers(0, places - 1)))
    work = np.arange(1.0, layout.operators + 1)
    row = measured(layout, queued, work)
    assert row[ALL] == pytest.approx(float(work @ np.asarray(layout.tuples)))
    assert row[BUSIEST] <= row[ALL] * (1 + 1e-9) and row[SQUARES] <= row[ALL] ** 2 * (1 + 1e-9)
    assert row[LOCKED] <= row[ALL] * (1 + 1e-9)


@settings(max_examples=40)
@given(st.integers(0, 10**6), st.integers(2, 30))
def test_with_a_queue_before_every_port_only_operators_with_several_ports_are_locked(
    seed, operators
):
    layout = seen(random_graph(operators, 128, seed))
    ports = [layout.at.count(index) for index in range(layout.operators)]
    contenders = Regions(layout).shared(np.ones(len(layout.ports), dtype=np.uint8))
    assert all(count == 1 for count, at in zip(contenders, ports, strict=True) if at <= 1)
    assert all(count == at for count, at in zip(contenders, ports, strict=True) if at > 1)
