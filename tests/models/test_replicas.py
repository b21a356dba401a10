"""Tests of which operators may have replicas: engines, laws and errors give one answer."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from harness import elasticity
from harness.engine import open_engine
from harness.errors import UserError
from harness.graph import Graph, PortId, Threading
from harness.graph.annotations import in_force
from harness.models import Coroutine, Dynamic, Manual, Model, port_queues
from harness.models.layout import layout_of
from harness.models.replicas import most_replicas, replicable, why_single
from tests.runtime.test_random_runs import graphs
from topologies import build


def reasons_of(graph: Graph, model: Model) -> list[str]:
    return why_single(graph, model, port_queues(graph, model))


def chain(*names: str, window: int = 0, **options) -> Graph:
    """A source, a work operator for each name, and a sink."""
    graph = Graph("chain")
    graph.chain(
        graph.source("source", window=window),
        *[graph.work(name, **options) for name in names],
        graph.sink("sink"),
    )
    return graph


SIZES = {
    "chain": {"operators": 3},
    "replicated": {"width": 3},
    "tree": {"depth": 3},
    "reverse-tree": {"depth": 3},
}


@pytest.mark.parametrize("topology", SIZES)
def test_busy_operators_of_the_papers_topologies_that_have_one_output_may_have_replicas(topology):
    graph, _ = build(topology, SIZES[topology], 0)
    busy = [
        operator.name
        for operator in graph.operators.values()
        if operator.busy_us and operator.outputs == 1
    ]
    assert list(replicable(graph, Coroutine())) == busy and busy


def test_work_may_have_replicas_whatever_it_costs_and_drops():
    graph = Graph("kinds")
    last = graph.source("source")
    for operator in (
        graph.work("busy", busy_us=5.0),
        graph.work("bursts", costs=[(10, 100), (5, 1000)]),
        graph.work("choosing", 10, selectivity=0.3),
        graph.filter("filter", 0.5),
    ):
        graph.connect(last, operator)
        last = operator
    graph.connect(last, graph.sink("sink"))
    assert list(replicable(graph, Coroutine())) == ["busy", "bursts", "choosing", "filter"]
    assert reasons_of(graph, Dynamic()) == [] and replicable(graph, Manual()) == {}


def test_the_reasons_why_an_operator_can_have_none():
    graph = Graph("all reasons", 8)
    source = graph.source("source", window=10)
    split = graph.split("split", outputs=2)
    merge = graph.merge("merge")
    graph.connect(source, split)
    for port in range(2):
        graph.connect(split.output(port), lane := graph.work(f"lane{port}"))
        graph.connect(lane, merge)
    python = graph.python("python", lambda sequence, value: value)
    graph.connect(merge, python)
    with in_force(Threading("manual")):
        called = graph.work("called")
    before = graph.work("before")
    graph.connect(python, before)
    graph.connect(before, called)
    graph.connect(called, threaded := graph.work("threaded"))
    graph.threaded_port(threaded)
    graph.connect(threaded, graph.sink("sink"))
    reasons = dict(zip(graph.operators, reasons_of(graph, Coroutine()), strict=True))
    called_or_calling = "has an input port, or feeds one, that no co-routine executes"
    marks = "passes window punctuation from a split to its merge, which has room for no more"
    assert reasons == {
        "source": "has 0 input and 1 output ports: replicas need one of each",
        "split": "has 1 input and 2 output ports: replicas need one of each",
        "merge": "is a merge, which keeps something from tuple to tuple",
        "lane0": marks,
        "lane1": marks,
        "python": "is declared neither stateless nor by key",
        "called": called_or_calling,
        "before": called_or_calling,
        "threaded": called_or_calling,
        "sink": "has 1 input and 0 output ports: replicas need one of each",
    }


@given(graph=graphs())
@settings(max_examples=40)
def test_what_a_law_may_replicate_the_engine_replicates(graph):
    model = Coroutine(2)
    able = replicable(graph, model)
    seen = elasticity.layout_of(graph, model, 2)
    assert [seen.names[index] for index in seen.replicable] == list(able)
    engine = open_engine(graph, model, tuples=0)
    assert list(engine.living_replicas()) == list(able)
    for name, why in zip(graph.operators, reasons_of(graph, model), strict=True):
        if name in able:
            engine.set_replicas(name, seen.most_replicas)
            with pytest.raises(
                UserError,
                match=f"must be from 1 to {seen.most_replicas}, not {seen.most_replicas + 1}",
            ):
                engine.set_replicas(name, seen.most_replicas + 1)
        else:
            with pytest.raises(UserError) as caught:
                engine.set_replicas(name, 1)
            assert str(caught.value) == f"set_replicas: operator {name!r} {why}"


def test_many_operators_may_have_fewer_replicas_each_and_too_many_none():
    assert [most_replicas(able) for able in (1, 8, 100, 512, 513)] == [64, 64, 6, 2, 1]
    graph, _ = build("pipeline", {"operators": 600}, 0)
    assert (
        replicable(graph, Coroutine()) == {}
        and elasticity.layout_of(graph, Coroutine(), 2).replicable == []
    )


def test_a_run_may_begin_with_several_replicas():
    graph = chain("a", "b")
    assert layout_of(graph, Coroutine(replicas=3)).first_replicas == {"a": 3, "b": 3}
    assert (
        layout_of(graph, Coroutine()).first_replicas
        == layout_of(graph, Dynamic()).first_replicas
        == {}
    )
    assert open_engine(graph, Coroutine(2, replicas=3), tuples=0).living_replicas() == {
        "a": 3,
        "b": 3,
    }


def with_a_function():
    graph = Graph("function")
    graph.connect(
        graph.source("source"), mine := graph.python("mine", lambda sequence, value: value)
    )
    graph.connect(mine, graph.sink("sink"))
    return graph


@pytest.mark.parametrize(
    ("graph", "told"),
    [
        (
            chain(*(f"w{number}" for number in range(100))),
            "replicas must be at most 6 for graph 'chain', of each of 100 operators, which share "
            "room for 512 more, not 7",
        ),
        (
            chain(),
            "replicas must be 1 for graph 'chain', of which no operator can have more, not 7: "
            "none has one input and one output port",
        ),
        (
            with_a_function(),
            "replicas must be 1 for graph 'function', of which no operator can have more, not 7: "
            "operator 'mine' is declared neither stateless nor by key",
        ),
    ],
)
def test_more_replicas_than_can_be_are_told_in_one_line(graph, told):
    with pytest.raises(UserError) as caught:
        layout_of(graph, Coroutine(replicas=7))
    assert str(caught.value) == told


def test_an_operator_that_feeds_a_threaded_port_may_have_replicas_since_that_has_a_queue():
    graph = chain("a")
    graph.threaded_port(PortId("sink", 0))
    assert list(replicable(graph, Coroutine())) == ["a"]


def test_why_no_operator_can_have_replicas_is_told_of_each_kind_of_reason_what_can_be_mended_first():
    graph = Graph("several")
    first = graph.split("first", 1)
    parse, crunch = (
        graph.python(name, lambda sequence, value: value) for name in ("parse", "crunch")
    )
    graph.chain(graph.source("source"), first, parse, crunch, graph.sink("sink"))
    with pytest.raises(UserError) as refused:
        layout_of(graph, Coroutine(replicas=2))
    assert str(refused.value) == (
        "replicas must be 1 for graph 'several', of which no operator can have more, not 2: "
        "operator 'parse' (and 1 more) is declared neither stateless nor by key; "
        "operator 'first' is a split, which keeps something from tuple to tuple"
    )


def test_too_many_operators_to_have_replicas_are_the_reason_that_is_told():
    graph = Graph("wide")
    split, sink = graph.split("split", 600), graph.sink("sink")
    graph.connect(graph.source("source"), split)
    for way in range(600):
        work = graph.work(f"work{way}", 1)
        graph.connect(split.output(way), work)
        graph.connect(work, sink)
    with pytest.raises(UserError) as refused:
        layout_of(graph, Coroutine(replicas=2))
    assert str(refused.value) == (
        "replicas must be at most 1 for graph 'wide', of each of 600 operators, which share room "
        "for 512 more, not 2"
    )


async def looping(context):
    """A loop that passes all on."""
    async for value in context.input:
        await context.push(value)
