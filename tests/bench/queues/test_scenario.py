"""The library: what is in it, and that each scenario holds together."""

from __future__ import annotations

import pytest

from harness.bench.queues.graphs import COSTS, TopologyShape, graph_of
from harness.bench.queues.scenario import PERIODS, Phase, scenarios, some_of
from harness.graph.kinds import WORK
from tests.bench.queues.small import scenario

EVERY = list(scenarios())
LIBRARY = [each for each in EVERY if not each.held_out]
HELD_OUT = [each for each in EVERY if each.held_out]


def test_names_and_seeds_are_there_once():
    assert (
        len({each.name for each in EVERY}) == len({each.seed for each in EVERY}) == len(EVERY) > 800
    )


def test_it_has_all_shapes_costs_payloads_worlds_noises_and_changes():
    assert {each.shape.topology for each in LIBRARY} == {
        "pipeline",
        "data-parallel",
        "mix",
        "bushy",
        "random",
    }
    assert {each.costs for each in LIBRARY} == set(COSTS)
    assert {each.payload for each in LIBRARY} == {1, 128, 1024, 16384}
    assert {each.world.cpus for each in LIBRARY} == {2, 4, 8, 16, 88}
    assert {each.world.software for each in LIBRARY} == {"millrace", "streams-4.2"}
    assert {each.noise for each in LIBRARY} == {0.0, 0.02, 0.05, 0.10}
    assert {each.event for each in LIBRARY} == {
        "",
        "costs",
        "load up",
        "load down",
        "CPUs taken",
        "costs and back",
    }


def test_the_library_is_the_same_each_time():
    assert list(scenarios()) == EVERY


def test_one_in_so_many_is_a_mixture():
    chosen = some_of(15)
    assert len(chosen) == 45 + 10 and chosen == some_of(15)
    assert [each.seed for each in chosen] == sorted(each.seed for each in chosen)
    assert chosen[45:] == HELD_OUT[14::15]
    assert {each.world.cpus for each in chosen} == {2, 4, 8, 16, 88}
    assert {each.noise for each in chosen} == {0.0, 0.02, 0.05, 0.10}
    assert some_of(1) == EVERY


def test_noise_alone_leaves_the_truth():
    first, second = LIBRARY[0], LIBRARY[1]
    assert (first.noise, second.noise) == (0.0, 0.02)
    assert first.surface(0) is second.surface(0)


def test_phases_cut_a_scenario():
    changing = scenario(phases=(Phase(0), Phase(15, scale=2.0), Phase(30)), periods=40)
    assert changing.segments() == [(0, 15), (15, 30), (30, 40)]
    assert changing.phase(14).scale == 1.0 and changing.phase(15).scale == 2.0
    assert changing.surface(0) is not changing.surface(20)


@pytest.mark.parametrize(
    "each",
    [each for each in LIBRARY if each.event and each.noise == 0.0],
    ids=lambda each: each.name,
)
def test_phases_are_long_enough_to_settle_in(each):
    assert all(end - begin == PERIODS for begin, end in each.segments())


@pytest.mark.parametrize("topology", ["pipeline", "data-parallel", "mix", "bushy", "random"])
def test_graphs_of_the_library_can_run(topology):
    for shape in {each.shape for each in LIBRARY if each.shape.topology == topology}:
        graph = graph_of(shape, "skewed", 128, 3)
        graph.check()
        assert graph == graph_of(shape, "skewed", 128, 3)


def test_costs_are_what_their_names_say():
    def flop(costs):
        graph = graph_of(TopologyShape("pipeline", (("operators", 100),)), costs, 1, 5)
        return [operator.cost for operator in graph.operators.values() if operator.kind is WORK]

    assert set(flop("balanced-100")) == {100}
    assert sorted(flop("two-heavy"))[-3:] == [100, 100_000, 100_000]
    assert flop("increasing") == sorted(flop("increasing")) == flop("decreasing")[::-1]
    assert [flop("skewed").count(each) for each in (1, 100, 10_000)] == [60, 30, 10]
    assert len(set(flop("log-normal"))) > 80


def test_graphs_that_only_score_are_of_other_kinds_in_all_worlds_and_some_change():
    kinds = {each.kind for each in HELD_OUT}
    assert kinds == {"unbalanced", "fan-in", "diamonds", "hot", "application"}
    assert not kinds & {each.kind for each in LIBRARY}
    assert {(each.kind, each.world.cpus) for each in HELD_OUT} == {
        (kind, cpus) for kind in kinds for cpus in (2, 4, 8, 16, 88)
    }
    assert {each.noise for each in HELD_OUT} == {0.0, 0.02, 0.05}
    assert 0.2 < sum(bool(each.event) for each in HELD_OUT) / len(HELD_OUT) < 0.5


@pytest.mark.parametrize("each", HELD_OUT[::11], ids=lambda each: each.name)
def test_graphs_that_only_score_can_run(each):
    graph = graph_of(each.shape, each.costs, each.payload, each.graph_seed)
    graph.check()
    assert graph == graph_of(each.shape, each.costs, each.payload, each.graph_seed)
    works = [operator.cost for operator in graph.operators.values() if operator.kind is WORK]
    assert len(works) >= 10 or each.kind == "fan-in"
    if each.costs == "hot":
        assert max(works) == pytest.approx(sum(works) / 2, rel=0.1)


def test_sources_of_a_fan_in_meet_in_one_operator():
    graph = graph_of(TopologyShape("fan-in", (("number", 4),)), "skewed", 128, 3)
    meets = [
        name
        for name in graph.operators
        if sum(stream.target.operator == name for stream in graph.streams) == 4
    ]
    assert len(meets) == 1 and sum(operator.is_source for operator in graph.operators.values()) == 4
