"""The level of the pool: who runs, who sleeps, and what happens to threads that users' operators do
not give back.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator

import psutil
import pytest

from harness.engine import Engine, Sample, open_engine
from harness.errors import UserError
from harness.graph import Graph
from harness.models import Coroutine, Dedicated, Dynamic, Manual, Model
from tests.runtime.shapes import (
    GRAPHS,
    MODELS,
    at_most_threads,
    chain,
    eventually,
    pipeline,
    run_to_end,
    split_and_join,
    until,
)

SILENCE = (1e5, 0)


def end_of(engine: Engine) -> None:
    until(engine, lambda sample: engine.finished())


# -- levels ----------------------------------------------------------------------------------------


POOLS = pytest.mark.parametrize("pool", [Dynamic, Coroutine], ids=lambda pool: pool.name)
Pools = type[Dynamic | Coroutine]


@POOLS
def test_the_threads_that_run_are_as_many_as_were_asked_for(pool: Pools) -> None:
    engine = open_engine(split_and_join(8, 2, skew=True), pool(2))
    others = engine.threads - 2
    engine.start()
    for level in (1, 300, 5, 64, 2, 1, 17):
        engine.set_threads(level)
        assert engine.threads == others + level
        sample = until(engine, lambda sample, level=level: sample.threads_active == level)
        assert (sample.threads_requested, sample.threads_unsuspendable) == (level, 0)
        again = engine.sample(0.02)
        assert again.threads_active == level
    totals = engine.stop(drain=True, timeout_s=20.0)
    assert totals.drained and totals.correct


def test_threads_are_made_when_a_level_first_needs_them_and_then_kept() -> None:
    process = psutil.Process()
    engine = open_engine(pipeline(3), Dynamic(2))
    before = process.num_threads()
    engine.start()
    assert process.num_threads() == before + 3
    engine.set_threads(40)
    engine.set_threads(3)
    engine.set_threads(40)
    assert process.num_threads() == before + 41
    engine.stop(drain=True, timeout_s=10.0)
    assert at_most_threads(before)


@POOLS
@pytest.mark.parametrize("level", [1, 2, 64])
def test_a_run_ends_by_itself_at_whatever_level_it_is_left(level: int, pool: Pools) -> None:
    engine = open_engine(GRAPHS["merge, skewed"](), pool(4, queue_capacity=5), tuples=3000)
    engine.start()
    engine.set_threads(70)
    engine.set_threads(level)
    end_of(engine)
    totals = engine.stop(drain=True, timeout_s=5.0)
    assert totals.correct and totals.received == 3000


@POOLS
def test_suspended_and_idle_threads_use_no_cpu(pool: Pools) -> None:
    """ASLEEP. The bound is generous: 65 threads that poll would take every core there is."""
    graph = Graph("quiet", 8)
    graph.connect(
        chain(graph, graph.source("source", rates=[(0.05, 1000), SILENCE]), 3), graph.sink("sink")
    )
    engine = open_engine(graph, pool(65))
    engine.start()
    until(engine, lambda sample: sample.sink_tuples > 0)
    for level in (1, 65):
        engine.set_threads(level)
        used = time.process_time()

        def asleep(sample: Sample) -> bool:
            nonlocal used
            last, used = used, time.process_time()
            return used - last < 0.2 * 0.5

        # the first of them go to sleep, or are made, for a while
        for _ in range(2):
            until(engine, asleep, period_s=0.5)
    assert engine.stop(drain=True, timeout_s=5.0).correct


# -- operators that keep their thread --------------------------------------------------------------


class Gate:
    """A user's operator that waits, and says how many calls of it wait."""

    def __init__(self) -> None:
        self.open = threading.Event()
        self.inside = 0

    def __call__(self, sequence: int, value: float) -> float:
        self.inside += 1
        self.open.wait(200.0)
        self.inside -= 1
        return value


@pytest.fixture
def gates() -> Iterator[list[Gate]]:
    """Three, opened at the end whatever happened, so that no thread is left behind."""
    made = [Gate() for _ in range(3)]
    yield made
    for gate in made:
        gate.open.set()


