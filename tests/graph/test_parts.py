"""Parts of graphs that no stream connects."""

from hypothesis import given
from hypothesis import strategies as st

from harness.graph import Graph
from harness.graph.parts import parts_of
from harness.models import Manual
from harness.models.layout import MOST_PARTS, layout_of


def pairs(count: int) -> Graph:
    """Sources that each have a sink; the sinks come last, in reverse."""
    graph = Graph("pairs")
    sources = [graph.source(f"source{number}") for number in range(count)]
    for number, source in reversed(list(enumerate(sources))):
        graph.connect(source, graph.sink(f"sink{number}"))
    return graph


def test_operators_that_streams_connect_are_one_part():
    joined = {"a": [], "b": [], "join": ["a", "b"], "c": []}
    assert parts_of(joined) == [["a", "b", "join"], ["c"]]


def test_a_layout_has_the_parts_of_its_graph_and_that_of_each_sink():
    layout = layout_of(pairs(3), Manual())
    assert layout.parts == [[0, 5], [1, 4], [2, 3]]
    assert layout.part_of_sink == {5: 0, 4: 1, 3: 2}


def test_a_graph_with_one_source_or_one_sink_is_one_part():
    assert layout_of(pairs(1), Manual()).parts == [[0, 1]]
    joined = Graph("joined")
    sink = joined.sink("sink")
    for name in ("one", "other"):
        joined.connect(joined.source(name), sink)
    assert layout_of(joined, Manual()).parts == [[0, 1, 2]]


def test_too_many_parts_are_not_told_apart():
    assert len(layout_of(pairs(MOST_PARTS), Manual()).parts) == MOST_PARTS
    layout = layout_of(pairs(MOST_PARTS + 1), Manual())
    assert layout.parts == [list(range(2 * MOST_PARTS + 2))]
    assert set(layout.part_of_sink.values()) == {0}


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), max_size=60), st.data())
def test_parts_are_what_can_be_reached_along_streams_in_either_direction(streams, data):
    order = data.draw(st.permutations(range(31)))
    behind = {str(each): [str(a) for a, b in streams if b == each] for each in order}
    beside = {each: set() for each in range(31)}
    for one, other in streams:
        beside[one].add(other)
        beside[other].add(one)

    def reached(first):
        seen, left = {first}, [first]
        while left:
            for each in beside[left.pop()] - seen:
                seen.add(each)
                left.append(each)
        return frozenset(map(str, seen))

    found = {frozenset(part) for part in parts_of(behind)}
    assert found == {reached(each) for each in range(31)}
