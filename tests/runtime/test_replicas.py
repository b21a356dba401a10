"""Operators of which several replicas work at once, as many as is asked for at any moment: every
stream stays what it is.
"""

from __future__ import annotations

import os
import random
import threading
from pathlib import Path

import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from harness.engine import Engine, open_engine
from harness.errors import UserError
from harness.graph import Graph
from harness.graph.keys import key_of
from harness.models import Coroutine, Dynamic, Manual, Model
from harness.models.policy import policies
from tests.runtime.shapes import at_most_threads, native, split_and_join, until
from tests.runtime.test_random_runs import BUILT_IN, CAPACITIES, graphs


def line(cost: int = 1, window: int = 0, selectivity: float = 1.0, keys: int = 0) -> Graph:
    graph = Graph("line")
    start = graph.source("source", window=window)
    for name in ("a", "b"):
        operator = graph.work(name, cost, selectivity=selectivity, keys=keys)
        graph.connect(start, operator)
        start = operator
    graph.connect(start, graph.sink("sink"))
    return graph


def replicable(engine: Engine) -> list[str]:
    return list(engine.living_replicas())


def change_at_random(engine: Engine, changes: int, chance: random.Random, most: int = 6) -> None:
    names = replicable(engine)
    for _ in range(changes):
        engine.set_replicas(chance.choice(names), chance.randint(1, most))
        if chance.random() < 0.1:
            engine.set_threads(chance.randint(1, 4))
        if chance.random() < 0.05:
            engine.sample(0.0005)


@pytest.mark.parametrize("policy", list(policies()))
def test_replicas_come_and_go_and_every_tuple_arrives_once_and_in_order(policy: str) -> None:
    engine = open_engine(
        line(cost=200, window=50), Coroutine(3, policy, quantum_ms=1.0, queue_capacity=20)
    )
    engine.start()
    change_at_random(engine, 150, random.Random(policy))
    sample = until(engine, lambda sample: sample.sink_tuples > 0)
    assert len(sample.replicas) == 4 and sample.replicas[0] == sample.replicas[3] == 1
    totals = engine.stop(drain=True, timeout_s=20.0)
    assert totals.correct and totals.drained and totals.in_flight == 0, totals
    assert totals.received == totals.sent > 0


def test_a_run_that_is_cut_short_accounts_for_tuples_in_the_hands_of_replicas() -> None:
    in_flight = 0
    for seed in range(12):
        engine = open_engine(line(cost=30_000, selectivity=0.7), Coroutine(2, queue_capacity=40))
        engine.start()
        while engine.sample(0.002).sink_tuples == 0:
            pass
        change_at_random(engine, 30, random.Random(seed))
        totals = engine.stop(drain=False, timeout_s=5.0)
        assert totals.correct, totals
        in_flight += totals.in_flight
    assert in_flight > 0


def test_replicas_that_are_too_many_leave_where_no_tuple_comes() -> None:
    graph = Graph("slow")
    graph.connect(graph.source("source", rate=1.0), work := graph.work("work"))
    graph.connect(work, graph.sink("sink"))
    engine = open_engine(graph, Coroutine(2))
    engine.start()
    for _ in range(5):
        engine.set_replicas("work", 9)
        assert engine.living_replicas() == {"work": 9}
        engine.set_replicas("work", 1)
        until(engine, lambda sample: engine.living_replicas() == {"work": 1}, period_s=0.005)
    assert engine.stop(drain=False, timeout_s=5.0).correct


def test_replicas_of_a_users_operator_work_at_the_same_time() -> None:
    inside, met = [0], threading.Event()
    lock = threading.Lock()

    def meet(sequence: int, value: float) -> float:
        with lock:
            inside[0] += 1
            if inside[0] == 2:
                met.set()
        met.wait(60.0)
        with lock:
            inside[0] -= 1
        return value

    graph = Graph("meeting")
    graph.connect(
        graph.source("source"),
        python := graph.python("python", meet, preserves=True, stateless=True),
    )
    graph.connect(python, graph.sink("sink"))
    engine = open_engine(graph, Coroutine(3), tuples=40)
    engine.set_replicas("python", 2)
    engine.start()
    assert met.wait(60.0)
    totals = engine.stop(drain=True, timeout_s=20.0)
    assert totals.correct and totals.received == 40


def test_a_native_function_that_drops_and_is_declared_stateless_has_replicas() -> None:
    def odd(
        sequence: int, value: object, payload: object, size: int, control: float, state: object
    ) -> int:
        return sequence % 2

    graph = Graph("native")
    graph.connect(graph.source("source"), operator := native(graph, "native", odd, stateless=True))
    graph.connect(operator, graph.sink("sink"))
    engine = open_engine(graph, Coroutine(2, queue_capacity=9), tuples=2000)
    engine.set_replicas("native", 3)
    engine.start()
    for number in (1, 3, 2, 5, 1):
        engine.set_replicas("native", number)
        engine.sample(0.002)
    totals = engine.stop(drain=True, timeout_s=20.0)
    assert totals.correct and totals.received <= 1000