def branches(gates: list[Gate], beside: int = 2) -> Graph:
    """Return a graph with, for each gate, a source of a tuple each 10 ms that ends there, and a
    busy branch beside.
    """
    graph = Graph("gates", 8)
    sink = graph.sink("sink")
    for index, gate in enumerate(gates):
        held = graph.python(f"gate{index}", gate, preserves=True)
        graph.connect(graph.source(f"slow{index}", rate=100), held)
        graph.connect(held, sink)
    graph.connect(chain(graph, graph.source("steady", rate=2000), beside), sink)
    return graph


@POOLS
def test_a_thread_that_an_operator_keeps_is_unsuspendable_and_another_one_sleeps_instead(
    gates: list[Gate], pool: Pools
) -> None:
    engine = open_engine(branches(gates), pool(8))
    engine.start()
    until(engine, lambda sample: all(gate.inside for gate in gates))
    engine.set_threads(2)
    sample = until(
        engine, lambda sample: sample.threads_unsuspendable >= 1
    )  # others of the three may be those that may run
    sample = until(engine, lambda sample: sample.threads_active <= 4)
    assert sample.threads_requested == 2
    assert until(engine, lambda sample: sample.sink_tuples > 0)  # the branch beside goes on
    for gate in gates:
        gate.open.set()
    until(engine, lambda sample: sample.threads_unsuspendable == 0 and sample.threads_active == 2)
    totals = engine.stop(drain=True, timeout_s=10.0)
    assert totals.drained and totals.correct


def test_the_level_can_be_raised_and_lowered_over_unsuspendable_threads(gates: list[Gate]) -> None:
    engine = open_engine(branches(gates), Dynamic(8))
    engine.start()
    until(engine, lambda sample: all(gate.inside for gate in gates))
    for level in (2, 30, 2, 9):
        engine.set_threads(level)
        until(
            engine,
            lambda sample, level=level: (
                sample.threads_active <= max(level, len(gates) + 1)
                and sample.threads_requested == level
            ),
        )
    for gate in gates:
        gate.open.set()
    until(engine, lambda sample: sample.threads_active == 9)
    totals = engine.stop(drain=True, timeout_s=10.0)
    assert totals.drained and totals.correct


def test_threads_that_only_finish_their_batch_are_not_unsuspendable_however_often_one_samples() -> (
    None
):
    graph = Graph("slow operators", 8)
    split, sink = graph.split("split", 12), graph.sink("sink")
    graph.connect(graph.source("source"), split)
    for branch in range(12):
        graph.connect(chain(graph, split.output(branch), 1, 30_000_000, f"w{branch}_"), sink)
    engine = open_engine(graph, Dynamic(8))
    engine.start()
    until(engine, lambda sample: sample.threads_active == 8 and sample.source_tuples > 0)
    engine.set_threads(4)
    for _ in range(3):
        engine.sample(0.0)
    settled = eventually(lambda: engine.core.active == 4)
    assert engine.stop(drain=False, timeout_s=10.0).correct
    assert settled


def all_held(gates: list[Gate]) -> Graph:
    """Return as many operators that hold a thread as there are gates, and a branch beside them
    whose tuples come later.
    """
    graph = Graph("all held", 8)
    sink = graph.sink("sink")
    for index, gate in enumerate(gates):
        held = graph.python(f"gate{index}", gate, preserves=True)
        graph.connect(graph.source(f"slow{index}", rates=[(0.01, 100), SILENCE]), held)
        graph.connect(held, sink)
    graph.connect(
        chain(graph, graph.source("late", rates=[(0.3, 0), (0.02, 100), SILENCE]), 2), sink
    )
    return graph


def key_of(gate: Gate) -> Callable[[int, float], float]:
    def key(sequence: int, value: float) -> float:
        gate.open.set()
        return value

    return key


def opens(gate: Gate, engine: Engine) -> bool:
    """Return True if a tuple comes to the gate's key in time. The run ends in any case."""
    end = time.monotonic() + 60
    while time.monotonic() < end and not gate.open.is_set():
        engine.sample(0.05)
    opened = gate.open.is_set()
    gate.open.set()
    assert engine.stop(drain=True, timeout_s=10.0).correct
    return opened


