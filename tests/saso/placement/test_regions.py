"""What each thread has to do, given where queues stand: compared with sums by hand and with rules that hold for any graph."""

from __future__ import annotations

import numpy as np
import pytest
from harness.saso.placement.regions import Regions
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.graph import Graph
from harness.saso.placement.graphs import random_graph
from tests.saso.placement.small import parallel, pipeline, seen

ALL, BUSIEST, LOCKED, SQUARES = range(4)


def measured(layout, queued, work=None, push=0.0, take=0.0, lock=0.0, call=0.0, batch=32.0):
    """One row, with the same price for all."""
    regions = Regions(layout)
    placement = np.zeros((1, regions.places), dtype=np.uint8)
    placement[0, list(queued)] = 1
    work = np.ones(layout.operators) if work is None else np.asarray(work, dtype=float)
    even = np.ones(regions.heads), np.ones(layout.operators)
    prices = np.array([float(push)]), np.array([float(take)]), np.array([[0.0, 0.0, *(lock * n for n in range(2, 20))]])
    return regions.measure(placement, work, *even, *prices, call, batch)[0]


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
    one_queue = measured(layout, [0], lock=10, batch=1.0)  # work1 by a thread of its own, the others by the source
    assert free[LOCKED] == 0
    assert one_queue[LOCKED] == pytest.approx(1 + 2 * 10)  # a tuple of the sources is one at the sink
    assert list(Regions(layout).shared(np.array([1, 1, 1, 0], dtype=np.uint8)))[-1] == 3
    assert list(Regions(layout).shared(np.array([1, 1, 1, 1], dtype=np.uint8)))[-1] == 1


def test_what_is_called_behind_a_locked_operator_is_locked_with_it():
    hall = Graph("hall")
    source, split, join, last, sink = hall.source("s"), hall.split("p", 2), hall.work("j"), hall.work("l"), hall.sink("k")
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


def test_a_split_cuts_batches_and_a_queue_makes_them_whole():
    layout = seen(parallel([1] * 4))
    work = np.zeros(layout.operators)
    cut = measured(layout, [], work=work, call=1.0)
    whole = measured(layout, [4], work=work, call=1.0)  # the sink's queue
    assert cut[ALL] == pytest.approx(1 + 1 + 4 * 0.25 * 4 + 4)
    assert whole[ALL] == pytest.approx(1 + 1 + 4 * 0.25 * 4 + 1)


def test_a_threaded_port_is_always_a_head():
    graph = pipeline([1, 1, 1])
    graph.threaded_port(graph.operators["work2"])
    row = measured(seen(graph), [], work=[1, 2, 3, 4, 5])
    assert (row[ALL], row[BUSIEST]) == (15, 12)


@settings(max_examples=40, deadline=None)
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


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 30))
def test_with_a_queue_before_every_port_only_operators_with_several_ports_are_locked(seed, operators):
    layout = seen(random_graph(operators, 128, seed))
    ports = [layout.at.count(index) for index in range(layout.operators)]
    contenders = Regions(layout).shared(np.ones(len(layout.ports), dtype=np.uint8))
    assert all(count == 1 for count, at in zip(contenders, ports, strict=True) if at <= 1)
    assert all(count == at for count, at in zip(contenders, ports, strict=True) if at > 1)
