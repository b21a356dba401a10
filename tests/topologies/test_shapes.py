"""The graphs that the topologies build: how many operators, joined how."""

from __future__ import annotations

from collections import Counter

import pytest

import topologies
from harness.graph import Graph
from harness.graph.kinds import WORK
from harness.models import Coroutine, Queue, port_queues
from harness.models.replicas import replicable

SIZES = [
    # topology, parameters, operators by kind, streams, hops
    ("pipeline", {}, {"source": 1, "work": 100, "sink": 1}, 101, 100),
    ("pipeline", {"operators": 1}, {"source": 1, "work": 1, "sink": 1}, 2, 1),
    ("pipeline", {"operators": 1000}, {"source": 1, "work": 1000, "sink": 1}, 1001, 1000),
    ("data-parallel", {}, {"source": 1, "split": 1, "work": 100, "sink": 1}, 201, 1),
    ("data-parallel", {"width": 1}, {"source": 1, "split": 1, "work": 1, "sink": 1}, 3, 1),
    ("data-parallel", {"width": 1000}, {"source": 1, "split": 1, "work": 1000, "sink": 1}, 2001, 1),
    ("mix", {}, {"source": 1, "split": 1, "work": 100, "sink": 1}, 111, 10),
    ("mix", {"width": 1, "depth": 1}, {"source": 1, "split": 1, "work": 1, "sink": 1}, 3, 1),
    (
        "mix",
        {"width": 10, "depth": 100},
        {"source": 1, "split": 1, "work": 1000, "sink": 1},
        1011,
        100,
    ),
    (
        "load-balance",
        {},
        {"source": 1, "elastic_load_balance": 1, "buffer": 32, "work": 32, "sink": 1},
        97,
        1,
    ),
    (
        "load-balance",
        {"workers": 1, "elastic": "no"},
        {"source": 1, "elastic_load_balance": 1, "buffer": 1, "work": 1, "sink": 1},
        4,
        1,
    ),
    ("phase-change", {}, {"source": 1, "work": 100, "sink": 1}, 101, 100),
    ("phase-change", {"operators": 1, "before": 0}, {"source": 1, "work": 1, "sink": 1}, 2, 1),
    ("tree", {}, {"source": 1, "work": 63, "sink": 32}, 95, 6),
    ("tree", {"depth": 1}, {"source": 1, "work": 1, "sink": 1}, 2, 1),
    ("tree", {"depth": 4, "branching": 1}, {"source": 1, "work": 4, "sink": 1}, 5, 4),
    ("tree", {"depth": 3, "branching": 3}, {"source": 1, "work": 13, "sink": 9}, 22, 3),
    ("reverse-tree", {}, {"source": 32, "work": 63, "sink": 1}, 95, 6),
    ("reverse-tree", {"depth": 1}, {"source": 1, "work": 1, "sink": 1}, 2, 1),
    ("reverse-tree", {"depth": 3, "branching": 3}, {"source": 9, "work": 13, "sink": 1}, 22, 3),
    ("unbalanced-tree", {"depth": 1}, {"source": 1, "work": 1, "sink": 1}, 2, 1),
    ("unbalanced-tree", {"depth": 3}, {"source": 1, "work": 5, "sink": 3}, 8, 2.5),
    ("replicated", {}, {"source": 1, "split": 1, "work": 12, "merge": 1, "sink": 1}, 26, 2),
    (
        "replicated",
        {"width": 8, "merge": "none"},
        {"source": 1, "split": 1, "work": 8, "sink": 1},
        17,
        1,
    ),
    ("replicated", {"width": 1}, {"source": 1, "split": 1, "work": 1, "merge": 1, "sink": 1}, 4, 2),
    ("chain", {}, {"source": 1, "work": 12, "sink": 1}, 13, 12),
    ("chain", {"operators": 2, "read": 5}, {"source": 1, "work": 3, "sink": 1}, 4, 3),
    ("chain", {"operators": 1}, {"source": 1, "work": 1, "sink": 1}, 2, 1),
    ("bushy", {}, {"source": 1, "work": 80, "sink": 1}, 107, 8),
    ("bushy", {"width": 1, "depth": 1}, {"source": 1, "work": 2, "sink": 1}, 3, 2),
    ("bushy", {"width": 1, "depth": 9}, {"source": 1, "work": 18, "sink": 1}, 19, 18),
    ("bushy", {"width": 2, "depth": 3}, {"source": 1, "work": 14, "sink": 1}, 18, 6),
]