@pytest.mark.parametrize("period_s", [0.05, 2.0])
def test_when_users_operators_hold_every_thread_one_more_runs(
    gates: list[Gate], period_s: float
) -> None:
    """FREE, however long the samples. Only a pool thread can get at the two tuples in the queue of
    the branch beside.
    """
    engine = open_engine(all_held(gates), Dynamic(2))
    engine.start()
    until(engine, lambda sample: sample.sink_tuples > 0, period_s=period_s)
    assert eventually(lambda: sum(gate.inside for gate in gates) >= 2)
    for gate in gates:
        gate.open.set()
    until(engine, lambda sample: sample.threads_active <= 2)
    totals = engine.stop(drain=True, timeout_s=10.0)
    assert totals.drained and totals.correct and totals.received == totals.sent


def test_when_a_thread_that_is_not_the_pools_holds_every_thread_one_more_runs(
    gates: list[Gate],
) -> None:
    """FREE: the gate is held by its own thread, the pool's two wait for room before it, and the key
    lies in a queue.
    """
    gate = gates[0]
    graph = Graph("gate with a thread of its own", 8)
    held = graph.python("gate", gate, preserves=True)
    opener = graph.python("key", key_of(gate))
    sink = graph.sink("sink")
    for index in range(2):
        graph.connect(
            chain(graph, graph.source(f"source{index}", rate=300), 1, prefix=f"before{index}"), held
        )
    graph.connect(graph.source("late", rates=[(0.5, 0), (0.01, 100), SILENCE]), opener)
    graph.connect(held, sink)
    graph.connect(opener, sink)
    graph.threaded_port(held, 2)
    engine = open_engine(graph, Dynamic(2, queue_capacity=64))
    engine.start()
    assert opens(gate, engine)


def test_threads_that_stand_in_for_held_ones_go_when_the_level_leaves_others(
    gates: list[Gate],
) -> None:
    engine = open_engine(all_held(gates), Dynamic(2))
    engine.start()
    until(engine, lambda sample: sample.threads_active > 2)
    engine.set_threads(9)
    until(engine, lambda sample: sample.threads_active == 9)
    for gate in gates:
        gate.open.set()
    assert engine.stop(drain=True, timeout_s=10.0).correct


def test_the_thread_that_stands_in_for_held_ones_does_not_come_on_top_of_the_most(
    gates: list[Gate],
) -> None:
    engine = open_engine(all_held(gates), Dynamic(2))
    engine.start()
    until(engine, lambda sample: sample.threads_active > 2)
    engine.set_threads(1024)
    assert engine.sample(0.0).threads_active <= 1024
    for gate in gates:
        gate.open.set()
    assert engine.stop(drain=True, timeout_s=10.0).correct


@pytest.mark.parametrize("capacity", [1, 5])
def test_when_threads_wait_before_the_queue_of_a_held_operator_one_more_runs(
    gates: list[Gate], capacity: int
) -> None:
    """FREE: the tuple that opens the gate lies in a queue while every thread waits for the gate."""
    gate = gates[0]
    graph = Graph("gate and key", 8)
    held = graph.python("gate", gate)
    opener = graph.python("key", key_of(gate))
    sink = graph.sink("sink", inputs=2)
    graph.connect(chain(graph, graph.source("source", rate=300), 3), held)
    graph.connect(
        chain(
            graph, graph.source("late", rates=[(0.5, 0), (0.01, 100), SILENCE]), 1, prefix="late"
        ),
        opener,
    )
    graph.connect(held, sink.input(0))
    graph.connect(opener, sink.input(1))
    engine = open_engine(graph, Dynamic(3, queue_capacity=capacity))
    engine.start()
    assert opens(gate, engine)


@pytest.mark.parametrize(
    ("model", "shared"),
    [(Manual(), False), (Manual(), True), (Dynamic(2, queue_capacity=5, queued="none"), True)],
    ids=["in the operator", "at its lock", "at its lock, queues off"],
)
def test_a_held_source_has_woken_the_threads_that_it_sent_to(
    gates: list[Gate], model: Model, shared: bool
) -> None:
    """Held in a user's operator, or, if that is shared with another source, before it."""
    gate = gates[0]
    graph = Graph("key before gate", 8)
    source = graph.source("source", rates=[(0.2, 0), (1e5, None)])
    opener = graph.python("key", key_of(gate))
    held = graph.python("gate", gate)
    sink = graph.sink("sink", inputs=2)
    for port, operator in enumerate((opener, held)):
        graph.connect(source, operator)
        graph.connect(operator, sink.input(port))
    graph.threaded_port(opener)
    if shared:
        graph.connect(graph.source("other", rates=[(0.05, 0), (1e5, None)]), held)
    engine = open_engine(graph, model, tuples=10)
    engine.start()
    assert opens(gate, engine)


