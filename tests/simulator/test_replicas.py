"""Replicas of operators in virtual time: exact whatever their number is or becomes, and as much
faster as there is room for.
"""

from __future__ import annotations

import random

import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from harness.engine import Engine, Sample, Totals
from harness.errors import UserError
from harness.graph import Graph
from harness.models import Coroutine, Dynamic
from harness.models.policy import policies
from tests.runtime.shapes import split_and_join
from tests.runtime.test_random_runs import BUILT_IN, CAPACITIES, graphs
from tests.runtime.test_replicas import line, replicable
from tests.simulator.runs import ENOUGH, simulated


def change_at_random(engine: Engine, changes: int, chance: random.Random, most: int = 6) -> None:
    names = replicable(engine)
    for _ in range(changes):
        engine.set_replicas(chance.choice(names), chance.randint(1, most))
        if chance.random() < 0.3:
            engine.set_threads(chance.randint(1, 4))
        if chance.random() < 0.7:
            engine.sample(chance.choice([1e-7, 3e-6, 1e-4]))


@given(
    graph=graphs(kinds=BUILT_IN),
    policy=st.sampled_from(sorted(policies())),
    threads=st.integers(1, 4),
    machine=st.sampled_from(["cstream", "xeon"]),
    quantum_ms=st.sampled_from([0.01, 50.0]),
    capacity=CAPACITIES,
    seed=st.integers(0, 2**20),
    drain=st.booleans(),
)
@settings(max_examples=80, suppress_health_check=list(HealthCheck))
def test_random_graphs_with_random_numbers_of_replicas_keep_every_invariant(
    graph: Graph,
    policy: str,
    threads: int,
    machine: str,
    quantum_ms: float,
    capacity: int,
    seed: int,
    drain: bool,
) -> None:
    model = Coroutine(threads, policy, quantum_ms=quantum_ms, queue_capacity=capacity)
    engine = simulated(graph, model, machine, seed=seed, tuples=400)
    event("replicas" if replicable(engine) else "no operator may have any")
    engine.start()
    if replicable(engine):
        change_at_random(engine, 20, random.Random(seed))
    if drain and not engine.finished():
        engine.sample_events(ENOUGH)
    totals = engine.stop(drain=drain, timeout_s=1.0)
    assert totals.correct, totals
    assert totals.drained or not drain
    assert not totals.drained or totals.in_flight == 0


@pytest.mark.parametrize("policy", ["random", "oldest_source"])
def test_replicas_come_and_go_and_every_tuple_arrives_once_and_in_order(policy: str) -> None:
    engine = simulated(
        line(cost=2000, window=50, selectivity=0.8),
        Coroutine(6, policy, queue_capacity=20),
        "cstream",
    )
    engine.start()
    change_at_random(engine, 150, random.Random(policy), most=9)
    sample = engine.sample(1e-4)
    assert len(sample.replicas) == 4 and sample.replicas[0] == sample.replicas[3] == 1
    totals = engine.stop(drain=True, timeout_s=1.0)
    assert totals.correct and totals.drained and totals.in_flight == 0, totals
    assert totals.sent > totals.received > 0


def test_a_run_that_is_cut_short_accounts_for_tuples_in_the_hands_of_replicas() -> None:
    in_flight = 0
    for seed in range(12):
        engine = simulated(
            line(cost=30_000, selectivity=0.7),
            Coroutine(4, queue_capacity=40),
            "cstream",
            seed=seed,
        )
        engine.start()
        change_at_random(engine, 30, random.Random(seed))
        totals = engine.stop(drain=False, timeout_s=0.0)
        assert totals.correct, totals
        in_flight += totals.in_flight
    assert in_flight > 0


@pytest.mark.parametrize("keys", [1, 5, 100_000])
def test_replicas_by_key_come_and_go_and_every_tuple_arrives_once_and_in_order(keys: int) -> None:
    engine = simulated(
        line(cost=2000, window=50, keys=keys),
        Coroutine(6, "oldest_source", queue_capacity=20),
        "cstream",
    )
    engine.start()
    change_at_random(engine, 100, random.Random(keys), most=9)
    totals = engine.stop(drain=True, timeout_s=1.0)
    assert totals.correct and totals.drained and totals.received == totals.sent > 0, totals


def test_replicas_between_a_split_and_its_merge_keep_its_order() -> None:
    engine = simulated(
        split_and_join(ordered=True, skew=True), Coroutine(3, queue_capacity=10), tuples=5000
    )
    engine.start()
    change_at_random(engine, 100, random.Random(1))
    engine.sample_events(ENOUGH)
    totals = engine.stop(drain=True, timeout_s=1.0)
    assert totals.correct and totals.drained and totals.received == totals.sent == 5000, totals


def test_replicas_that_are_too_many_leave_where_no_tuple_comes() -> None:
    graph = Graph("slow")
    graph.connect(graph.source("source", rate=1.0), work := graph.work("work"))
    graph.connect(work, graph.sink("sink"))
    engine = simulated(graph, Coroutine(2), "cstream")
    engine.set_replicas("work", 4)  # from the start on
    engine.start()
    for number in (9, 2, 9):
        engine.set_replicas("work", number)
        engine.sample(1e-3)
        assert engine.living_replicas() == {"work": number}
    engine.set_replicas("work", 1)
    sample = engine.sample(1e-3)
    assert engine.living_replicas() == {"work": 1} and sample.replicas == [1, 1, 1]
    assert sample.utilisation < 0.1  # nobody looks again and again
    assert engine.stop(drain=False, timeout_s=0.0).correct