@pytest.mark.parametrize(("name", "values", "kinds", "streams", "hops"), SIZES)
def test_a_topology_has_the_operators_that_its_parameters_ask_for(
    name, values, kinds, streams, hops
):
    graph, parameters = topologies.build(name, values, 0)
    graph.check()
    assert Counter(operator.kind.name for operator in graph.operators.values()) == kinds
    assert len(graph.streams) == streams
    assert (graph.flow().hops, graph.flow().copies) == (hops, 1)
    assert topologies.TOPOLOGIES[name].size(**parameters) == len(graph.operators)
    assert graph.name == name
    names = list(graph.operators)
    assert names[0] in ("source", "source1")
    assert names[-1] in ("sink", f"sink{kinds['sink']}")


def test_the_load_of_a_phase_change_changes_after_so_many_tuples_and_back_again():
    graph, _ = topologies.build("phase-change", {"operators": 10, "phase": 500}, 7)
    works = [operator for operator in graph.operators.values() if operator.kind is WORK]
    changing = [work for work in works if work.costs]
    assert len(changing) == 8
    assert all([tuples for tuples, _ in work.costs] == [500, 500] for work in changing)
    assert (
        sum(10_000 in (work.cost, *(flop for _, flop in work.costs[:1])) for work in works) == 1
    )  # heavy at first
    assert all(work.costs[1][1] == 10_000 for work in changing)


@pytest.mark.parametrize(
    ("name", "busy"), [("chain", 12), ("replicated", 12), ("tree", 63), ("reverse-tree", 63)]
)
def test_the_topologies_of_c_stream_have_its_busy_operators_of_100_us_as_they_are(name, busy):
    graph, _ = topologies.build(
        name, {}, 0
    )  # C-Stream §5.1: 12 in chain and data parallel, 63 in trees of depth 6
    works = [operator for operator in graph.operators.values() if operator.kind is WORK]
    assert [(work.busy_us, work.selectivity) for work in works] == [(100.0, 1.0)] * busy


def test_each_operator_of_a_chain_passes_on_its_share():
    graph, values = topologies.build("chain", {"operators": 3, "busy": 7, "selectivity": 50}, 0)
    assert values["selectivity"] == 50
    assert feeds(graph) == {
        "source": ["busy1"],
        "busy1": ["busy2"],
        "busy2": ["busy3"],
        "busy3": ["sink"],
        "sink": [],
    }
    assert {
        (work.busy_us, work.selectivity) for work in graph.operators.values() if work.kind is WORK
    } == {(7.0, 0.5)}
    assert graph.flow().hops == 14.0  # 8 tuples sent: 8 + 4 + 2 pass an operator, 1 arrives


def test_bushy_has_the_82_operators_of_the_paper():
    assert len(topologies.build("bushy", {}, 0)[0].operators) == 82  # M19 §4.1


def feeds(graph: Graph) -> dict[str, list[str]]:
    return graph.downstream()


def test_a_pipeline_is_one_chain():
    assert feeds(topologies.build("pipeline", {"operators": 3}, 0)[0]) == {
        "source": ["work1"],
        "work1": ["work2"],
        "work2": ["work3"],
        "work3": ["sink"],
        "sink": [],
    }


def test_data_parallel_operators_meet_at_one_port_of_the_sink():
    graph, _ = topologies.build("data-parallel", {"width": 3}, 0)
    assert feeds(graph)["split"] == ["work1", "work2", "work3"]
    assert graph.operators["split"].outputs == 3
    assert [str(port) for port in graph.predecessors()[graph.operators["sink"].input(0)]] == [
        "work1[0]",
        "work2[0]",
        "work3[0]",
    ]


def test_mix_is_chains_side_by_side():
    assert feeds(topologies.build("mix", {"width": 2, "depth": 2}, 0)[0]) == {
        "source": ["split"],
        "split": ["work1.1", "work2.1"],
        "work1.1": ["work1.2"],
        "work1.2": ["sink"],
        "work2.1": ["work2.2"],
        "work2.2": ["sink"],
        "sink": [],
    }


