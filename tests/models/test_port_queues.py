"""Tests of which ports have queues and how many scheduler threads there are: threaded ports first,
then annotations, then the model.
"""

from __future__ import annotations

import pytest

from harness.errors import UserError
from harness.graph import Graph, GraphError, Threading
from harness.graph.operator import IN_FORCE
from harness.machines.host import cpu
from harness.models import (
    Coroutine,
    Dedicated,
    Dynamic,
    Manual,
    PoolSize,
    PortQueue,
    Queue,
    least_threads,
    pool_of,
    port_queues,
    with_level,
)

CALLED = PortQueue(Queue.CALLED)
THREADED = PortQueue(Queue.THREADED)
SCHEDULED = PortQueue(Queue.SCHEDULED)
MODELS = (Manual(), Dedicated(), Dynamic(threads=2))


def annotated(*annotations: Threading | None) -> Graph:
    """source -> split -> a work operator under each annotation -> sink."""
    graph = Graph("annotated")
    split, sink = graph.split("split", len(annotations)), graph.sink("sink")
    graph.connect(graph.source("source"), split)
    for number, annotation in enumerate(annotations):
        token = IN_FORCE.set(annotation)
        work = graph.work(f"w{number}")
        IN_FORCE.reset(token)
        graph.connect(split.output(number), work)
        graph.connect(work, sink)
    return graph


@pytest.mark.parametrize(
    ("model", "queue"),
    list(zip(MODELS, (CALLED, THREADED, SCHEDULED), strict=True)),
    ids=lambda x: str(x),
)
def test_the_model_decides_where_the_author_says_nothing(model, queue):
    assert port_queues(annotated(None), model) == [CALLED, queue, queue]  # split, sink, work


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
def test_an_annotation_comes_before_the_model(model):
    graph = annotated(Threading("manual"), Threading("dedicated"), Threading("dynamic"))
    assert port_queues(graph, model)[2:] == [CALLED, THREADED, SCHEDULED]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
def test_a_threaded_port_comes_before_everything(model):
    graph = annotated(Threading("manual"), Threading("dynamic"))
    for name in ("split", "w0", "w1"):
        graph.threaded_port(graph.operators[name], 7)
    seven = PortQueue(Queue.THREADED, 7)
    queues = port_queues(graph, model)
    assert [queues[0], *queues[2:]] == [seven, seven, seven]


def test_queues_hold_what_the_run_says():
    graph = annotated(Threading("dedicated"), Threading("dynamic"))
    assert [queue.capacity for queue in port_queues(graph, Dedicated(queue_capacity=5))] == [
        None,
        5,
        5,
        5,
    ]
    assert [
        queue.capacity for queue in port_queues(graph, Dynamic(threads=1, queue_capacity=6))
    ] == [None, 6, 6, 6]
    assert [queue.capacity for queue in port_queues(graph, Manual())] == [None, None, None, None]


def test_every_port_of_an_operator_is_annotated_and_can_be_threaded_alone():
    graph = Graph("ports")
    work = graph.work("work", inputs=3)
    graph.threaded_port(work.input(1), 9)
    assert port_queues(graph, Manual()) == [CALLED, PortQueue(Queue.THREADED, 9), CALLED]


def test_a_control_port_is_executed_as_its_operator_is():
    graph = annotated(Threading("dedicated"))
    graph.control(graph.operators["w0"])
    assert port_queues(graph, Manual())[-1] == THREADED


@pytest.mark.parametrize(
    ("annotations", "model", "threads"),
    [
        ((None,), Manual(), 0),
        ((None,), Dedicated(), 0),
        ((None,), Dynamic(threads=3), 3),
        ((Threading("dynamic"),), Manual(), 5),
        ((Threading("dynamic", 2),), Manual(), 2),
        ((Threading("dynamic", 2), Threading("dynamic", 4), Threading("dynamic")), Dedicated(), 4),
        ((Threading("dynamic", 2),), Dynamic(threads=3), 3),
        ((Threading("dynamic", 4),), Dynamic(threads=3), 4),
        ((Threading("dynamic", 4, False),), Manual(), 4),
        ((Threading("dynamic", 4, True), Threading("dynamic", 4, False)), Manual(), 4),
        ((Threading("dynamic", 4, True), Threading("dynamic", 4)), Dynamic(threads=3), 4),
        ((Threading("dynamic", 4, False),), Dynamic(threads=3, elastic=True, maximum=3), 4),
        ((Threading("dynamic", None, False),), Dynamic(elastic=True), 5),
        ((Threading("dynamic", 4, False),), Coroutine(elastic=True, maximum=8), 4),
        ((Threading("dynamic", None, True),), Coroutine(3), 3),
    ],
)
def test_the_pool_has_the_highest_number_asked_for(monkeypatch, annotations, model, threads):
    monkeypatch.setattr(cpu, "allowed_cpus", lambda: 5)
    assert pool_of(annotated(*annotations), model) == PoolSize(threads, elastic=False)


def test_there_is_no_pool_if_every_port_is_manual_dedicated_or_threaded():
    graph = annotated(Threading("manual"), Threading("dedicated"), Threading("dynamic", 4))
    graph.threaded_port(graph.operators["w2"])
    assert pool_of(graph, Manual()) == PoolSize(0, elastic=False)


