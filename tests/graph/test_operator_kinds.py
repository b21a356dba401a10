"""Rates, bursts, windows, filters, keys, control ports and threaded ports: what a graph keeps of
them, and what it refuses.
"""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from harness.graph import Graph, GraphError, Operator, PortId, builder
from harness.graph import data as graph_module
from harness.graph.kinds import CONTROL, NATIVE, WORK
from harness.graph.values import MAX_QUEUE_CAPACITY


def chain(*middle: str) -> Graph:
    """source -> work operators of these names -> sink."""
    graph = Graph("chain")
    last = graph.source("source")
    for name in middle:
        graph.connect(last, graph.work(name))
        last = graph.operators[name]
    graph.connect(last, graph.sink("sink"))
    return graph


def split_and_merge() -> Graph:
    """source -> split -> left, right -> merge -> sink."""
    graph = Graph("merged")
    split, merge = graph.split("split", 2), graph.merge("merge")
    graph.connect(graph.source("source"), split)
    for port, name in enumerate(("left", "right")):
        graph.connect(split.output(port), graph.work(name))
        graph.connect(graph.operators[name], merge)
    graph.connect(merge, graph.sink("sink"))
    return graph


def test_what_is_given_is_kept():
    graph = Graph("g")
    assert graph.source("a", rate=1000).rate == 1000.0
    assert graph.source("b", rates=[(0.5, 1000), (2, None), (1, 0)]).rates == (
        (0.5, 1000.0),
        (2.0, None),
        (1.0, 0.0),
    )
    assert graph.source("c", window=100).window == 100
    assert len(graph.source("many", rates=[(1, 1)] * 1000).rates) == 1000
    assert graph.work("d", busy_us=2).busy_us == 2.0
    assert graph.work("e", costs=[(30, 1), (10, 10_000), (60, 1)]).costs == (
        (30, 1),
        (10, 10_000),
        (60, 1),
    )
    assert graph.split("f", 2, keys=16).keys == graph.work("h", keys=16).keys == 16
    assert graph.python("g", lambda sequence, value: value, reentrant=True).reentrant


def test_a_plain_operator_has_none_of_it():
    plain = Graph("g").work("w", 5)
    assert plain == Operator("w", WORK, 1, 1, 5)


def test_a_native_operator_has_what_becomes_of_its_function(monkeypatch):
    class NativeFunction:
        """Stands in for what wraps compiled functions."""

        of = staticmethod(lambda function, state: ("native", function, state))

    monkeypatch.setattr(builder, "NativeFunction", NativeFunction)
    operator = Graph("g").native("n", 5, inputs=2, reentrant=True, state=7)
    assert operator == Operator(
        "n", NATIVE, 2, 1, preserves=False, native=("native", 5, 7), reentrant=True
    )
    assert Graph("g").native("n", 5, preserves=True).preserves


def test_a_filter_preserves_only_if_it_passes_all():
    graph = Graph("g")
    assert not graph.filter("half", 0.5).preserves
    assert graph.filter("all", 1).preserves
    assert graph.filter("none", 0).selectivity == 0.0


def test_work_preserves_only_if_it_passes_all():
    graph = Graph("g")
    half = graph.work("half", busy_us=3, selectivity=0.5)
    assert (half.selectivity, half.preserves, half.counts_output) == (0.5, False, True)
    assert graph.work("all", selectivity=1) == replace(graph.work("plain"), name="all")


