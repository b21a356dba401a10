"""Every rule that a graph must obey: broken once, it is reported with the place; `check` accepts
what breaks none.
"""

from __future__ import annotations

import pytest

from harness.errors import UserError
from harness.graph import Graph, GraphError, PortId
from tests.graph.streams import targets_of


def small() -> Graph:
    """source -> work -> sink."""
    graph = Graph("small")
    work = graph.work("work", 1)
    graph.connect(graph.source("source"), work)
    graph.connect(work, graph.sink("sink"))
    return graph


def split_and_merge() -> Graph:
    """source -> split -> left, right -> merge -> sink."""
    graph = Graph("merged")
    split, merge = graph.split("split", 2), graph.merge("merge")
    graph.connect(graph.source("source"), split)
    for port, name in enumerate(("left", "right")):
        graph.connect(split.output(port), graph.work(name, 1))
        graph.connect(graph.operators[name], merge)
    graph.connect(merge, graph.sink("sink"))
    return graph


def dangling_output() -> Graph:
    graph = small()
    graph.connect(graph.operators["source"], graph.work("idle", 1, outputs=2))
    graph.connect(graph.operators["idle"].output(0), graph.operators["sink"])
    return graph


def dangling_input() -> Graph:
    graph = small()
    graph.connect(graph.operators["source"], graph.sink("second", inputs=2).input(0))
    return graph


def no_source() -> Graph:
    graph = Graph("headless")
    graph.sink("sink")
    return graph


def no_sink() -> Graph:
    graph = Graph("endless")
    graph.source("source")
    return graph


def doubled_stream() -> Graph:
    graph = small()
    graph.connect(graph.operators["work"], graph.operators["sink"])
    return graph


def cycle() -> Graph:
    graph = small()
    graph.connect(graph.operators["work"], graph.work("back", 1))
    graph.connect(graph.operators["back"], graph.operators["work"])
    return graph


def cycle_in_a_graph_with_a_colon() -> Graph:
    graph = cycle()
    graph.name = "a: b"
    return graph


def merge_without_split() -> Graph:
    graph = Graph("merged")
    merge = graph.merge("merge")
    graph.connect(graph.source("source"), merge)
    graph.connect(merge, graph.sink("sink"))
    return graph


def merge_behind_merge() -> Graph:
    graph = split_and_merge()
    second = graph.merge("second")
    graph.connect(graph.operators["merge"], second)
    graph.connect(second, graph.operators["sink"])
    return graph


def merge_of_two_splits() -> Graph:
    graph = split_and_merge()
    inner = graph.split("inner", 1)
    graph.connect(graph.operators["source"], inner)
    graph.connect(inner, graph.operators["merge"])
    return graph


def merge_that_misses_tuples() -> Graph:
    graph = split_and_merge()
    graph.connect(graph.operators["left"], graph.sink("side"))
    return graph


def merge_behind_a_dropping_operator() -> Graph:
    graph = split_and_merge()
    graph.connect(graph.operators["left"], graph.python("filter", lambda sequence, value: None))
    graph.connect(graph.operators["filter"], graph.operators["merge"])
    return graph


def merge_of_a_split_that_doubles() -> Graph:
    graph = split_and_merge()
    graph.connect(graph.operators["split"].output(0), graph.work("twin", 1))
    graph.connect(graph.operators["twin"], graph.operators["merge"])
    return graph


BROKEN = [
    (dangling_output, "output port idle[1] feeds nothing"),
    (dangling_input, "input port second[1] is fed by nothing"),
    (
        no_source,
        "no source: a graph needs an operator without input ports",
        "input port sink[0] is fed by nothing",
    ),
    (
        no_sink,
        "no sink: a graph needs an operator without output ports",
        "output port source[0] feeds nothing",
    ),
    (doubled_stream, "stream work[0] -> sink[0] is connected twice"),
    (cycle, "cycle work -> back -> work"),
    (cycle_in_a_graph_with_a_colon, "cycle work -> back -> work"),
    (merge_without_split, "merge 'merge': 'source' reaches it without passing a split"),
    (
        merge_behind_merge,
        "merge 'second': 'merge' reaches it without passing a split",
        "merge 'second': tuples of its split 'split' also go to 'merge'",
    ),
    (merge_of_two_splits, "merge 'merge': more than one split feeds it (inner, split)"),
    (
        merge_that_misses_tuples,
        "merge 'merge': 'left', between it and its split, may drop, double or divert tuples",
        "merge 'merge': tuples of its split 'split' also go to 'side'",
    ),
    (
        merge_behind_a_dropping_operator,
        "merge 'merge': 'filter', between it and its split, may drop",
        "merge 'merge': 'left', between it and its split, may drop",
    ),
    (
        merge_of_a_split_that_doubles,
        "merge 'merge': an output port of its split 'split' feeds more than one input port",
    ),
]


@pytest.mark.parametrize("graph", [small, split_and_merge])
def test_a_sound_graph_is_accepted(graph):
    graph().check()


@pytest.mark.parametrize(
    ("broken", "told"),
    [(broken, told) for broken, *told in BROKEN],
    ids=[each[0].__name__ for each in BROKEN],
)
def test_broken_rules_alone_are_told_with_their_place(broken, told):
    graph = broken()
    with pytest.raises(GraphError) as caught:
        graph.check()
    problems = str(caught.value).removeprefix(f"graph {graph.name!r}: ").split("; ")
    assert len(problems) == len(told) and all(map(str.startswith, problems, told)), problems
    assert "\n" not in str(caught.value)


