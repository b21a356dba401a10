"""threaded_split and elastic_load_balance in a graph: their buffers, what they may be given, and
where they may stand.
"""

from __future__ import annotations

import math

import pytest

from harness.errors import UserError
from harness.graph import Graph, GraphError, PortId, Stream, Threading
from harness.graph.annotations import parallel, threading
from harness.graph.files.file import dump_graph, load_graph
from harness.models import Dedicated, Dynamic, Manual, PortQueue, Queue, port_queues
from harness.plots.graph_drawing import node_text, threads_of
from harness.plots.graph_layout import Node
from tests.graph.streams import targets_of


def balanced(ports: int = 3, elastic: bool = True) -> Graph:
    """source -> balance -> a work operator for each port -> sink."""
    graph = Graph("balanced")
    balance = (
        graph.elastic_load_balance("balance", ports, 20)
        if elastic
        else graph.threaded_split("balance", ports, 20)
    )
    graph.connect(graph.source("source"), balance)
    sink = graph.sink("sink")
    for port in range(ports):
        graph.connect(balance.output(port), graph.work(f"work{port}", 5))
        graph.connect(graph.operators[f"work{port}"], sink)
    return graph


@pytest.mark.parametrize("elastic", [True, False])
def test_each_output_port_has_a_buffer_with_a_thread(elastic):
    graph = balanced(2, elastic)
    graph.check()
    assert graph.threaded == {PortId("balance.1", 0): 20, PortId("balance.2", 0): 20}
    assert targets_of(graph)[PortId("balance", 0)] == [PortId("balance.1", 0)]
    assert targets_of(graph)[PortId("balance.2", 0)] == [PortId("work1", 0)]
    assert graph.output_port(graph.operators["balance"].output(1)) == PortId("balance.2", 0)
    assert graph.output_port(graph.operators["balance"]) == PortId("balance.1", 0)
    assert (graph.flow().copies, graph.flow().hops) == (1, 1)


def test_what_is_given_is_kept():
    graph = Graph("g")
    split = graph.threaded_split("s", 3, 7)
    assert (split.kind.name, split.inputs, split.outputs, split.buffer_size, split.elastic) == (
        "threaded_split",
        1,
        3,
        7,
        False,
    )
    plain = graph.elastic_load_balance("p", 6, 100)
    assert (plain.congestion_tolerance, plain.throughput_tolerance, plain.measure_period) == (
        0.5,
        0.05,
        5.0,
    )
    assert (plain.rapid_scaling, plain.elastic, plain.initial_active_ports) == (False, True, 1)
    assert graph.elastic_load_balance("all", 6, 100, elastic=False).initial_active_ports == 6
    given = graph.elastic_load_balance("g", 6, 1, 1, 0, 86_400, True, False, 6)
    assert (given.congestion_tolerance, given.throughput_tolerance, given.measure_period) == (
        1.0,
        0.0,
        86_400.0,
    )
    assert (given.rapid_scaling, given.elastic, given.initial_active_ports) == (True, False, 6)