BAD = {
    "barrier of 1": (lambda g: g.barrier("b", 1), "inputs of barrier 'b' must be a whole number "
                                                  "from 2 to 1024 ports, not 1"),
    "barrier of many": (lambda g: g.barrier("b", 1025), "not 1025"),
    "share": (lambda g: g.work("w", selectivity=2), "selectivity of operator 'w' must be from 0 to "
                                                    "1 of the tuples, not 2"),
    "share text": (lambda g: g.work("w", selectivity="half"), "not 'half'"),
    "rate 0": (lambda g: g.source("s", rate=0), "rate of source 's' must be from 1e-06 to 1e+09 "
                                                "tuples/s, not 0"),
    "rate nan": (lambda g: g.source("s", rate=math.nan), "rate of source 's' must be from 1e-06 to "
                                                         "1e+09 tuples/s, not nan"),
    "rate inf": (lambda g: g.source("s", rate=math.inf), "not inf"),
    "rate text": (lambda g: g.source("s", rate="fast"), "not 'fast'"),
    "rate yes": (lambda g: g.source("s", rate=True), "not True"),
    "rate and rates": (lambda g: g.source("s", rate=1, rates=[(1, 1)]), "source 's': rate and "
                                                            "rates exclude each other"),
    "rates number": (lambda g: g.source("s", rates=5), "rates of source 's' must be a list of at "
                                                       "most 1000 pairs"),
    "rates single": (lambda g: g.source("s", rates=[5]), "rates of source 's' must be pairs "
                                                         "(seconds, tuples/s), not 5"),
    "rates of no length": (lambda g: g.source("s", rates=[(0, 5)]), "rates[0] of source 's': "
                                                            "length must be from 0.001 to"),
    "rates negative": (lambda g: g.source("s", rates=[(1, 1), (1, -1)]), "rates[1] of source 's' "
                                                            "must be from"),
    "rates silent": (lambda g: g.source("s", rates=[(1, 0)]), "rates of source 's' must send "
                                                            "something, not be silence alone"),
    "rates many": (lambda g: g.source("s", rates=[(1, 1)] * 1001), "a list of at most 1000 pairs"),
    "window": (lambda g: g.source("s", window=-1), "window of source 's' must be a whole number "
                                                   "from 0 to 10000"),
    "busy": (lambda g: g.work("w", busy_us=-1), "busy_us of operator 'w' must be from 0 to 1e+06 "
                                                "µs, not -1"),
    "cost and busy": (lambda g: g.work("w", 1, busy_us=1), "operator 'w': cost and busy_us exclude "
                                                           "each other"),
    "cost and costs": (lambda g: g.work("w", 1, costs=[(1, 1)]), "operator 'w': cost and costs "
                                                            "exclude each other"),
    "costs length": (lambda g: g.work("w", costs=[(0, 1)]), "costs[0] of operator 'w': length must "
                                                            "be a whole number from 1"),
    "costs cost": (lambda g: g.work("w", costs=[(1, 1), (1, 0.5)]), "costs[1] of operator 'w' must "
                                                            "be a whole number"),
    "selectivity": (lambda g: g.filter("f", 1.1), "selectivity of filter 'f' must be from 0 to 1 "
                                                  "of the tuples, not 1.1"),
    "keys": (lambda g: g.split("s", 2, keys=-1), "keys of split 's' must be a whole number from 0"),
    "keys of work": (lambda g: g.work("w", keys=1.5), "keys of operator 'w' must be a whole number "
                                                      "from 0"),
    "keys and stateless": (lambda g: g.python("p", print, stateless=True, keys=2), "stateless and "
                                                            "keys exclude "
                                                            "each other"),
    "a long number": (lambda g: g.work("w", 10**5000), "not a whole number of 16610 bits"),
    "control of a sink": (lambda g: g.control(g.sink("s")), "operator 's': a sink cannot have a "
                                                            "control port"),
    "control of a split": (lambda g: g.control(g.split("s", 1)), "operator 's': a split cannot "
                                                            "have a control port"),
    "control of a stranger": (lambda g: g.control(Graph("h").work("w")), "control takes an "
                                                            "operator of the graph, "
                                                            "not 'w'"),
    "control of a name": (lambda g: g.control("w"), "graph 'g': control takes an operator of the "
                                                    "graph, not 'w'"),
    "threaded source": (lambda g: g.threaded_port(g.source("s")), "operator 's' has 0 input "
                                                            "port(s)"),
    "threaded nobody": (lambda g: g.threaded_port(PortId("x", 0)), "no operator is named 'x'"),
    "threaded port of no number": (lambda g: g.threaded_port(PortId(g.work("w").name, "0")), "port 0 does not exist"),
    "threaded name": (lambda g: g.threaded_port("x"), "a port is given by its operator or its "
                                                      "PortId, not 'x'"),
    "threaded full": (lambda g: g.threaded_port(g.work("w"), 0), "capacity of threaded port w[0] "
                                                            "must be a whole"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_a_bad_value_is_told_in_one_line(case):
    build, told = BAD[case]
    with pytest.raises(GraphError) as caught:
        build(Graph("g"))
    assert told in str(caught.value)
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 300


def test_a_graph_has_at_most_so_many_operators(monkeypatch):
    monkeypatch.setattr(graph_module, "MAX_OPERATORS", 3)
    with pytest.raises(GraphError, match="graph 'chain': must have at most 3 operators"):
        chain("a", "b")


def test_a_control_port_is_an_operator_of_its_own():
    graph = chain("work")
    port = graph.control(graph.operators["work"])
    assert port == PortId("work.control", 0)
    assert graph.operators["work.control"] == Operator(
        "work.control", CONTROL, 1, 0, controls="work"
    )
    with pytest.raises(GraphError, match="operator 'work' has a control port already"):
        graph.control(graph.operators["work"])


def test_a_control_port_must_be_fed():
    graph = chain("work")
    graph.control(graph.operators["work"])
    with pytest.raises(GraphError, match=r"input port work.control\[0\] is fed by nothing"):
        graph.check()


def test_a_cycle_may_be_closed_by_a_control_port_alone():
    graph = chain("first", "second")
    graph.connect(graph.operators["second"], graph.control(graph.operators["first"]))
    graph.check()
    assert graph.topological_order().index("first") < graph.topological_order().index("second")
    graph.connect(graph.operators["second"], graph.operators["first"])
    with pytest.raises(
        GraphError, match=r"cycle first -> second -> first \(only a control port may close one\)"
    ):
        graph.check()


def test_copies_to_a_control_port_end_there_but_do_not_arrive_at_a_sink():
    graph = chain("first", "second")
    graph.connect(graph.operators["second"], graph.control(graph.operators["first"]))
    flow = graph.flow()
    assert flow.copies_from == {"source": 2, "first": 2, "second": 2, "sink": 1, "first.control": 1}
    assert (flow.copies, flow.hops) == (1, 2.0)


def test_between_split_and_merge_tuples_may_go_to_a_control_port_besides():
    graph = split_and_merge()
    graph.connect(graph.operators["left"], graph.control(graph.operators["right"]))
    graph.check()
    graph.connect(graph.operators["split"].output(1), graph.control(graph.operators["left"]))
    graph.check()


def test_between_split_and_merge_no_tuple_may_go_to_a_control_port_alone():
    graph = split_and_merge()
    graph.connect(graph.operators["left"], graph.work("end"))
    graph.connect(graph.operators["end"], graph.control(graph.operators["right"]))
    with pytest.raises(GraphError) as caught:
        graph.check()
    assert "merge 'merge': output port end[0] keeps tuples of its split 'split' from it" in str(
        caught.value
    )


def test_a_split_whose_output_ends_at_a_control_port_starves_its_merge():
    graph = Graph("starved")
    split, work, merge = graph.split("split", 2), graph.work("work"), graph.merge("merge")
    graph.connect(graph.source("source"), split)
    graph.connect(split.output(0), work)
    graph.connect(split.output(1), graph.control(work))
    graph.connect(work, merge)
    graph.connect(merge, graph.sink("sink"))
    with pytest.raises(
        GraphError, match=r"output port split\[1\] keeps tuples of its split 'split' from it"
    ):
        graph.check()


def test_only_a_filter_that_passes_all_may_stand_before_a_merge():
    for selectivity, sound in ((1.0, True), (0.5, False)):
        graph = split_and_merge()
        third = graph.split("other", 1)
        graph.connect(graph.operators["source"], third)
        graph.connect(third, graph.filter("filter", selectivity))
        graph.connect(graph.operators["filter"], graph.merge("second"))
        graph.connect(graph.operators["second"], graph.operators["sink"])
        if sound:
            graph.check()
        else:
            with pytest.raises(GraphError, match="'filter', between it and its split, may drop"):
                graph.check()


def test_a_filter_thins_what_passes_the_operators_behind_it():
    graph = Graph("thin")
    first, half, last = graph.work("first"), graph.filter("half", 0.5), graph.work("last")
    for source, target in (
        (graph.source("source"), first),
        (first, half),
        (half, last),
        (last, graph.sink("sink")),
    ):
        graph.connect(source, target)
    flow = graph.flow()
    assert flow.copies is None
    assert flow.copies_from == dict.fromkeys(graph.operators, 1)
    assert (
        flow.hops == 5.0
    )  # of 2 tuples, 4 passes before and in the filter and 1 behind it; 1 arrives


def test_nothing_arrives_behind_a_filter_that_passes_nothing():
    graph = Graph("none")
    graph.connect(graph.source("source"), graph.filter("none", 0))
    graph.connect(graph.operators["none"], graph.sink("sink"))
    assert graph.flow().hops == 0.0


def test_copies_beyond_counting_are_unknown():
    graph = Graph("doubling")
    last = graph.source("source")
    for number in range(2000):
        left, right, joined = (
            graph.work(f"{side}{number}") for side in ("left", "right", "joined")
        )
        for side in (left, right):
            graph.connect(last, side)
            graph.connect(side, joined)
        last = joined
    graph.connect(last, graph.sink("sink"))
    flow = graph.flow()
    assert (flow.copies, flow.copies_from["joined1960"]) == (None, 2**39)
    assert math.isfinite(flow.hops)


def test_a_threaded_port_is_kept_with_its_capacity():
    graph = chain("work")
    graph.threaded_port(graph.operators["work"])
    graph.threaded_port(graph.operators["sink"].input(0), MAX_QUEUE_CAPACITY)
    assert graph.threaded == {PortId("work", 0): 1000, PortId("sink", 0): MAX_QUEUE_CAPACITY}
    with pytest.raises(GraphError, match=r"input port work\[0\] is threaded twice"):
        graph.threaded_port(graph.operators["work"])


def test_graphs_are_equal_if_all_they_hold_is():
    graph, other = chain("a", "b"), chain("a", "b")
    assert graph == other
    other.threaded_port(other.operators["a"])
    assert graph != other
    assert chain("a", "b") != chain("b", "a")
    assert graph != "chain"


def test_many_wrong_merges_are_told_quickly():
    graph = Graph("wrong")
    split, work, sink = graph.split("split", 1), graph.work("work"), graph.sink("sink")
    graph.connect(graph.source("source"), split)
    graph.connect(split, work)
    for number in range(3000):
        graph.connect(work, graph.merge(f"m{number}"))
        graph.connect(graph.operators[f"m{number}"], sink)
    with pytest.raises(GraphError, match=r"and 92 more$"):
        graph.check()
