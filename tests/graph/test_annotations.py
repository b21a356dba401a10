"""@threading and @parallel: what a composite's operators get, how a region is built, what is
refused.
"""

from __future__ import annotations

import functools

import pytest

from harness.graph import Graph, GraphError, PortId, Threading
from harness.graph.annotations import MAX_WIDTH, parallel, threading
from harness.models import Manual, Queue, port_queues

DYNAMIC, MANUAL = Threading("dynamic", 2), Threading("manual")


def one(graph, inlet, name="work", **options):
    """A composite of one work operator."""
    work = graph.work(name, **options)
    graph.connect(inlet, work)
    return work


def dropping(graph, inlet):
    graph.connect(inlet, graph.filter("thin", 0.5))
    return graph.operators[next(name for name in reversed(graph.operators))]


def between(region, *words, **named) -> Graph:
    """source -> region -> sink."""
    graph = Graph("g")
    source = graph.source("source")
    graph.connect(region(graph, source, *words, **named), graph.sink("sink"))
    return graph


# -- @threading ------------------------------------------------------------------------------------


def test_what_a_composite_adds_is_annotated_and_nothing_else():
    graph = between(threading(model="dynamic", threads=2)(one))
    assert {name: operator.threading for name, operator in graph.operators.items()} == {
        "source": None,
        "work": DYNAMIC,
        "sink": None,
    }


def test_the_innermost_annotation_wins_and_ends_with_its_call():
    inner = threading(model="manual")(one)

    @threading(model="dynamic", threads=2)
    def outer(graph, inlet):
        return one(graph, inner(graph, one(graph, inlet, "before"), "inside"), "after")

    graph = between(outer)
    assert [graph.operators[name].threading for name in ("before", "inside", "after")] == [
        DYNAMIC,
        MANUAL,
        DYNAMIC,
    ]


def test_an_annotation_ends_with_an_exception_too():
    @threading(model="manual")
    def broken(graph):
        raise KeyError

    graph = Graph("g")
    with pytest.raises(KeyError):
        broken(graph)
    assert graph.work("w").threading is None


def test_a_function_that_makes_the_whole_graph_can_be_annotated():
    @threading(model="dedicated")
    def graph():
        return between(one)

    assert {operator.threading for operator in graph().operators.values()} == {
        Threading("dedicated")
    }


def test_the_annotation_reaches_the_ports():
    graph = between(threading(model="dedicated")(one))
    assert [queue.kind for queue in port_queues(graph, Manual())] == [Queue.THREADED, Queue.CALLED]


async def later(graph):
    """No composite: it is not over when it returns."""


def endless(graph):
    yield graph


@pytest.mark.parametrize(
    ("annotate", "told"),
    [
        (lambda: threading(), "threading: model is missing, as in @threading(model='dynamic')"),
        (lambda: threading(one), "threading: model is missing"),
        (lambda: threading(threads=2), "threading: model is missing"),
        (lambda: threading(model="automatic"), "threading: model 'automatic' is none of ours"),
        (lambda: threading(model="manual", threads=2), "threading: threads applies to the model "
                                                       "dynamic only, not to manual"),
        (lambda: threading(model="dynamic", threads=0), "threading: threads must be a whole number "
                                                        "from 1 to 1024"),
        (lambda: threading(model="dynamic", elastic=1), "threading: elastic must be True or False, "
                                                        "not 1"),
        (
            lambda: threading(model="manual")(Graph("g").work("w")),
            "threading: annotates a composite, which is a function that adds operators to a graph, "
            "not the operator 'w'",
        ),
        (lambda: threading(model="manual")(Graph), "not type"),
        (lambda: threading(model="manual")(functools.partial(one)), "not partial"),
        (lambda: threading(model="manual")(endless), "composite 'endless' must be a plain "
                                                     "function"),
        (lambda: threading(model="manual")(later), "composite 'later' must be a plain function"),
        (
            lambda: threading(model="manual")(threading(model="manual")(one)),
            "threading: composite 'one' has two @threading annotations",
        ),
        (
            lambda: threading(model="manual")(parallel(width=2)(threading(model="manual")(one))),
            "threading: composite 'one' has two @threading annotations",
        ),
        (lambda: parallel(width=0), "parallel: width must be a whole number from 1 to 10000, not "
                                    "0"),
        (lambda: parallel(width=MAX_WIDTH + 1), "parallel: width must be a whole number from 1 to "
                                                "10000, not 10001"),
        (lambda: parallel(width=True), "not True"),
        (lambda: parallel(width=one), "parallel: width must be a whole number"),
        (lambda: parallel(width=2, partition_by=0), "parallel: partition_by must be a whole number "
                                                    "from 1 to"),
        (lambda: parallel(width=2, ordered="no"), "parallel: ordered must be True or False, not "
                                                  "'no'"),
        (lambda: parallel(width=2)(Graph("g").work("w")), "parallel: annotates a composite"),
    ],
)  # fmt: skip
def test_an_annotation_that_makes_no_sense_is_told_when_it_is_read(annotate, told):
    with pytest.raises(GraphError) as caught:
        annotate()
    assert told in str(caught.value)


# -- @parallel -------------------------------------------------------------------------------------