def test_a_load_balance_has_a_buffer_before_each_worker():
    graph, _ = topologies.build(
        "load-balance", {"workers": 2, "buffer": 7, "initial": 2, "period": 250, "tolerance": 10}, 0
    )
    assert feeds(graph) == {
        "source": ["balance"],
        "balance": ["balance.1", "balance.2"],
        "balance.1": ["work1"],
        "balance.2": ["work2"],
        "work1": ["sink"],
        "work2": ["sink"],
        "sink": [],
    }
    assert set(graph.threaded.values()) == {7}
    balance = graph.operators["balance"]
    assert (balance.initial_active_ports, balance.measure_period, balance.throughput_tolerance) == (
        2,
        0.25,
        0.1,
    )


def test_the_loads_of_a_load_balance_are_those_of_the_operator_s_own_tests():
    def of(**values):
        return topologies.build("load-balance", {"workers": 1, "cost": 10_000, **values}, 0)[
            0
        ].operators

    assert of()["balance"].elastic and not of(elastic="no")["balance"].elastic
    assert (of()["work1"].cost, of()["work1"].costs, of()["source"].rates) == (10_000, (), ())
    assert of(load="bursty-cost", cycle=1005)["work1"].costs == ((301, 1), (100, 10_000), (604, 1))
    assert of(load="bursty-rate", burst=1500, silence=500)["source"].rates == (
        (1.5, None),
        (0.5, 0.0),
    )


def test_bushy_spreads_in_a_tree_and_joins_in_its_mirror_image():
    graph, _ = topologies.build("bushy", {"width": 2, "depth": 3}, 0)
    table = feeds(graph)
    assert table["source"] == ["spread1.1"]
    assert table["spread1.1"] == ["spread2.1", "spread2.2"]
    assert table["spread2.2"] == ["spread3.3", "spread3.4"]
    assert table["spread3.4"] == ["join3.4"]
    assert [table[f"join3.{number}"] for number in range(1, 5)] == [
        ["join2.1"],
        ["join2.1"],
        ["join2.2"],
        ["join2.2"],
    ]
    assert table["join2.1"] == table["join2.2"] == ["join1.1"]
    assert table["join1.1"] == ["sink"]
    assert (graph.operators["spread2.1"].outputs, graph.operators["join2.1"].inputs) == (2, 1)


def test_each_operator_of_an_unbalanced_trunk_sends_to_its_leaf_and_to_the_next_one():
    graph, _ = topologies.build("unbalanced-tree", {"depth": 3}, 0)
    assert feeds(graph) == {
        "source": ["trunk1"],
        "trunk1": ["leaf1", "trunk2"],
        "leaf1": ["sink1"],
        "trunk2": ["leaf2", "trunk3"],
        "leaf2": ["sink2"],
        "trunk3": ["sink3"],
        "sink1": [],
        "sink2": [],
        "sink3": [],
    }


@pytest.mark.parametrize(
    "name", [name for name, each in topologies.TOPOLOGIES.items() if "cost" in each.parameters]
)
def test_payload_and_cost_reach_the_graph(name):
    graph, parameters = topologies.build(name, {"payload": "0", "cost": "7"}, 0)
    assert graph.payload == 0
    assert {operator.cost for operator in graph.operators.values() if operator.kind is WORK} == {7}
    assert (parameters["payload"], parameters["cost"]) == (0, 7)


def test_a_graph_of_100_000_operators_is_built_and_sound():
    graph, _ = topologies.build("pipeline", {"operators": 100_000}, 0)
    graph.check()
    assert len(graph.operators) == 100_002


def test_a_source_of_a_chain_that_takes_time_calls_what_takes_it() -> None:
    graph, values = topologies.build("chain", {"operators": 2, "busy": 7, "read": 3}, 0)
    assert values["read"] == 3 and [
        graph.operators[name].busy_us for name in ("read", "busy1", "busy2")
    ] == [3.0, 7.0, 7.0]
    queues = [queue.kind for queue in port_queues(graph, Coroutine())]
    assert queues == [Queue.CALLED, *[Queue.RESUMED] * 3] and list(
        replicable(graph, Coroutine())
    ) == ["busy1", "busy2"]


@pytest.mark.parametrize("name", topologies.TOPOLOGIES)
def test_a_topology_is_in_the_module_of_its_name(name):
    assert topologies.TOPOLOGIES[name].name == name
