"""Streams in one go: `graph.chain(a, b, c)` and `a >> b >> c` (C-Stream §2.2)."""

from __future__ import annotations

import pytest

from examples.sample_application import main, sample
from harness.graph import Graph, GraphError, Operator, PortId, Stream
from harness.graph.kinds import WORK
from harness.models import Dedicated, Dynamic, Manual


def parts() -> tuple[Graph, Operator, Operator, Operator, Operator]:
    graph = Graph("parts")
    return (
        graph,
        graph.source("source"),
        graph.filter("filter", 0.5),
        graph.barrier("barrier"),
        graph.sink("sink"),
    )


def streams(graph: Graph) -> list[str]:
    return [f"{source} {target}" for source, target in graph.streams]


def test_a_chain_connects_each_place_to_the_next_and_returns_the_last_operator():
    graph, source, sieve, barrier, sink = parts()
    assert graph.chain(source, sieve, barrier.input(1)) is barrier
    assert graph.chain(barrier, sink) is sink
    assert streams(graph) == ["source[0] filter[0]", "filter[0] barrier[1]", "barrier[0] sink[0]"]


def test_a_chain_by_arrows_is_the_same_and_goes_on_behind_a_port():
    graph, source, sieve, barrier, sink = parts()
    assert source >> sieve >> barrier.input(1) >> sink is sink
    by_method, *places = parts()
    by_method.chain(places[0], places[1], places[2].input(1), places[3])
    assert graph.streams == by_method.streams == [
        Stream(PortId("source", 0), PortId("filter", 0)),
        Stream(PortId("filter", 0), PortId("barrier", 1)),
        Stream(PortId("barrier", 0), PortId("sink", 0)),
    ]  # fmt: skip


def test_a_chain_may_begin_at_any_output_port_and_behind_several():
    graph = Graph("split")
    split = graph.split("split", 2)
    left = graph.work("left")
    right = graph.work("right")
    sink = graph.sink("sink")
    assert split.output(1) >> right is right
    graph.chain(split.output(0), left)
    graph.chain((left.output(0), right.output(0)), sink)
    assert streams(graph) == [
        "split[1] right[0]",
        "split[0] left[0]",
        "left[0] sink[0]",
        "right[0] sink[0]",
    ]


def wrong_port():
    _, source, _, barrier, _ = parts()
    source >> barrier.input(2)


def not_a_port():
    _, source, _, _, _ = parts()
    source >> 5


def no_graph():
    Operator("loose", WORK, 1, 1) >> PortId("sink", 0)


def behind_a_sink():
    _, source, sieve, _, sink = parts()
    source >> sink >> sieve


@pytest.mark.parametrize(
    ("mistake", "problem"),
    [
        (wrong_port, "operator 'barrier' has 2 input port(s); port 2 does not exist"),
        (not_a_port, "a port is given by its operator or its PortId, not 5"),
        (no_graph, "operator 'loose' is in no graph"),
        (behind_a_sink, "operator 'sink' has 0 output port(s); port 0 does not exist"),
        (lambda: parts()[0].chain(parts()[1]), "a chain must have two places at least"),
    ],
)
def test_a_mistake_names_what_is_wrong(mistake, problem):
    with pytest.raises(GraphError) as told:
        mistake()
    assert problem in str(told.value)


@pytest.mark.parametrize("model", [Manual(), Dedicated(), Dynamic(2)], ids=repr)
def test_the_sample_application_combines_a_name_with_a_value(model):
    totals = sample(model, tuples=2000)
    assert totals.correct and totals.drained and totals.sent == 4000
    assert 1600 < totals.received < 2000  # a tenth of the names is empty


def test_the_sample_application_says_what_became_of_its_tuples(capsys):
    main(tuples=1000)
    assert capsys.readouterr().out.endswith("correct\n")