def test_an_ordered_region_is_a_split_replicas_and_a_merge():
    graph = between(parallel(width=2)(one), cost=7)
    graph.check()
    assert list(graph.operators) == [
        "source",
        "one.split",
        "one.1.work",
        "one.2.work",
        "one.merge",
        "sink",
    ]
    assert [str(stream.source) + ">" + str(stream.target) for stream in graph.streams] == [
        "one.split[0]>one.1.work[0]",
        "one.split[1]>one.2.work[0]",
        "one.1.work[0]>one.merge[0]",
        "one.2.work[0]>one.merge[0]",
        "source[0]>one.split[0]",
        "one.merge[0]>sink[0]",
    ]
    assert graph.operators["one.2.work"].cost == 7


def test_an_unordered_region_fans_in_where_it_is_connected_to():
    graph = between(parallel(width=3, ordered=False)(one))
    graph.check()
    assert graph.predecessors()[PortId("sink", 0)] == [
        PortId(f"one.{number}.work", 0) for number in (1, 2, 3)
    ]


def test_a_region_may_be_partitioned_by_key():
    assert between(parallel(width=2, partition_by=16)(one)).operators["one.split"].keys == 16
    assert between(parallel(width=2)(one)).operators["one.split"].keys == 0


def test_the_same_composite_may_be_used_again():
    region = parallel(width=1)(one)
    graph = between(lambda graph, inlet: region(graph, region(graph, region(graph, inlet))))
    graph.check()
    assert {"one.split", "one2.split", "one3.split", "one3.1.work"} <= graph.operators.keys()


def test_replicas_may_be_annotated_and_the_split_and_merge_too():
    inside = between(parallel(width=1)(threading(model="manual")(one)))
    assert [operator.threading for operator in inside.operators.values()] == [
        None,
        None,
        MANUAL,
        None,
        None,
    ]
    around = between(threading(model="manual")(parallel(width=1)(one)))
    assert [operator.threading for operator in around.operators.values()] == [
        None,
        MANUAL,
        MANUAL,
        MANUAL,
        None,
    ]


def test_replicas_may_have_control_ports_and_threaded_ports():
    @parallel(width=2)
    def guarded(graph, inlet):
        work = one(graph, inlet)
        graph.threaded_port(work, 5)
        graph.connect(work, graph.control(work))
        return work

    graph = between(guarded)
    graph.check()
    assert graph.threaded == {PortId("guarded.1.work", 0): 5, PortId("guarded.2.work", 0): 5}
    assert "guarded.2.work.control" in graph.operators


def test_an_empty_replica_passes_tuples_from_split_to_merge():
    between(parallel(width=2)(lambda graph, inlet: inlet)).check()


def test_inside_an_unordered_region_there_may_be_others():
    inner = parallel(width=2)(one)

    @parallel(width=2, ordered=False)
    def outer(graph, inlet):
        return inner(graph, inlet)

    graph = between(outer)
    graph.check()
    assert "outer.2.one.1.work" in graph.operators and "outer.2.one.merge" in graph.operators


@pytest.mark.parametrize("ordered", [True, False])
def test_inside_an_ordered_region_there_may_be_no_other(ordered):
    inner = parallel(width=2, ordered=ordered)(one)

    @parallel(width=2)
    def outer(graph, inlet):
        return inner(graph, inlet)

    with pytest.raises(GraphError) as caught:
        between(outer)
    assert str(caught.value) == (
        "parallel 'one': inside the region 'outer', which restores its order, no other is "
        "possible; give that one ordered=False"
    )


def test_what_may_drop_tuples_needs_an_unordered_region():
    with pytest.raises(GraphError) as caught:
        between(parallel(width=2)(dropping))
    assert (
        "parallel 'dropping': operator 'dropping.1.thin' does not promise to pass on every tuple"
        in str(caught.value)
    )
    assert "ordered=False" in str(caught.value)
    between(parallel(width=2, ordered=False)(dropping)).check()


@pytest.mark.parametrize(
    ("composite", "told"),
    [
        (
            lambda graph, inlet: None,
            "the composite must return the operator or port that its tuples leave by, not nothing",
        ),
        (lambda graph, inlet: "work", "not str"),
        (lambda graph, inlet: (), "not tuple"),
        (
            lambda graph, inlet: graph.sink("end"),
            "what the composite returns is no output port: operator",
        ),
        (lambda graph, inlet: PortId("nobody", 0), "no operator is named 'nobody'"),
    ],
)
@pytest.mark.parametrize("ordered", [True, False])
def test_a_composite_that_returns_no_outlet_is_told(composite, told, ordered):
    with pytest.raises(GraphError) as caught:
        between(parallel(width=2, ordered=ordered)(composite))
    assert told in str(caught.value)


def test_a_region_takes_the_graph_first():
    with pytest.raises(GraphError, match="parallel 'one': takes the graph first, not str"):
        parallel(width=2)(one)("graph", None)


def test_after_a_failed_region_names_and_regions_are_as_before():
    graph = Graph("g")
    with pytest.raises(GraphError):
        parallel(width=2)(lambda graph, inlet: None)(graph, graph.source("source"))
    assert graph.work("w").name == "w"
    parallel(width=2)(one)(graph, graph.operators["source"])