# -- how much faster -------------------------------------------------------------------------------


def expensive(busy_us: int = 100, before_us: int = 1, keys: int = 0) -> Graph:
    graph = Graph("expensive", 64)
    graph.connect(graph.source("source"), before := graph.work("before", busy_us=before_us))
    graph.connect(before, slow := graph.work("slow", busy_us=busy_us, keys=keys))
    graph.connect(slow, graph.sink("sink"))
    return graph


def settled(graph: Graph, threads: int, replicas: int, seed: int = 0) -> tuple[Sample, Totals]:
    engine = simulated(graph, Coroutine(threads, queue_capacity=200), "cstream", seed=seed)
    engine.start()
    engine.set_replicas("slow", replicas)
    engine.sample(0.05)
    sample = engine.sample(0.2)
    totals = engine.stop(drain=False, timeout_s=0.0)
    assert totals.correct
    return sample, totals


def test_r_replicas_of_an_expensive_operator_pass_r_times_as_much_until_cores_run_out() -> None:
    """A core does 10,000 tuples of 100 us a second at 2.5 GHz, its clock when alone; at 2.2 GHz
    when its socket is busy.
    """
    passed = {
        replicas: settled(expensive(), 12, replicas)[0].sink_tuples / 0.2
        for replicas in (1, 2, 4, 8, 11, 22)
    }
    for replicas in (1, 2, 4, 8, 11):
        assert 0.95 * replicas * 10_000 * 2.2 / 2.5 < passed[replicas] <= replicas * 10_000
    assert (
        1.03 * passed[11] < passed[22] < 12 * 10_000 * 2.2 / 2.5
    )  # the twelfth core is shared with the other operators


def test_replicas_by_key_pass_as_many_as_keys_allow() -> None:
    """With one key they take turns; with two that come equally often, two work; with many, as many
    as there are.
    """
    passed = {
        keys: settled(expensive(keys=keys), 12, 8)[0].sink_tuples / 0.2 for keys in (0, 1, 2, 1000)
    }
    assert passed[1] == pytest.approx(10_000 * 2.2 / 2.5, rel=0.14)
    assert 1.6 * passed[1] < passed[2] < 2.1 * passed[1]
    assert 0.8 * passed[0] < passed[1000] <= passed[0] * 1.02


def test_more_replicas_than_threads_or_than_the_operator_before_can_feed_bring_nothing() -> None:
    by_threads = [settled(expensive(), 3, replicas)[0].sink_tuples for replicas in (3, 12)]
    assert by_threads[1] == pytest.approx(
        by_threads[0], rel=0.08
    )  # they arrive in lumps of 3 % of them
    by_feeder = [
        settled(expensive(before_us=50), 12, replicas)[0].sink_tuples for replicas in (1, 2, 8)
    ]
    assert by_feeder[1] / by_feeder[0] == pytest.approx(2.0, rel=0.08)
    assert by_feeder[2] == pytest.approx(by_feeder[1], rel=0.08)


@pytest.mark.parametrize("replicas", [1, 6])
def test_useful_time_adds_up_to_what_threads_do_and_tells_who_does_it(replicas: int) -> None:
    sample, _ = settled(expensive(), 8, replicas)
    assert sample.replicas == [1, 1, replicas, 1]
    assert sum(sample.useful_s) == pytest.approx(
        sample.utilisation * 8 * sample.elapsed_s, rel=0.03
    )
    slow_s = 100e-6 * sample.processed[2]  # by the work that it is
    assert sample.useful_s[2] == pytest.approx(slow_s, rel=0.15)
    assert (
        sample.queue_full[1] > 0.5 > 0.05 > sample.queue_full[2]
    )  # before and behind the slow operator


def test_a_seed_gives_the_same_run_with_replicas_twice() -> None:
    def run(seed: int) -> list[object]:
        engine = simulated(
            line(cost=500, window=20), Coroutine(4, queue_capacity=30), "cstream", seed=seed
        )
        engine.start()
        change_at_random(engine, 40, random.Random(5))
        return [
            engine.sample(1e-3),
            engine.stop(drain=True, timeout_s=1.0),
            engine.simulation["events"],
        ]

    assert run(7) == run(7)
    assert run(7) != run(8)


# -- what is refused -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("operator", "number", "rule"),
    [
        ("nobody", 2, "no operator is named 'nobody'"),
        ("source", 2, "'source' has 0 input and 1 output ports: replicas need one of each"),
        ("a", 0, "replicas of 'a' must be from 1 to 64, not 0"),
    ],
)
def test_an_operator_that_can_have_no_replicas_is_refused_by_one_line(
    operator: str, number: int, rule: str
) -> None:
    with pytest.raises(UserError, match=rule):
        simulated(line(), Coroutine(1)).set_replicas(operator, number)


def test_other_models_have_no_replicas_and_no_useful_time() -> None:
    engine = simulated(line(), Dynamic(2))
    with pytest.raises(
        UserError, match="'a' is executed by no co-routine: replicas need the coroutine model"
    ):
        engine.set_replicas("a", 2)
    engine.start()
    sample = engine.sample(1e-4)
    assert (sample.replicas, list(sample.useful_s), list(sample.queue_full)) == ((), [], [])
    engine.stop(drain=False, timeout_s=0.0)