@pytest.mark.parametrize(
    ("annotations", "model", "pool"),
    [
        ((Threading("dynamic", None, True),), Manual(), PoolSize(1, True, 1, 5)),
        (
            (Threading("dynamic", 4, True), Threading("dynamic", 2)),
            Manual(),
            PoolSize(4, True, 1, 5),
        ),
        (
            (Threading("dynamic", 3, True), Threading("dynamic", None, True)),
            Dedicated(),
            PoolSize(3, True, 1, 5),
        ),
        ((Threading("dynamic", 9, True),), Manual(), PoolSize(5, True, 1, 5)),
        ((None,), Dynamic(elastic=True), PoolSize(1, True, 1, 5)),
        ((None,), Dynamic(elastic=True, minimum=7), PoolSize(7, True, 7, 7)),
        ((None,), Coroutine(elastic=True), PoolSize(1, True, 1, 5)),
        (
            (Threading("dynamic", None, True),),
            Coroutine(2, elastic=True, maximum=12),
            PoolSize(2, True, 1, 12),
        ),
        (
            (None,),
            Dynamic(threads=3, elastic=True, minimum=2, maximum=64),
            PoolSize(3, True, 2, 64),
        ),
        (
            (Threading("dynamic", 6), Threading("dynamic", 4, True)),
            Dynamic(elastic=True, maximum=8),
            PoolSize(6, True, 1, 8),
        ),
    ],
)
def test_a_pool_is_elastic_if_all_who_speak_of_it_agree(monkeypatch, annotations, model, pool):
    monkeypatch.setattr(cpu, "usable_cpus", lambda: 5)
    assert pool_of(annotated(*annotations), model) == pool


def blocking(inputs: int) -> Graph:
    """A user's operator with so many input ports."""
    graph = Graph("blocking", 8)
    user = graph.python("user", lambda sequence, value: value, inputs=inputs)
    graph.connect(user, graph.sink("sink"))
    for port in range(inputs):
        graph.connect(graph.source(f"source{port}"), user.input(port))
    return graph


def test_no_level_is_below_one_more_than_the_ports_of_an_operator_that_may_block(monkeypatch):
    monkeypatch.setattr(cpu, "usable_cpus", lambda: 2)
    assert pool_of(blocking(3), Dynamic(elastic=True)) == PoolSize(4, True, 4, 4), (
        "also on a small machine"
    )
    assert pool_of(blocking(3), Dynamic(elastic=True, minimum=2, maximum=9)) == PoolSize(
        4, True, 4, 9
    )
    assert pool_of(blocking(3), Dynamic(threads=6, elastic=True, maximum=9)) == PoolSize(
        6, True, 4, 9
    )
    with pytest.raises(
        UserError, match=r"^maximum must be at least 4 threads for graph 'blocking', .* not 3$"
    ):
        pool_of(blocking(3), Dynamic(elastic=True, maximum=3))
    assert least_threads(annotated(None), Dynamic()) == 1, "built-in operators do not block"


def level(graph, model):
    return with_level(model, pool_of(graph, model))


def test_a_fixed_level_is_that_of_the_pool_it_makes():
    assert pool_of(blocking(3), Dynamic(threads=1)) == PoolSize(4, elastic=False)
    assert pool_of(blocking(3), Dynamic(), cpus=2) == PoolSize(4, elastic=False), (
        "also on a small machine"
    )
    assert level(blocking(3), Dynamic(threads=1, queued="none")) == Dynamic(
        threads=4, queued="none"
    )
    assert level(blocking(3), Dynamic(threads=9)) == Dynamic(threads=9)
    assert level(annotated(Threading("dynamic", 4)), Dynamic(threads=3)) == Dynamic(threads=4)
    for other in (Manual(), Dynamic(elastic=True)):
        assert level(blocking(3), other) == other


@pytest.mark.parametrize(
    ("values", "told"),
    [
        (
            ("automatic",),
            "threading: model 'automatic' is none of ours: name manual, dedicated or dynamic",
        ),
        (("magic",), "threading: model must be one of manual, dedicated, dynamic, not 'magic'"),
        ((None,), "threading: model must be one of manual, dedicated, dynamic, not None"),
        (("manual", 2), "threading: threads applies to the model dynamic only, not to manual"),
        (
            ("dedicated", None, True),
            "threading: elastic applies to the model dynamic only, not to dedicated",
        ),
        (("dynamic", 0), "threading: threads must be a whole number from 1 to 1024 threads, not 0"),
        (
            ("dynamic", 1025),
            "threading: threads must be a whole number from 1 to 1024 threads, not 1025",
        ),
        (("dynamic", 2**31), "not 2147483648"),
        (("dynamic", 2.0), "not 2.0"),
        (("dynamic", True), "not True"),
        (("dynamic", "2"), "not '2'"),
        (("dynamic", 2, "yes"), "threading: elastic must be True or False, not 'yes'"),
        (("dynamic", 2, 1), "threading: elastic must be True or False, not 1"),
    ],
)
def test_a_wish_that_makes_no_sense_is_told(values, told):
    with pytest.raises(GraphError) as caught:
        Threading(*values)
    assert told in str(caught.value)


def test_queued_is_all_none_or_a_choice():
    assert Dynamic(threads=1).queued == "all"
    assert Dynamic(threads=1, queued="none").queued == "none"
    with pytest.raises(UserError, match=r"queued must be all, none, a number .*, not '-some'"):
        Dynamic(threads=1, queued="-some")
