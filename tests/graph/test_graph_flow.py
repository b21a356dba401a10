"""`Graph.flow`: how many operators a tuple passes, and how many tuples become of it."""

from __future__ import annotations

from harness.graph import Graph
from harness.graph.flow import visits_of


def chain(length: int) -> Graph:
    graph = Graph("chain")
    last = graph.source("source")
    for number in range(length):
        work = graph.work(f"w{number}", 1)
        graph.connect(last, work)
        last = work
    graph.connect(last, graph.sink("sink"))
    return graph


def test_a_chain_has_as_many_hops_as_operators():
    flow = chain(7).flow()
    assert (flow.hops, flow.copies) == (7.0, 1)
    assert flow.copies_from == dict.fromkeys(chain(7).operators, 1)


def test_a_source_that_feeds_a_sink_has_no_hops():
    assert chain(0).flow().hops == 0.0


def test_splits_and_sinks_are_no_hops_but_merges_are():
    graph = Graph("merged")
    split, merge = graph.split("split", 3), graph.merge("merge")
    graph.connect(graph.source("source"), split)
    for port in range(3):
        work = graph.work(f"w{port}", 1)
        graph.connect(split.output(port), work)
        graph.connect(work, merge)
    graph.connect(merge, graph.sink("sink"))
    assert (graph.flow().hops, graph.flow().copies) == (2.0, 1)


def test_a_share_that_is_no_binary_fraction_does_not_drift():
    graph = Graph("wide")
    split, sink = graph.split("split", 10_007), graph.sink("sink")
    graph.connect(graph.source("source"), split)
    for port in range(split.outputs):
        work = graph.work(f"w{port}", 1)
        graph.connect(split.output(port), work)
        graph.connect(work, sink)
    assert graph.flow().hops == 1.0


def test_paths_of_different_length_are_averaged():
    graph = chain(1)
    other = graph.split("other", 2)
    graph.connect(graph.source("second"), other)
    graph.connect(other.output(0), graph.operators["w0"])
    graph.connect(other.output(1), graph.operators["sink"])
    assert graph.flow().hops == 0.75  # of 4 tuples, 3 pass the one operator


def test_fan_out_multiplies():
    graph = chain(2)
    graph.connect(graph.operators["w0"], graph.sink("second"))
    flow = graph.flow()
    assert flow.copies == 2
    assert flow.hops == 1.0  # 2 operators passed for 2 tuples at the sinks
    assert flow.copies_from == {"source": 2, "w0": 2, "w1": 1, "sink": 1, "second": 1}


def test_copies_are_unknown_where_they_depend_on_the_tuple():
    graph = chain(0)
    work = graph.work("fork", 1, outputs=2)
    graph.connect(graph.source("second"), work)
    graph.connect(work.output(0), graph.operators["sink"])
    graph.connect(work.output(1), graph.operators["sink"])
    assert graph.flow().copies == 1
    graph.connect(work.output(1), graph.sink("extra"))
    assert graph.flow().copies_from["fork"] is None
    assert graph.flow().copies is None  # one source makes one tuple of each, the other one or two


def test_an_operator_that_may_drop_makes_arrivals_unknown_but_not_what_its_tuples_end_as():
    graph = Graph("python")
    filtered = graph.python("filter", lambda sequence, value: None)
    graph.connect(graph.source("source"), filtered)
    graph.connect(filtered, graph.sink("sink"))
    assert graph.flow().copies is None
    assert graph.flow().copies_from == {"source": 1, "filter": 1, "sink": 1}


def test_an_operator_that_promises_to_pass_all_on_keeps_copies_known():
    graph = Graph("python")
    same = graph.python("same", lambda sequence, value: value, preserves=True)
    graph.connect(graph.source("source"), same)
    graph.connect(same, graph.sink("sink"))
    assert (graph.flow().hops, graph.flow().copies) == (1.0, 1)


def test_deep_graphs_do_not_overflow_the_stack():
    graph = chain(20_000)
    graph.check()
    assert graph.flow().hops == 20_000


def test_visits_are_tuples_at_each_operator_for_each_that_arrives():
    """Each branch gets 4 of 8 tuples, and one of them passes on a half: 6 arrive."""
    graph = Graph("branches")
    split, sink = graph.split("split", 2), graph.sink("sink")
    graph.connect(graph.source("source"), split)
    for port, share in enumerate((0.5, 1.0)):
        work = graph.work(f"w{port}", 1, selectivity=share)
        graph.connect(split.output(port), work)
        graph.connect(work, sink)
    assert visits_of(graph) == {
        "source": 8 / 6,
        "split": 8 / 6,
        "sink": 1.0,
        "w0": 4 / 6,
        "w1": 4 / 6,
    }


def test_nothing_visits_operators_of_a_graph_where_nothing_arrives():
    graph = Graph("dropped")
    work = graph.work("work", 1, selectivity=0.0)
    graph.connect(graph.source("source"), work)
    graph.connect(work, graph.sink("sink"))
    assert visits_of(graph) == {}