@pytest.mark.parametrize("kind", ["python", "native"])
def test_replicas_by_key_work_on_one_tuple_of_a_key_at_a_time_in_order_and_find_its_state(
    kind: str,
) -> None:
    keys, tuples = 7, 3000
    inside, last, counts = [False] * keys, [-1] * keys, [0] * keys
    at_once, together, broken = [0], threading.Event(), []

    def enter(sequence: int) -> None:
        key = key_of(sequence, keys)
        if inside[key] or last[key] >= sequence:
            broken.append(sequence)
        inside[key] = True
        at_once[0] += 1
        if at_once[0] > 1:
            together.set()
        if sequence % 50 == 0:
            together.wait(20.0)  # others go on, each with a key of its own
        counts[key] += 1
        at_once[0] -= 1
        last[key] = sequence
        inside[key] = False

    def python(sequence: int, value: float) -> float:
        enter(sequence)
        return float(counts[key_of(sequence, keys)])

    def compiled(
        sequence: int, value: object, payload: object, size: int, control: float, state: object
    ) -> int:
        enter(sequence)
        return 1

    graph = Graph("by key")
    if kind == "python":
        operator = graph.python("counts", python, keys=keys)
    else:
        operator = native(graph, "counts", compiled, preserves=True, keys=keys)
    seen: list[tuple[int, float]] = []
    collect = graph.python(
        "collect", lambda sequence, value: seen.append((sequence, value)) or value, preserves=True
    )
    graph.chain(graph.source("source"), operator, collect, graph.sink("sink"))
    engine = open_engine(graph, Coroutine(3, queue_capacity=60), tuples=tuples)
    engine.set_replicas("counts", 4)
    engine.start()
    chance = random.Random(1)
    assert together.wait(20.0)
    while not engine.finished():
        engine.set_replicas("counts", chance.randint(1, 6))
        engine.sample(0.002)
    totals = engine.stop(drain=True, timeout_s=30.0)
    assert totals.correct and totals.received == tuples, totals
    assert not broken
    expected, of_key = [], [0] * keys
    for sequence in range(tuples):
        of_key[key_of(sequence, keys)] += 1
        expected.append(float(of_key[key_of(sequence, keys)]))
    assert counts == of_key and [sequence for sequence, _ in seen] == list(range(tuples))
    if kind == "python":
        assert [value for _, value in seen] == expected


@pytest.mark.parametrize("policy", ["random", "oldest_source"])
@pytest.mark.parametrize("keys", [1, 5, 100_000])
def test_replicas_by_key_come_and_go_and_every_tuple_arrives_once_and_in_order(
    keys: int, policy: str
) -> None:
    engine = open_engine(
        line(cost=200, window=50, keys=keys),
        Coroutine(3, policy, quantum_ms=1.0, queue_capacity=20),
    )
    engine.start()
    change_at_random(engine, 100, random.Random(keys))
    totals = engine.stop(drain=True, timeout_s=20.0)
    assert totals.correct and totals.drained and totals.received == totals.sent > 0, totals


def test_replicas_between_a_split_and_its_merge_keep_its_order() -> None:
    engine = open_engine(
        split_and_join(ordered=True, skew=True), Coroutine(2, queue_capacity=10), tuples=20_000
    )
    engine.start()
    change_at_random(engine, 100, random.Random(1))
    totals = engine.stop(drain=True, timeout_s=30.0)
    assert totals.correct and totals.received == totals.sent, totals


@given(
    graph=graphs(kinds=BUILT_IN),
    policy=st.sampled_from(sorted(policies())),
    threads=st.integers(1, 4),
    quantum_ms=st.sampled_from([0.01, 50.0]),
    capacity=CAPACITIES,
    seed=st.integers(0, 2**20),
    drain=st.booleans(),
)
@settings(max_examples=60, suppress_health_check=list(HealthCheck))
def test_random_graphs_with_random_numbers_of_replicas_keep_every_invariant(
    graph: Graph,
    policy: str,
    threads: int,
    quantum_ms: float,
    capacity: int,
    seed: int,
    drain: bool,
) -> None:
    engine = open_engine(
        graph,
        Coroutine(threads, policy, quantum_ms=quantum_ms, queue_capacity=capacity),
        tuples=400,
    )
    event("replicas" if replicable(engine) else "no operator may have any")
    engine.start()
    if replicable(engine):
        change_at_random(engine, 20, random.Random(seed))
    waited = 0.0
    while drain and not engine.finished() and waited < 300.0:
        waited += engine.sample(0.1).elapsed_s
    totals = engine.stop(drain=drain, timeout_s=5.0)
    assert totals.correct, totals
    assert totals.drained or not drain


