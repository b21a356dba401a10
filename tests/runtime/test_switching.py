"""Queues come and go and the level changes while tuples flow: ORDER, ONCE, ALONE and ENDS hold all
the while.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable

import psutil
import pytest

import topologies
from harness.engine import Engine, Totals, open_engine
from harness.errors import UserError
from harness.graph import Graph, PortId
from harness.models import Dedicated, Dynamic, Manual, Model
from tests.runtime.shapes import (
    GRAPHS,
    at_most_threads,
    chain,
    pipeline,
    run_to_end,
    scheduled_ports,
    split_and_join,
    until,
    windows,
)

CAPACITIES = [None, 1, 5]
SWITCHABLE = [shape for shape in GRAPHS if scheduled_ports(GRAPHS[shape](), Dynamic(2))]


def every_queue_goes(graph: Graph) -> bool:
    """Return True if no threads were asked for by annotation."""
    return not graph.threaded and not any(
        operator.threading for operator in graph.operators.values()
    )


def disturb(engine: Engine, ports: list[PortId], dice: random.Random) -> None:
    """One random change of queues, sometimes of the level, sometimes with a look at the threads."""
    engine.set_queued(dice.sample(ports, dice.randint(1, len(ports))), dice.random() < 0.5)
    if dice.random() < 0.3:
        engine.set_threads(dice.choice((1, 2, 3, 8, 64)))
    if dice.random() < 0.3:
        engine.sample(dice.choice((0.0, 0.002)))


def disturbed(graph: Graph, model: Dynamic, seconds: float, drain: bool, seed: int) -> Totals:
    """Run with changes for some time, and stop right after one."""
    dice = random.Random(seed)
    ports = scheduled_ports(graph, model)
    engine = open_engine(graph, model)
    engine.start()
    until(engine, lambda sample: sample.source_tuples > 0, period_s=0.001)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        disturb(engine, ports, dice)
    return engine.stop(drain=drain, timeout_s=30.0)


def check(totals: Totals, graph: Graph) -> None:
    assert totals.correct, totals
    assert totals.sent > 0
    copies = graph.flow().copies
    if totals.drained and copies is not None:
        assert totals.received == totals.sent * copies


@pytest.mark.parametrize("capacity", CAPACITIES)
@pytest.mark.parametrize("shape", SWITCHABLE)
def test_nothing_is_lost_doubled_or_reordered_by_switches_under_load(
    shape: str, capacity: int | None
) -> None:
    graph = GRAPHS[shape]()
    queued = "none" if capacity == 5 else "all"
    totals = disturbed(graph, Dynamic(3, capacity, queued), 0.1, drain=True, seed=len(shape))
    assert totals.drained and totals.in_flight == 0
    check(totals, graph)


@pytest.mark.parametrize("capacity", CAPACITIES)
def test_a_run_stopped_amid_switches_accounts_for_every_tuple(capacity: int | None) -> None:
    for seed, shape in enumerate(SWITCHABLE):
        graph = GRAPHS[shape]()
        totals = disturbed(graph, Dynamic(3, capacity), 0.02, drain=False, seed=seed)
        assert totals.correct and not totals.stuck, (shape, totals)


@pytest.mark.slow
@pytest.mark.plain_build
def test_a_hundred_thousand_switches_and_ten_thousand_levels_leave_no_thread_and_no_memory_behind() -> (
    None
):
    process = psutil.Process()
    dice = random.Random(1)
    threads = memory = 0
    for turn, shape in enumerate(
        ["pipeline", "mix", "merge, skewed", "diamond", "threaded ports", "annotations"] * 2
    ):
        graph = GRAPHS[shape]()
        model = Dynamic(2, dice.choice([1, 5, 1000]), dice.choice(["all", "none"]))
        ports = scheduled_ports(graph, model)
        engine = open_engine(graph, model)
        engine.start()
        until(engine, lambda sample: sample.source_tuples > 0, period_s=0.001)
        for change in range(900):
            engine.set_threads(dice.randint(1, 64))
            engine.set_queued([dice.choice(ports) for _ in range(10)], change % 2 == 0)
            if change % 10 == 0:
                engine.sample(0.001)
        totals = engine.stop(drain=True, timeout_s=30.0)
        assert totals.drained, (shape, totals)
        check(totals, graph)
        if turn == 5:
            threads, memory = process.num_threads(), process.memory_info().rss
    assert at_most_threads(threads)
    assert process.memory_info().rss < memory + 30 * 2**20


SIZES = {
    "pipeline": {"operators": 30},
    "data-parallel": {"width": 30},
    "mix": {"width": 5, "depth": 6},
    "bushy": {},
    "load-balance": {"workers": 8, "initial": 3},
    "phase-change": {"operators": 30},
    "tree": {"busy": 1},
    "reverse-tree": {"depth": 4, "busy": 1},
    "replicated": {"busy": 1},
    "chain": {"busy": 1},
    "login-failures": {"records": 1000},
    "vwap": {"records": 1000},
    "wiki-word-count": {"records": 1000},
    "packet-analysis": {"records": 1000},
    "nexmark-q5": {"records": 1000},  # of the jobs known elsewhere the one with most streams
}


# `make test` has these: a wide split, replicas, and two applications. Slow tests have all, for
# longer.
SOME = ("data-parallel", "replicated", "packet-analysis", "nexmark-q5")


@pytest.mark.parametrize(
    ("topology", "levels"),
    [(name, 2000) for name in SOME]
    + [pytest.param(name, 10_000, marks=pytest.mark.slow) for name in SIZES],
)
def test_a_topology_stands_thousands_of_levels_with_ten_switches_each(
    topology: str, levels: int
) -> None:
    known = topologies.TOPOLOGIES[topology].parameters
    common = {name: value for name, value in (("cost", 10), ("payload", 96)) if name in known}
    graph, _ = topologies.build(topology, {**SIZES[topology], **common}, seed=1)
    dice = random.Random(2)
    engine = open_engine(graph, Dynamic(2))
    ports = scheduled_ports(graph, Dynamic(2))
    engine.start()
    for change in range(levels):
        # now and then hundreds of threads, on few cores mostly few, as a law would have it
        engine.set_threads(dice.randint(1, 300) if change % 500 == 0 else dice.randint(1, 8))
        engine.set_queued(dice.choices(ports, k=10), dice.random() < 0.5)
        if change % 100 == 0:
            engine.sample(0.001)
    totals = engine.stop(drain=True, timeout_s=30.0)
    assert totals.drained, totals
    check(totals, graph)


def test_tuples_do_not_overtake_a_window_punctuation_while_queues_are_switched_on() -> None:
    graph = Graph("long chain with windows", 8)
    graph.connect(chain(graph, graph.source("source", window=3), 40), graph.sink("sink"))
    ports = list(graph.input_ports())
    for _ in range(3):
        engine = open_engine(graph, Dynamic(4, queued="none"))
        engine.start()
        end = time.monotonic() + 0.5
        while time.monotonic() < end:
            engine.set_queued(ports, True)
            engine.set_queued(ports, False)
        totals = engine.stop(drain=True, timeout_s=20.0)
        assert totals.drained and totals.correct, totals


@pytest.mark.plain_build
def test_ten_thousand_operators_deep_may_all_be_switched_at_once() -> None:
    """Each producer empties the queue that goes, and so comes to the next one: nested as deep as
    the graph.
    """
    graph = Graph("deep", 0)
    graph.connect(chain(graph, graph.source("source", window=50), 10_000), graph.sink("sink"))
    ports = list(graph.input_ports())
    engine = open_engine(graph, Dynamic(2, queue_capacity=2), tuples=600)
    engine.start()
    for queued in (False, True, False):
        engine.sample(0.1)
        engine.set_queued(ports, queued)
    until(engine, lambda sample: engine.finished(), 300.0)
    totals = engine.stop(drain=True, timeout_s=5.0)
    assert totals.correct and totals.received == 600


# -- what a mode means -----------------------------------------------------------------------------


def silent_at_first(silence_s: float) -> Graph:
    graph = Graph("paced", 8)
    source = graph.source("source", rates=[(silence_s, 0), (1e5, None)])
    graph.connect(chain(graph, source, 3), graph.sink("sink"))
    return graph


def paced(
    prepare: Callable[[Engine], None],
    model: Model,
    make: Callable[[float], Graph] = silent_at_first,
    tuples: int = 300,
) -> Totals:
    """A run whose source is silent until `prepare` is done: for longer on a busy machine."""
    for silence_s in (0.1, 1.0, 30.0):
        engine = open_engine(make(silence_s), model, tuples=tuples)
        begin = time.monotonic()
        engine.start()
        prepare(engine)
        if time.monotonic() - begin < silence_s:
            break
        engine.stop(drain=False, timeout_s=30.0)
    until(engine, lambda sample: engine.finished())
    return engine.stop(drain=True, timeout_s=5.0)


def switches(*wishes: bool) -> Callable[[Engine], None]:
    def prepare(engine: Engine) -> None:
        ports = engine.queued() or [
            PortId("work0", 0),
            PortId("work1", 0),
            PortId("work2", 0),
            PortId("sink", 0),
        ]
        for queued in wishes:
            engine.set_queued(ports, queued)

    return prepare


@pytest.mark.parametrize("begin", ["all", "none"])
@pytest.mark.parametrize(
    "wishes",
    [(False,), (True, False), (False, True, False), (True,), (False, True), (True, False, True)],
)
def test_what_counts_is_the_last_wish_before_the_producer_looks(
    begin: str, wishes: tuple[bool, ...]
) -> None:
    totals = paced(switches(*wishes), Dynamic(2, queued=begin))
    assert totals.correct and totals.drained and totals.received == 300
    assert (totals.scheduling["pushes"] > 0) == wishes[-1]


@pytest.mark.parametrize(
    "shape", [shape for shape in SWITCHABLE if every_queue_goes(GRAPHS[shape]())]
)
def test_with_every_queue_off_the_counts_are_those_of_the_manual_model(shape: str) -> None:
    graph = GRAPHS[shape]()
    off = run_to_end(graph, Dynamic(2, queued="none"), 500)
    manual = run_to_end(graph, Manual(), 500)
    assert off.correct and off.drained
    assert off.scheduling["pushes"] == 0
    assert (off.processed, off.received) == (manual.processed, manual.received)


def seen_behind_the_join(
    model: Model, prepare: Callable[[Engine], None] = lambda engine: None
) -> list[int]:
    seen: list[int] = []

    def note(sequence: int, value: float) -> float:
        seen.append(sequence)
        return value

    def observed(silence_s: float) -> Graph:
        seen.clear()
        graph = Graph("observed", 8)
        split, join = graph.split("split", 4), graph.work("join")
        graph.connect(graph.source("source", rates=[(silence_s, 0), (1e5, None)]), split)
        watch = graph.python("watch", note, preserves=True)
        for branch in range(4):
            cost = (1, 5000, 1, 300)[branch]
            graph.connect(chain(graph, split.output(branch), 2, cost, f"w{branch}_"), join)
        graph.connect(join, watch)
        graph.connect(watch, graph.sink("sink"))
        return graph

    assert paced(prepare, model, observed, 2000).correct
    return seen


def test_with_every_queue_off_tuples_come_as_under_the_manual_model_and_with_them_on_they_overtake() -> (
    None
):
    manual = seen_behind_the_join(Manual())
    assert seen_behind_the_join(Dynamic(3, queued="none")) == manual
    assert (
        seen_behind_the_join(Dynamic(3), lambda engine: engine.set_queued(engine.queued(), False))
        == manual
    )
    assert sorted(seen_behind_the_join(Dynamic(3))) == sorted(manual)


def test_queued_names_the_ports_that_are_wanted_on_and_samples_count_them() -> None:
    graph = split_and_join(3, 1)
    engine = open_engine(graph, Dynamic(2))
    ports = scheduled_ports(graph, Dynamic(2))
    engine.start()
    assert engine.queued() == ports and engine.sample(0.0).queued_ports == len(ports)
    engine.set_queued(ports[1:3], False)
    assert (
        engine.queued() == [ports[0], *ports[3:]]
        and engine.sample(0.0).queued_ports == len(ports) - 2
    )
    engine.set_queued(ports, True)
    assert engine.queued() == ports
    assert engine.stop(drain=True, timeout_s=10.0).correct


def test_queues_may_be_chosen_before_the_start() -> None:
    engine = open_engine(pipeline(3), Dynamic(2), tuples=100)
    engine.set_queued(engine.queued(), False)
    engine.start()
    while not engine.finished():
        engine.sample(0.05)
    totals = engine.stop(drain=True, timeout_s=5.0)
    assert totals.correct and totals.received == 100 and totals.scheduling["pushes"] == 0


# -- ends ------------------------------------------------------------------------------------------


def test_an_operator_that_raises_amid_switches_ends_the_run_and_is_named() -> None:
    dice = random.Random(2)
    for capacity in (1, 5, 100):
        last = dice.randint(500, 3000)

        def fragile(sequence: int, value: float, last: int = last) -> float:
            if sequence >= last:
                raise ValueError("enough")
            return value

        graph = Graph("fragile", 8)
        head, user = graph.work("head"), graph.python("user", fragile, inputs=2)
        graph.connect(graph.source("source"), head)
        for port in range(2):
            graph.connect(chain(graph, head, 2, prefix=f"w{port}_"), user.input(port))
        graph.connect(user, graph.sink("sink"))
        model = Dynamic(3, capacity)
        ports = scheduled_ports(graph, model)
        engine = open_engine(graph, model)
        engine.start()
        while not engine.finished():
            disturb(engine, ports, dice)
            engine.sample(0.0005)
        totals = engine.stop(drain=True, timeout_s=5.0)
        assert totals.error is not None and totals.error.startswith(
            "operator 'user' raised ValueError: enough"
        )
        assert not totals.stuck and not totals.correct


def test_producers_that_wait_to_call_an_operator_that_never_returns_are_named_and_the_stop_is_bounded() -> (
    None
):
    gate, inside = threading.Event(), threading.Event()

    def hold(sequence: int, value: float) -> float:
        inside.set()
        return value * gate.wait(200.0)

    graph = Graph("gate", 8)
    held = graph.python("held", hold)
    for index in range(3):
        graph.connect(chain(graph, graph.source(f"source{index}"), 1, prefix=f"w{index}_"), held)
    graph.connect(held, graph.sink("sink"))
    engine = open_engine(graph, Dynamic(2, queued="none"))
    engine.start()
    assert inside.wait(60)
    begin = time.monotonic()
    totals = engine.stop(drain=True, timeout_s=0.1)
    assert time.monotonic() - begin < 100.0
    assert (
        any(stuck.endswith("in operator 'held'") for stuck in totals.stuck) and not totals.correct
    )
    gate.set()


def test_an_engine_dropped_amid_switches_leaves_no_thread_behind() -> None:
    before = psutil.Process().num_threads()
    for seed, shape in enumerate(SWITCHABLE):
        graph = GRAPHS[shape]()
        dice, ports = random.Random(seed), scheduled_ports(graph, Dynamic(3))
        engine = open_engine(graph, Dynamic(3, 5))
        engine.start()
        for _ in range(5):
            disturb(engine, ports, dice)
        del engine
    assert at_most_threads(before)


# -- what is refused -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("graph", "model", "port", "message"),
    [
        (
            pipeline(3),
            Dynamic(2),
            PortId("nobody", 0),
            r"set_queued: no input port is named nobody\[0\]",
        ),
        (
            pipeline(3),
            Dynamic(2),
            PortId("work0", 1),
            r"set_queued: no input port is named work0\[1\]",
        ),
        (
            pipeline(3),
            Manual(),
            PortId("work0", 0),
            r"set_queued: port work0\[0\] is not scheduled",
        ),
        (
            pipeline(3),
            Dedicated(),
            PortId("work0", 0),
            r"set_queued: port work0\[0\] is not scheduled",
        ),
        (
            split_and_join(2, 1),
            Dynamic(2),
            PortId("split", 0),
            r"set_queued: port split\[0\] is not scheduled",
        ),
        (
            GRAPHS["threaded ports"](),
            Dynamic(2),
            PortId("near", 0),
            r"set_queued: port near\[0\] is not scheduled",
        ),
        (
            GRAPHS["annotations"](),
            Dynamic(2),
            PortId("manual01_0", 0),
            r"set_queued: port manual01_0\[0\] is not scheduled",
        ),
    ],
    ids=lambda value: str(value) if isinstance(value, PortId) else "",
)
def test_a_port_that_cannot_be_switched_is_named_and_nothing_is_changed(
    graph: Graph, model: Model, port: PortId, message: str
) -> None:
    engine = open_engine(graph, model)
    engine.start()
    before = engine.queued()
    with pytest.raises(UserError, match=message):
        engine.set_queued([*before, port], False)
    assert engine.queued() == before
    assert engine.stop(drain=True, timeout_s=10.0).correct


def test_switches_after_the_end_do_no_harm() -> None:
    for shape in (pipeline, windows):
        engine = open_engine(shape(), Dynamic(2), tuples=50)
        ports = engine.queued()
        engine.start()
        totals = engine.stop(drain=True, timeout_s=10.0)
        for queued in (False, True):
            engine.set_queued(ports, queued)
        assert engine.stop(drain=False, timeout_s=1.0) is totals and totals.correct