def test_an_operator_that_passes_everything_on_may_stand_between_split_and_merge():
    graph = split_and_merge()
    split = graph.split("other split", 1)
    python = graph.python("checked", lambda sequence, value: value, preserves=True)
    merge = graph.merge("other merge")
    graph.connect(graph.operators["source"], split)
    graph.connect(split, python)
    graph.connect(python, merge)
    graph.connect(merge, graph.operators["sink"])
    graph.check()


def test_a_cycle_is_told_in_topological_order_too():
    with pytest.raises(GraphError, match="graph 'small': cycle work -> back -> work"):
        cycle().topological_order()


def test_an_operator_that_feeds_itself_is_a_cycle():
    graph = small()
    graph.connect(graph.operators["work"], graph.operators["work"])
    with pytest.raises(
        GraphError, match=r"cycle work -> work \(only a control port may close one\)$"
    ):
        graph.check()


def test_a_long_cycle_is_told_in_short():
    graph = Graph("ring")
    ring = [graph.work(f"w{i}", 0) for i in range(100)]
    for one, other in zip(ring, ring[1:] + ring[:1], strict=True):
        graph.connect(one, other)
    graph.connect(graph.source("source"), ring[0])
    graph.connect(ring[-1], graph.sink("sink"))
    with pytest.raises(GraphError) as caught:
        graph.check()
    assert "…" in str(caught.value)
    assert len(str(caught.value)) < 200


def test_many_problems_are_counted_not_all_told():
    graph = Graph("wide")
    graph.connect(graph.source("source"), graph.split("split", 100))
    graph.sink("sink")
    with pytest.raises(
        GraphError, match=r"and 93 more$"
    ):  # 100 output ports and the sink's input port, 8 told
        graph.check()


def test_a_name_can_be_used_once():
    graph = small()
    with pytest.raises(GraphError, match="graph 'small': two operators are named 'work'"):
        graph.sink("work")


@pytest.mark.parametrize("name", ["", None, 7, "two\nlines", "tab\t"])
def test_a_name_is_printable_text(name):
    with pytest.raises(GraphError, match="an operator's name must be non-empty printable text"):
        Graph("g").source(name)


@pytest.mark.parametrize("cost", [-1, 10**9 + 1, 1.5, "100", None, True])
def test_a_cost_is_a_whole_number_of_flop_in_range(cost):
    with pytest.raises(GraphError) as caught:
        Graph("g").work("w", cost)
    assert (
        str(caught.value)
        == f"cost of operator 'w' must be a whole number from 0 to 1000000000 FLOP, not {cost!r}"
    )


@pytest.mark.parametrize("payload", [-1, 64 * 2**20 + 1, 0.5, "128", False])
def test_a_payload_is_a_whole_number_of_bytes_in_range(payload):
    with pytest.raises(GraphError, match="payload must be a whole number from 0 to 67108864 bytes"):
        Graph("g", payload)


def test_the_ends_of_the_ranges_are_allowed():
    assert Graph("g", 0).work("w", 0).cost == 0
    assert Graph("g", 64 * 2**20).work("w", 10**9).cost == 10**9


@pytest.mark.parametrize("count", [0, -1, 10**6 + 1, 1.0])
def test_a_count_of_ports_is_in_range(count):
    with pytest.raises(
        GraphError, match="outputs of operator 's' must be a whole number from 1 to 1000000 ports"
    ):
        Graph("g").split("s", count)
    with pytest.raises(
        GraphError, match="inputs of operator 's' must be a whole number from 1 to 1000000 ports"
    ):
        Graph("g").sink("s", inputs=count)


def test_a_python_operator_needs_something_to_call():
    with pytest.raises(GraphError, match="operator 'p': function must be callable, not 3"):
        Graph("g").python("p", 3)


@pytest.mark.parametrize(
    ("source", "target", "told"),
    [
        (PortId("nobody", 0), PortId("sink", 0), "no operator is named 'nobody'"),
        (
            PortId("work", 1),
            PortId("sink", 0),
            "operator 'work' has 1 output port(s); port 1 does not exist",
        ),
        (PortId("work", -1), PortId("sink", 0), "port -1 does not exist"),
        (
            PortId("work", 0),
            PortId("sink", 1),
            "operator 'sink' has 1 input port(s); port 1 does not exist",
        ),
        (PortId("sink", 0), PortId("work", 0), "operator 'sink' has 0 output port(s)"),
        (PortId("work", 0), PortId("source", 0), "operator 'source' has 0 input port(s)"),
    ],
)
def test_streams_join_ports_that_exist(source, target, told):
    with pytest.raises(GraphError) as caught:
        small().connect(source, target)
    assert told in str(caught.value)


def test_a_graph_error_is_the_users():
    assert issubclass(GraphError, UserError)


def test_readers_list_ports_in_order():
    graph = split_and_merge()
    assert targets_of(graph)[PortId("split", 1)] == [PortId("right", 0)]
    assert graph.predecessors()[PortId("merge", 0)] == [PortId("left", 0), PortId("right", 0)]
    assert [str(port) for port in graph.input_ports()] == [
        "split[0]",
        "merge[0]",
        "left[0]",
        "right[0]",
        "sink[0]",
    ]
    assert graph.downstream()["split"] == ["left", "right"]