def test_samples_tell_which_operator_works_and_which_queue_stays_full() -> None:
    graph = Graph("bottleneck")
    graph.connect(graph.source("source"), fast := graph.work("fast"))
    graph.connect(fast, slow := graph.work("slow", 100_000))
    graph.connect(slow, graph.sink("sink"))
    engine = open_engine(graph, Coroutine(2, queue_capacity=20))
    engine.start()
    samples = [until(engine, lambda sample: sample.sink_tuples > 0)]
    samples += [engine.sample(0.1) for _ in range(4)]
    engine.stop(drain=False, timeout_s=5.0)
    assert all(share <= 1.0 for sample in samples for share in sample.queue_full)
    assert sum(sum(sample.useful_s) for sample in samples) <= 2.2 * samples[-1].time_s
    useful = [sum(sample.useful_s[index] for sample in samples) for index in range(4)]
    full = [sum(sample.queue_full[port] for sample in samples) for port in range(3)]
    assert useful[2] > 5 * useful[1]  # by tuples: the slow one costs 100,000 times as much
    assert full[1] > full[2]  # what is before the slow one; nothing waits behind it


# -- what is refused -------------------------------------------------------------------------------


def mixed() -> Graph:
    graph = Graph("mixed")
    split, merge = graph.split("split", 2), graph.merge("merge")
    graph.connect(graph.source("source", window=5), split)
    for branch in range(2):
        graph.connect(split.output(branch), work := graph.work(f"work{branch}"))
        graph.connect(work, merge)
    graph.connect(
        merge, python := graph.python("python", lambda sequence, value: value, preserves=True)
    )
    graph.connect(python, wide := graph.work("wide", outputs=2))
    graph.connect(wide.output(0), plain := graph.work("plain"))
    graph.connect((plain.output(0), wide.output(1)), graph.sink("sink"))
    return graph


@pytest.mark.parametrize(
    ("operator", "number", "rule"),
    [
        ("nobody", 2, "no operator is named 'nobody'"),
        (7, 2, "no operator is named 7"),
        ("source", 2, "'source' has 0 input and 1 output ports: replicas need one of each"),
        ("wide", 2, "'wide' has 1 input and 2 output ports: replicas need one of each"),
        ("merge", 2, "'merge' is a merge, which keeps something from tuple to tuple"),
        ("python", 2, "'python' is declared neither stateless nor by key"),
        ("work0", 2, "'work0' passes window punctuation from a split to its merge"),
        ("plain", 0, "replicas of 'plain' must be from 1 to 64, not 0"),
        ("plain", 65, "replicas of 'plain' must be from 1 to 64, not 65"),
        ("plain", True, "replicas of 'plain' must be from 1 to 64, not True"),
        ("plain", 1.5, "replicas of 'plain' must be from 1 to 64, not 1.5"),
    ],
)
def test_an_operator_that_can_have_no_replicas_is_refused_by_one_line(
    operator: object, number: object, rule: str
) -> None:
    engine = open_engine(mixed(), Coroutine(1))
    with pytest.raises(UserError, match=rule) as refused:
        engine.set_replicas(operator, number)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("model", [Manual(), Dynamic(2)])
def test_other_models_have_no_replicas(model: Model) -> None:
    engine = open_engine(line(), model)
    with pytest.raises(
        UserError, match="'a' is executed by no co-routine: replicas need the coroutine model"
    ):
        engine.set_replicas("a", 2)
    engine.start()
    assert engine.sample(0.0).replicas == ()
    engine.stop(drain=False, timeout_s=5.0)


# -- what is left over -----------------------------------------------------------------------------


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_hundred_thousand_changes_under_load_leave_nothing_over() -> None:
    before, threads = 0, threading.active_count()
    for seed in range(50):
        chance = random.Random(seed)
        graph = (
            split_and_join(ordered=seed % 2 == 1)
            if seed % 3
            else line(cost=chance.choice([1, 100, 5000]), window=9)
        )
        engine = open_engine(
            graph,
            Coroutine(
                2, chance.choice(list(policies())), queue_capacity=chance.choice([3, 50, 1000])
            ),
        )
        engine.start()
        change_at_random(engine, 2000, chance, most=12)
        totals = engine.stop(drain=True, timeout_s=30.0)
        assert totals.correct and totals.drained and totals.in_flight == 0, totals
        del engine
        if seed == 10:
            before = resident_bytes()
    assert resident_bytes() - before < 32 * 2**20
    assert threading.active_count() == threads and at_most_threads(threads + 2)
