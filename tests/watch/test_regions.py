"""Operators that are executed together: against a search from each place where a region begins."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

import topologies
from harness.graph import Graph
from harness.watch.regions import COLOURS, SHARED_REGION, GraphRegions


@st.composite
def graphs(draw: st.DrawFn) -> tuple[Graph, frozenset[str]]:
    """A graph without cycles, and some of its ports."""
    graph = Graph("drawn", 8)
    operators = [graph.source("s0"), graph.source("s1")]
    for number in range(draw(st.integers(1, 9))):
        inputs = draw(st.integers(1, 2))
        operator = graph.work(f"w{number}", 1, inputs=inputs)
        for port in range(inputs):
            for _ in range(draw(st.integers(1, 2))):
                graph.connect(draw(st.sampled_from(operators)), operator.input(port))
        operators.append(operator)
    ports = [str(port) for port in graph.input_ports()]
    return graph, frozenset(draw(st.lists(st.sampled_from(ports), unique=True)))


def reached(graph: Graph, queued: frozenset[str]) -> dict[str, set[str]]:
    """Return where the regions begin that reach each operator by calls."""
    roots = {name for name, operator in graph.operators.items() if operator.is_source}
    roots |= {port.operator for port in graph.input_ports() if str(port) in queued}
    found: dict[str, set[str]] = {name: set() for name in graph.operators}
    for root in roots:
        ahead = [root]
        while ahead:
            operator = ahead.pop()
            if root in found[operator]:
                continue
            found[operator].add(root)
            ahead += [
                s.target.operator
                for s in graph.streams
                if s.source.operator == operator and str(s.target) not in queued
            ]
    return found


@given(graphs())
def test_a_region_is_what_calls_reach_from_a_source_or_queue(
    drawn: tuple[Graph, frozenset[str]],
) -> None:
    graph, queued = drawn
    names = list(graph.operators)
    for operator, region in enumerate(GraphRegions(graph).of(queued)):
        roots = reached(graph, queued)[names[operator]]
        assert region == (names.index(roots.pop()) if len(roots) == 1 else SHARED_REGION)


@given(graphs())
def test_a_region_has_one_colour_and_another_one_than_those_that_feed_it(
    drawn: tuple[Graph, frozenset[str]],
) -> None:
    graph, queued = drawn
    regions = GraphRegions(graph)
    region = regions.of(queued)
    colours = regions.colours(region)
    assert all(-1 <= colour < COLOURS for colour in colours)
    assert all(
        (colour == SHARED_REGION) == (root == SHARED_REGION)
        for colour, root in zip(colours, region, strict=True)
    )
    number = {name: index for index, name in enumerate(graph.operators)}
    for stream in graph.streams:
        source, target = number[stream.source.operator], number[stream.target.operator]
        if SHARED_REGION in (region[source], region[target]):
            continue
        if region[source] == region[target]:
            assert colours[source] == colours[target]
        elif region[target] == target:  # at most 4 feed an operator, and there are more colours
            assert colours[source] != colours[target]


def test_what_several_regions_call_is_nobody_s() -> None:
    graph = topologies.build("data-parallel", {"width": 3}, 0)[0]
    queued = {str(port) for port in graph.input_ports() if port.operator.startswith("work")}
    region = dict(zip(graph.operators, GraphRegions(graph).of(queued), strict=True))
    assert region["sink"] == SHARED_REGION
    assert len({region[f"work{number}"] for number in (1, 2, 3)}) == 3


def test_a_queue_more_recolours_little() -> None:
    graph = topologies.build("pipeline", {"operators": 30}, 0)[0]
    regions = GraphRegions(graph)
    before = regions.colours(regions.of({"work10[0]", "work20[0]"}))
    after = regions.colours(regions.of({"work10[0]", "work15[0]", "work20[0]"}))
    changed = [
        name for name, was, now in zip(graph.operators, before, after, strict=True) if was != now
    ]
    assert changed == [f"work{number}" for number in range(15, 20)]
