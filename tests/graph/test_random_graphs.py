"""Properties of random graphs: sound ones pass, a planted cycle is found, `flow` agrees with a walk
of all paths.
"""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.graph import Graph, GraphError, Operator, PortId
from harness.graph.kinds import WORK
from tests.graph.streams import targets_of

CALM = settings(
    derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)  # the machine may be busy


@st.composite
def sound_graphs(draw, operators: tuple[int, int] = (0, 8), outputs: int = 3) -> Graph:
    """Every input port is fed by earlier operators, every output port that feeds nothing is led to
    the sink.
    """
    graph = Graph("random")
    earlier: list[PortId] = [
        graph.source(f"source{number}").output(0) for number in range(draw(st.integers(1, 2)))
    ]
    for number in range(draw(st.integers(*operators))):
        work = graph.work(
            f"w{number}", 1, inputs=draw(st.integers(1, 3)), outputs=draw(st.integers(1, outputs))
        )
        for port in range(work.inputs):
            for origin in draw(
                st.lists(st.sampled_from(earlier), min_size=1, max_size=2, unique=True)
            ):
                graph.connect(origin, work.input(port))
        earlier += [work.output(port) for port in range(work.outputs)]
    sink = graph.sink("sink")
    for port, targets in targets_of(graph).items():
        if not targets:
            graph.connect(port, sink)
    if not graph.predecessors()[sink.input(0)]:
        graph.connect(earlier[0], sink)
    return graph


def works(graph: Graph) -> list[Operator]:
    return [operator for operator in graph.operators.values() if operator.kind is WORK]


@CALM
@given(sound_graphs())
def test_a_sound_graph_passes(graph):
    graph.check()


@CALM
@given(sound_graphs())
def test_topological_order_has_every_operator_once_and_after_those_that_feed_it(graph):
    order = graph.topological_order()
    assert sorted(order) == sorted(graph.operators)
    place = {name: number for number, name in enumerate(order)}
    assert all(
        place[stream.source.operator] < place[stream.target.operator] for stream in graph.streams
    )


@CALM
@given(sound_graphs(operators=(1, 8)), st.data())
def test_a_planted_cycle_is_found_and_named(graph, data):
    first = data.draw(st.sampled_from(works(graph)), label="first")
    last, downstream = first, graph.downstream()
    while data.draw(st.booleans(), label="further"):
        onwards = [name for name in downstream[last.name] if name != "sink"]
        if not onwards:
            break
        last = graph.operators[data.draw(st.sampled_from(onwards), label="next")]
    graph.connect(last, first)
    with pytest.raises(GraphError) as caught:
        graph.check()
    told = re.search(r"cycle ([^;(]+) \(", str(caught.value)).group(1).split(" -> ")
    assert told[0] == told[-1]
    edges = graph.downstream()
    assert all(after in edges[before] for before, after in pairwise(told))


@CALM
@given(sound_graphs())
def test_every_input_port_left_alone_is_named(graph):
    lonely = graph.sink("lonely", inputs=2)
    with pytest.raises(GraphError) as caught:
        graph.check()
    assert all(
        f"input port {lonely.input(port)} is fed by nothing" in str(caught.value)
        for port in range(2)
    )


@CALM
@given(sound_graphs(operators=(0, 6), outputs=1))
def test_copies_and_hops_are_those_of_all_paths(graph):
    edges = graph.downstream()

    def paths(name: str) -> list[int]:
        """Work operators passed on each way from here to a sink: with one output port each, a tuple
        goes all ways.
        """
        if not edges[name]:
            return [0]
        here = int(graph.operators[name].kind is WORK)
        return [here + there for target in edges[name] for there in paths(target)]

    flow = graph.flow()
    assert {name: len(paths(name)) for name in graph.operators} == flow.copies_from
    arrivals = sum(len(paths(name)) for name in graph.operators if name.startswith("source"))
    # An operator's tuples are counted once, however many ways lead on from it.
    passed = sum(ways_to(graph, operator.name) for operator in works(graph))
    assert flow.hops == pytest.approx(passed / arrivals)


def ways_to(graph: Graph, name: str) -> int:
    """Ways from the sources to an operator."""
    origins = [stream.source.operator for stream in graph.streams if stream.target.operator == name]
    return sum(ways_to(graph, origin) for origin in origins) if origins else 1