@POOLS
def test_a_reentrant_operator_may_wait_on_one_port_for_what_comes_on_the_other(pool: Pools) -> None:
    both = threading.Barrier(2, timeout=60.0)

    def meet(sequence: int, value: float) -> float:
        both.wait()
        return value

    graph = Graph("meeting", 8)
    meeting = graph.python("meeting", meet, inputs=2, preserves=True, reentrant=True)
    for port in range(2):
        graph.connect(graph.source(f"source{port}"), meeting.input(port))
    graph.connect(meeting, graph.sink("sink"))
    totals = run_to_end(graph, pool(3), 20)
    assert totals.error is None and totals.correct and totals.received == 40


def test_an_operator_that_may_block_keeps_the_level_above_its_input_ports() -> None:
    graph = Graph("three ports", 8)
    user = graph.python("user", lambda sequence, value: value, inputs=3)
    graph.connect(user, graph.sink("sink"))
    for port in range(3):
        graph.connect(graph.source(f"source{port}"), user.input(port))
    engine = open_engine(graph, Dynamic(1))
    assert engine.minimum_threads == 4 and engine.threads == 3 + 4
    engine.start()
    for level, runs in ((1, 4), (3, 4), (6, 6)):
        engine.set_threads(level)
        assert engine.sample(0.0).threads_requested == runs
    assert engine.stop(drain=True, timeout_s=10.0).correct
    assert (
        open_engine(GRAPHS["diamond"](), Dynamic(1)).minimum_threads == 1
    )  # built-in operators do not block


# -- what is refused -------------------------------------------------------------------------------


@pytest.mark.parametrize("level", [0, -1, 1025, 10**9, 2**40])
def test_a_level_out_of_range_is_refused_with_the_range_and_nothing_changes(level: int) -> None:
    engine = open_engine(pipeline(3), Dynamic(3))
    engine.start()
    with pytest.raises(UserError, match=f"threads must be from 1 to 1024, not {level}"):
        engine.set_threads(level)
    assert engine.sample(0.0).threads_requested == 3
    assert engine.stop(drain=True, timeout_s=10.0).correct


@pytest.mark.parametrize("model", [Manual(), Dedicated()], ids=lambda model: model.name)
def test_a_model_without_a_pool_has_no_level(model: Model) -> None:
    engine = open_engine(pipeline(3), model)
    engine.start()
    with pytest.raises(UserError, match="set_threads: no port is scheduled"):
        engine.set_threads(2)
    sample = engine.sample(0.0)
    assert (sample.threads_active, sample.threads_requested) == (0, 0)
    assert engine.stop(drain=True, timeout_s=10.0).correct


def test_a_level_before_the_start_is_refused_and_one_after_the_end_does_nothing() -> None:
    threads = psutil.Process().num_threads()
    engine = open_engine(pipeline(3), Dynamic(2), tuples=10)
    with pytest.raises(UserError, match="set_threads was called before start"):
        engine.set_threads(4)
    engine.start()
    assert engine.sample(0.0).threads_requested == 2
    totals = engine.stop(drain=True, timeout_s=10.0)
    engine.set_threads(50)
    assert at_most_threads(threads)
    assert engine.stop(drain=True, timeout_s=1.0) is totals


@pytest.mark.parametrize(
    "model", [name for name, model in MODELS.items() if isinstance(model, Dynamic | Coroutine)]
)
def test_levels_change_under_every_kind_of_pool(model: str) -> None:
    engine = open_engine(GRAPHS["mix"](), MODELS[model])
    engine.start()
    for level in (1, 9, 2, 33, 1, 4):
        engine.set_threads(level)
        engine.sample(0.01)
    totals = engine.stop(drain=True, timeout_s=20.0)
    assert totals.drained and totals.correct
