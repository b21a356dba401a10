"""Naive predictions, with values computed by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

import topologies
from harness.engine.profiled import Profiled
from harness.graph import Graph
from harness.validation import baselines
from harness.validation.baselines import (
    BesideBaseline,
    OperatorWork,
    beside,
    bottleneck_rate,
    flop_ns,
    profiled_works,
    usl_rates,
    with_baselines,
    works_of,
)
from harness.validation.cases import ARMS, OWN, CaseArm
from tests.described import Described
from tests.validation.made_runs import beside as compared
from tests.validation.made_runs import case

TWO_CPUS = Described("local", 2, {})  # where a FLOP takes 1 ns


@pytest.mark.parametrize(
    ("arm", "ns"),
    [
        ("manual", 1000),  # one thread does all
        ("dedicated", 600),  # the dearest operator
        ("dynamic-1", 900),  # the thread of the pool does all but the source's work
        ("dynamic-2", 600),
        ("coroutine-2", 600),
    ],
)
def test_the_bottleneck_is_the_dearest_operator_or_the_threads_of_the_model(arm, ns):
    works = [OperatorWork(100, is_source=True), OperatorWork(600), OperatorWork(300)]
    assert bottleneck_rate(works, ARMS[arm], cpus=2) == pytest.approx(1e9 / ns)


@pytest.mark.parametrize(("threads", "cpus", "ns"), [(2, 4, 500), (8, 4, 400), (8, 1, 1000)])
def test_replicas_relieve_an_operator_as_far_as_threads_and_cpus_go(threads, cpus, ns):
    works = [OperatorWork(600, most_threads=2), OperatorWork(400)]
    found = bottleneck_rate(works, CaseArm("coroutine", threads), cpus)
    assert found == pytest.approx(1e9 / ns)


def test_without_work_there_is_no_bottleneck():
    assert bottleneck_rate([], ARMS["manual"], cpus=2) is None
    assert bottleneck_rate([OperatorWork(0.0)], ARMS["dedicated"], cpus=2) is None


def test_a_flop_takes_its_latency_at_the_highest_clock():
    assert flop_ns(TWO_CPUS) == 4.0 / 4.0


def test_work_of_a_tree_is_less_where_fewer_tuples_come():
    graph, _ = topologies.build("unbalanced-tree", {"depth": 3, "cost": 100}, 0)
    works = dict(zip(graph.operators, works_of(graph, 2.0), strict=True))
    assert {name: each.ns for name, each in works.items() if each.ns} == {
        "trunk1": 200.0,
        "leaf1": 100.0,
        "trunk2": 100.0,
        "leaf2": 50.0,
        "trunk3": 50.0,
    }
    assert [name for name, each in works.items() if each.is_source] == ["source"]


def test_operators_that_may_have_replicas_have_them_in_the_bottleneck():
    graph, _ = topologies.build("unbalanced-tree", {"depth": 2, "cost": 100}, 0)
    works = dict(zip(graph.operators, works_of(graph, 1.0, replicas=3), strict=True))
    assert [name for name, each in works.items() if each.most_threads == 3] == ["leaf1", "trunk2"]


def test_work_of_typed_operators_is_that_of_their_profile_for_each_tuple_at_the_sinks():
    graph = Graph("profiled")
    graph.connect(graph.source("source"), graph.sink("sink"))
    found = profiled_works(graph, Profiled("a CPU", (100.0, 40.0), ((0.5,), ()), (8, 4)))
    assert found == [OperatorWork(200.0, is_source=True), OperatorWork(40.0)]
    assert profiled_works(graph, Profiled("a CPU", (1.0, 1.0), ((0.0,), ()), (8, 0))) == []


def test_each_case_gets_the_bottleneck_of_its_graph_and_arm():
    """The pipeline has 20 operators of 100 FLOP."""
    arms = ("manual", "dedicated", "dynamic-1", "dynamic-2")
    comparisons = [compared(case(arm, cost=100), 1e5, 1e5) for arm in arms]
    found = with_baselines(comparisons, TWO_CPUS, cpus=2)
    rates = [each.bottleneck for each in found]
    assert rates == pytest.approx([1e9 / 2000, 1e9 / 1000, 1e9 / 2000, 1e9 / 1000])


def test_the_bottleneck_of_an_application_is_known_once_it_was_profiled(monkeypatch):
    vwap = compared(case("dynamic-2", "vwap", OWN, OWN), 1e5, 1e5)
    graph, _ = topologies.build("vwap", vwap.case.parameters, 0)
    size = len(graph.operators)
    made = Profiled("a CPU", (10.0,) * size, ((),) * size, (7,) * size)
    for profiled, rate in ((None, None), (made, 1e9 / (10 * (size - 1) / 2))):
        monkeypatch.setattr(baselines, "kept_profile", lambda *_, of=profiled: of)
        (found,) = with_baselines([vwap], TWO_CPUS, cpus=4)
        assert found.bottleneck == (None if rate is None else pytest.approx(rate))


def of_threads(topology, one, two, cost=1):
    return [
        compared(case(arm, topology, cost), rate, rate)
        for arm, rate in (("dynamic-1", one), ("dynamic-2", two))
    ]


def test_the_usl_of_a_case_rests_on_one_thread_there_and_on_the_loss_elsewhere():
    """Two threads lose a quarter, all and a half of what one does: 2 X(1) / X(2) - 1."""
    comparisons = [
        *of_threads("pipeline", 100.0, 160.0),
        *of_threads("mix", 10.0, 10.0),
        *of_threads("bushy", 30.0, 40.0),
        *of_threads("mix", 10.0, 15.0, cost=100),  # no other case has its cost
        compared(case("dynamic-2", "pipeline-100"), 50.0, 50.0),  # one thread is not measured
    ]
    assert {each.topology: rate for each, rate in usl_rates(comparisons).items()} == {
        "pipeline": pytest.approx(200 / 1.75),
        "mix": pytest.approx(20 / 1.375),
        "bushy": pytest.approx(60 / 1.625),
    }


def test_errors_beside_a_baseline_are_of_the_cases_that_both_predict():
    one, other, alone = (
        compared(case(arm), 100.0, rate)
        for arm, rate in (("manual", 110.0), ("dedicated", 70.0), ("dynamic-1", 500.0))
    )
    rows = beside([replace(one, usl=150.0), replace(other, usl=80.0), alone], "USL")
    assert [row.by for row in rows] == ["all", "cost", "model", "model", "graph"]
    assert rows[0] == BesideBaseline("all", "", 2, *map(pytest.approx, (0.2, 0.3, 0.35, 0.5)))
    assert beside([one, other, alone], "bottleneck") == []
