"""Tests of what a peer's program knows of a graph, and what it does not, because peers do not run
it.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

import topologies
from harness.errors import UserError
from harness.graph import Graph
from harness.peers import all_peers, find_peer
from harness.peers.plan import plan_of


def lines_of(graph: Graph, word: str) -> list[str]:
    return [
        line.removeprefix(f"{word} ")
        for line in plan_of(graph, 7, 5).text.splitlines()
        if line.startswith(f"{word} ")
    ]


def test_the_operator_before_a_split_gets_its_output_ports():
    graph, _ = topologies.build("mix", {"width": 2, "depth": 2, "cost": 30, "payload": 9}, seed=0)
    plan = plan_of(graph, 7, None)
    assert plan.text.splitlines() == [
        "payload 9", "capacity 7", "batch 1", "tuples -1",
        "operator source 0 0 2",
        *["operator work 30 0 1"] * 4,
        "operator sink 0 0 0",
        "stream 0 0 1 0", "stream 0 1 3 0", "stream 1 0 2 0", "stream 2 0 5 0", "stream 3 0 4 0", "stream 4 0 5 1",
    ]  # fmt: skip
    assert plan.places == [0, 2, 3, 4, 5, 6] and plan.folded == {1: 0}
    assert plan.by_place([10, 1, 2, 3, 4, 5]) == [10, 10, 1, 2, 3, 4, 5]
    assert lines_of(graph, "tuples") == ["5"]


def test_a_split_behind_a_fan_out_and_a_split_of_a_split_keep_their_meaning():
    graph = Graph("nested", 8)
    source, first, second = graph.source("in"), graph.split("first", 2), graph.split("second", 2)
    sinks = [graph.sink(f"out{number}") for number in range(3)]
    graph.connect(source, first)
    graph.connect(first.output(0), second)
    graph.connect(first.output(1), sinks[0])
    graph.connect(second.output(0), sinks[1])
    graph.connect(second.output(1), sinks[2])
    assert lines_of(graph, "operator") == ["source 0 0 2", "work 0 0 2", *["sink 0 0 0"] * 3]
    fan = Graph("fan", 8)
    source, split, out = fan.source("in"), fan.split("split", 1), fan.sink("out", inputs=2)
    fan.connect(source, split)
    fan.connect(source, out.input(0))
    fan.connect(split.output(0), out.input(1))
    assert lines_of(fan, "operator") == ["source 0 0 1", "work 0 0 1", "sink 0 0 0"], (
        "it is executed by whoever has its queue"
    )
    assert lines_of(fan, "stream") == ["0 0 1 0", "0 0 2 0", "1 0 2 1"]


def test_a_chain_of_splits_is_folded_as_a_whole():
    graph = Graph("chain", 8)
    source = graph.source("in")
    first = graph.split("first", 1)
    second = graph.split("second", 2)
    out = graph.sink("out", 2)
    graph.connect(source, first)
    graph.connect(first.output(0), second)
    for port in range(2):
        graph.connect(second.output(port), out.input(port))
    plan = plan_of(graph, 7, None)
    assert lines_of(graph, "operator") == ["source 0 0 2", "sink 0 0 0"]
    assert lines_of(graph, "stream") == ["0 0 1 0", "0 1 1 1"]
    assert plan.by_place([8, 6]) == [8, 8, 8, 6]


@pytest.mark.parametrize(
    ("add", "words"),
    [
        (lambda graph: graph.filter("odd", 0.5), "an operator of kind filter: 'odd'"),
        (lambda graph: graph.work("odd", costs=[(5, 10)]), "work in bursts of costs: 'odd'"),
        (
            lambda graph: graph.python("odd", lambda sequence, value: value),
            "an operator of kind python: 'odd'",
        ),
    ],
)
def test_what_peers_do_not_run_is_told_with_its_name(add, words):
    graph = Graph("odd", 8)
    source, odd, out = graph.source("in"), add(graph), graph.sink("out")
    graph.connect(source, odd)
    graph.connect(odd, out)
    with pytest.raises(UserError, match=words):
        plan_of(graph, 7, None)


def test_a_batch_is_smaller_where_tuples_are_large():
    for payload, batch in ((8, 256), (2016, 128), (4064, 64), (1_000_000, 2)):
        graph = Graph("large", payload)
        graph.connect(graph.source("in"), graph.sink("out"))
        assert f"batch {batch}" in plan_of(graph, 7, 5, 256).text.splitlines()


@pytest.mark.parametrize(
    ("work", "batch"),
    [({"cost": 256}, 256), ({"cost": 10_000}, 6), ({"busy_us": 8}, 8), ({"cost": 2**20}, 2)],
)
def test_a_batch_is_smaller_where_an_operator_is_expensive(work, batch):
    graph = Graph("expensive", 8)
    source, cheap, hard = graph.source("in"), graph.work("a", cost=1), graph.work("b", **work)
    graph.connect(source, cheap)
    graph.connect(cheap, hard)
    graph.connect(hard, graph.sink("out"))
    assert f"batch {batch}" in plan_of(graph, 7, 5, 256).text.splitlines()


def test_a_queue_of_batches_holds_as_many_tuples_as_they_have():
    batched = replace(find_peer("go"), batch=128, queue_batches=4)
    for payload, tuples in ((8, 4 * 128), (4064, 4 * 64), (8160, 4 * 32), (32_736, 4 * 8)):
        graph = Graph("any", payload)
        graph.connect(graph.source("in"), graph.sink("out"))
        assert batched.capacity(graph) == tuples
        assert find_peer("go").capacity(graph) == 1000


def test_a_queue_of_batches_holds_fewer_where_tuples_are_large():
    batched = replace(find_peer("go"), batch=128, queue_batches=32)
    for payload, tuples in ((8, 32 * 128), (4064, 8 * 64), (1_000_000, 2 * 2)):
        graph = Graph("any", payload)
        graph.connect(graph.source("in"), graph.sink("out"))
        assert batched.capacity(graph) == tuples


def test_a_source_with_a_rate_gets_the_time_between_its_tuples():
    graph = Graph("paced", 8)
    graph.connect(graph.source("fast"), graph.sink("one"))
    graph.connect(graph.source("slow", rate=400.0), graph.sink("other"))
    assert lines_of(graph, "gap") == ["2 2500000.0"]


def test_sources_with_bursts_or_windows_are_told_too():
    for options, words in (
        ({"rates": [(0.1, 10.0), (0.1, 0)]}, "bursts of rates"),
        ({"window": 10}, "window punctuations"),
    ):
        graph = Graph("odd", 8)
        graph.connect(graph.source("in", **options), graph.sink("out"))
        with pytest.raises(UserError, match=words):
            plan_of(graph, 7, None)


@pytest.mark.parametrize(
    ("shape", "given", "is_run"),
    [
        ("pipeline", {"operators": 3}, True),
        ("pipeline", {"operators": 1}, True),
        ("data-parallel", {"width": 3}, True),
        ("mix", {"width": 3, "depth": 2}, True),
        ("bushy", {}, False),
    ],
)
@pytest.mark.parametrize("name", [name for name, each in all_peers().items() if each.chains_only])
def test_a_peer_of_chains_refuses_other_graphs_before_anything_starts(name, shape, given, is_run):
    graph, _ = topologies.build(shape, given, seed=0)
    if is_run:
        find_peer(name).plan(graph, 7, None)
        return
    with pytest.raises(UserError, match=f"peer {name} runs chains of one length between one"):
        find_peer(name).plan(graph, 7, None)


def _fan(graph, source, sink):
    graph.connect(source, sink.input(0))
    graph.connect(source, sink.input(1))


def _lengths(graph, source, sink):
    split, work = graph.split("split", 2), graph.work("a", cost=1)
    graph.connect(source, split)
    graph.connect(split.output(0), sink.input(0))
    graph.connect(split.output(1), work)
    graph.connect(work, sink.input(1))


def _join(graph, source, sink):
    split, work = graph.split("split", 2), graph.work("a", cost=1, inputs=2)
    graph.connect(source, split)
    graph.connect(split.output(0), work.input(0))
    graph.connect(split.output(1), work.input(1))
    graph.connect(work, sink.input(0))


@pytest.mark.parametrize("made", [_fan, _lengths, _join])
def test_chains_are_all_as_long_and_share_nothing(made):
    graph = Graph("odd", 8)
    source, sink = graph.source("in"), graph.sink("out", inputs=1 if made is _join else 2)
    made(graph, source, sink)
    assert not plan_of(graph, 7, None).chains