BAD = {
    "congestion": (
        {"congestion_tolerance": -0.2},
        "congestion_tolerance of elastic_load_balance 'b' must be from 0 to 1",
    ),
    "congestion nan": (
        {"congestion_tolerance": math.nan},
        "congestion_tolerance of elastic_load_balance 'b' must be from 0 to 1",
    ),
    "throughput": (
        {"throughput_tolerance": 1.2},
        "throughput_tolerance of elastic_load_balance 'b' must be from 0 to 1",
    ),
    "period 0": (
        {"measure_period": 0},
        "measure_period of elastic_load_balance 'b' must be more than 0 and at most 86400 seconds",
    ),
    "period below": (
        {"measure_period": -1},
        "must be more than 0 and at most 86400 seconds, not -1",
    ),
    "period of a day": (
        {"measure_period": 86_401},
        "must be more than 0 and at most 86400 seconds, not 86401",
    ),
    "period nan": (
        {"measure_period": math.nan},
        "must be more than 0 and at most 86400 seconds, not nan",
    ),
    "period text": (
        {"measure_period": "5"},
        "must be more than 0 and at most 86400 seconds, not '5'",
    ),
    "period yes": (
        {"measure_period": True},
        "must be more than 0 and at most 86400 seconds, not True",
    ),
    "no port": (
        {"initial_active_ports": 0},
        "initial_active_ports of elastic_load_balance 'b' must be a whole number from 1 to 5",
    ),
    "6 of 5": (
        {"initial_active_ports": 6},
        "initial_active_ports of elastic_load_balance 'b' must be a whole number from 1 to 5",
    ),
    "half a port": ({"initial_active_ports": 1.5}, "not 1.5"),
    "rapid": (
        {"rapid_scaling": 1},
        "rapid_scaling of elastic_load_balance 'b' must be True or False, not 1",
    ),
    "elastic": (
        {"elastic": "no"},
        "elastic of elastic_load_balance 'b' must be True or False, not 'no'",
    ),
    "outputs": (
        {"outputs": 0},
        "outputs of elastic_load_balance 'b' must be a whole number from 1 to 1024 ports, not 0",
    ),
    "many outputs": (
        {"outputs": 1025},
        "outputs of elastic_load_balance 'b' must be a whole number from 1 to 1024 ports, not 1025",
    ),
    "buffer": (
        {"buffer_size": 0},
        "buffer_size of elastic_load_balance 'b' must be a whole number from 1 to 1048576 tuples, "
        "not 0",
    ),
    "large buffer": ({"buffer_size": 2**20 + 1}, "from 1 to 1048576 tuples, not 1048577"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_value_is_told_in_one_line_and_nothing_is_added(case):
    values, told = BAD[case]
    graph = Graph("g")
    with pytest.raises(GraphError) as caught:
        graph.elastic_load_balance("b", **{"outputs": 5, "buffer_size": 10, **values})
    assert told in str(caught.value)
    assert str(caught.value).endswith(f"not {next(iter(values.values()))!r}")
    assert "\n" not in str(caught.value)
    assert not graph.operators and not graph.threaded and not graph.streams


@pytest.mark.parametrize(
    "values", [{"outputs": 0}, {"outputs": 2.0}, {"buffer_size": 0}, {"buffer_size": -1}]
)
def test_a_bad_threaded_split_is_told_too(values):
    with pytest.raises(
        GraphError,
        match=f"{next(iter(values))} of threaded_split 's' must be a whole number from 1 to",
    ):
        Graph("g").threaded_split("s", **{"outputs": 2, "buffer_size": 10, **values})


def test_a_buffer_is_fed_by_its_owner_alone():
    graph = balanced()
    for change in (lambda: graph.connect(graph.operators["source"], graph.operators["balance.1"]),
                   lambda: graph.threaded_port(PortId("balance.2", 0))):  # fmt: skip
        with pytest.raises(
            GraphError,
            match=r"operator 'balance.[12]' is a buffer of 'balance', which alone may feed it",
        ):
            change()


def test_a_name_that_a_buffer_has_is_taken():
    graph = balanced()
    with pytest.raises(GraphError, match=r"two operators are named 'balance\.3'"):
        graph.work("balance.3")


def test_rules_name_the_port_as_its_user_does():
    graph = Graph("open")
    balance = graph.threaded_split("balance", 2, 5)
    graph.connect(graph.source("source"), balance)
    graph.connect(balance, graph.sink("sink"))
    graph.streams.append(Stream(PortId("balance.1", 0), PortId("sink", 0)))
    with pytest.raises(GraphError) as caught:
        graph.check()
    assert "output port balance[1] feeds nothing" in str(caught.value)
    assert "stream balance[0] -> sink[0] is connected twice" in str(caught.value)
    with pytest.raises(
        GraphError, match=r"operator 'balance' has 2 output port\(s\); port 2 does not exist"
    ):
        graph.connect(balance.output(2), graph.operators["sink"])


@pytest.mark.parametrize("model", [Manual(), Dedicated(), Dynamic(2)])
def test_it_runs_on_the_thread_that_submits_and_its_buffers_on_their_own(model):
    graph = balanced()
    queues = dict(zip(map(str, graph.input_ports()), port_queues(graph, model), strict=True))
    assert queues["balance[0]"] == PortQueue(Queue.CALLED)
    assert [queues[f"balance.{number}[0]"] for number in (1, 2, 3)] == [
        PortQueue(Queue.THREADED, 20)
    ] * 3
    threads = threads_of(graph, model)
    assert threads["source"] == threads["balance"] == ("t1",)
    assert len({threads[f"balance.{number}"] for number in (1, 2, 3)}) == 3


def test_its_input_port_may_be_threaded_by_hand():
    graph = balanced()
    graph.threaded_port(graph.operators["balance"], 9)
    assert PortQueue(Queue.THREADED, 9) in port_queues(graph, Manual())


def test_an_annotation_covers_the_buffers():
    @threading(model="dynamic", threads=2)
    def composite(graph, inlet):
        balance = graph.threaded_split("balance", 2, 5)
        graph.connect(inlet, balance)
        return balance.output(0), balance.output(1)

    graph = Graph("g")
    outlets = composite(graph, graph.source("source"))
    graph.connect(outlets, graph.sink("sink"))
    graph.check()
    assert graph.operators["balance.2"].threading == Threading("dynamic", 2)
    assert Queue.SCHEDULED not in {queue.kind for queue in port_queues(graph, Manual())}


def region(ordered: bool, ports: int) -> Graph:
    @parallel(width=2, ordered=ordered)
    def part(graph, inlet):
        balance, join = graph.elastic_load_balance("balance", ports, 5), graph.work("join")
        graph.connect(inlet, balance)
        for port in range(ports):
            graph.connect(balance.output(port), join)
        return join

    graph = Graph("region")
    graph.connect(part(graph, graph.source("source")), graph.sink("sink"))
    graph.check()
    return graph


def test_a_region_that_restores_its_order_refuses_what_lets_tuples_overtake_each_other():
    with pytest.raises(GraphError) as caught:
        region(ordered=True, ports=2)
    assert (
        "parallel 'part': operator 'part.1.balance' sends tuples to whichever buffer has room"
        in str(caught.value)
    )
    assert region(ordered=True, ports=1).operators["part.2.balance.1"].buffers == "part.2.balance"
    assert "part.2.balance.2" in region(ordered=False, ports=2).operators


def test_between_split_and_merge_it_is_refused_as_well():
    graph = Graph("merged")
    split = graph.split("split", 1)
    balance = graph.threaded_split("balance", 2, 5)
    merge = graph.merge("merge")
    graph.connect(graph.source("source"), split)
    graph.connect(split, balance)
    for port in range(2):
        graph.connect(balance.output(port), merge)
    graph.connect(merge, graph.sink("sink"))
    with pytest.raises(
        GraphError, match="'balance', between it and its split, may drop, double or divert tuples"
    ):
        graph.check()


def test_a_file_has_neither_the_buffers_nor_their_streams():
    values = dump_graph(balanced(2, elastic=False))
    assert {"threaded_split": "balance", "outputs": 2, "buffer_size": 20} in values["operators"]
    assert values["streams"] == [
        "source -> balance",
        "balance -> work0",
        "work0 -> sink",
        "balance[1] -> work1",
        "work1 -> sink",
    ]
    assert "threaded" not in values


def test_a_file_says_what_python_says(tmp_path):
    path = tmp_path / "balanced.yaml"
    path.write_text("""
operators:
  - {source: source}
  - {elastic_load_balance: balance, outputs: 2, buffer_size: 20, measure_period: 0.5, elastic: false}
  - {sink: sink}
streams: [source -> balance, balance -> sink, "balance[1] -> sink"]
""")
    graph = load_graph(path)
    graph.check()
    balance = graph.operators["balance"]
    assert (balance.measure_period, balance.elastic, balance.initial_active_ports) == (
        0.5,
        False,
        2,
    )
    assert [str(port) for port in graph.predecessors()[PortId("sink", 0)]] == [
        "balance.1[0]",
        "balance.2[0]",
    ]


def test_a_file_s_mistake_is_told_with_its_place(tmp_path):
    path = tmp_path / "bad.yaml"
    path.write_text(
        "operators:\n  - {elastic_load_balance: b, outputs: 5, buffer_size: 2, "
        "initial_active_ports: 6}\n"
    )
    with pytest.raises(UserError) as caught:
        load_graph(path)
    assert "line 2: operators[0]: initial_active_ports of elastic_load_balance 'b' must be" in str(
        caught.value
    )


def test_the_picture_tells_how_many_ports_are_active():
    graph = balanced()
    graph.threaded_split("plain", 4, 1)
    assert node_text(graph, Node(["balance"], 0), {}) == ("balance", "1 to 3, 1 active")
    assert node_text(graph, Node(["plain"], 0), {})[1] == "1 to 4"
    assert node_text(graph, Node(["balance.1"], 0), {})[1] == "buffer"
