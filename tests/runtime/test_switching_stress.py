"""Random switches under load on each kind of graph, 40,000 in `make test` and 100,000 in the slow
tests: ORDER, ONCE, ALONE and ENDS, and what siblings see of a tuple.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from functools import cache

import numpy as np
import pytest

from harness.engine import Engine, open_engine
from harness.graph import Graph, PortId
from harness.graph.functions.compiled import NUMBA_SIGNATURE
from harness.models import Dynamic
from tests.runtime.shapes import (
    chain,
    control_cycle,
    diamond,
    pipeline,
    run_to_end,
    scheduled_ports,
    split_and_join,
    windows,
)
from topologies import build

SWITCHES, MANY_SWITCHES = 40_000, 100_000
MOMENT_S = 1e-5
LONGEST_S = (
    200.0  # of one run, on a machine with other things to do; 100,000 switches take a second or two
)


def fan_in() -> Graph:
    """Four threads that send to one port: producer flag and call lock."""
    graph = Graph("fan-in", 24)
    meet = graph.work("meet", 3)
    for index in range(4):
        graph.connect(
            chain(graph, graph.source(f"source{index}", window=50), 1, prefix=f"w{index}_"), meet
        )
    graph.connect(chain(graph, meet, 2), graph.sink("sink"))
    return graph


def fan_out() -> Graph:
    """Each tuple goes to five siblings, one of which is slow."""
    graph = Graph("fan-out", 24)
    head = graph.work("head", 1)
    graph.connect(graph.source("source", window=50), head)
    for index in range(5):
        graph.connect(
            chain(graph, head, 2, (1, 3000)[index == 2], f"w{index}_"), graph.sink(f"sink{index}")
        )
    return graph


SHAPES: dict[str, Callable[[], Graph]] = {
    "pipeline": lambda: pipeline(20),
    "fan-in": fan_in,
    "fan-out": fan_out,
    "fan-out and fan-in": diamond,
    "bushy": lambda: build("bushy", {"cost": 10, "payload": 96}, seed=1)[0],
    "split and merge": lambda: split_and_join(5, 2, ordered=True, skew=True),
    "windows": windows,
    "cycle through a control port": control_cycle,
}


def switch(
    engine: Engine,
    ports: list[PortId],
    dice: random.Random,
    seconds: float = LONGEST_S,
    switches: int = SWITCHES,
) -> int:
    """Ask so many times for a queue or for none at random ports, and now and then suspend threads;
    how many times it was.

    About half ask for what is already so, and others are taken back before a tuple comes; half of
    the time the tuples are given a moment to come, since on a machine with other things to do this
    thread would otherwise outrun all the engine's.
    """
    end, done = time.monotonic() + seconds, 0
    while done < switches and time.monotonic() < end:
        chosen = dice.choices(ports, k=dice.randint(1, 10))
        engine.set_queued(chosen, dice.random() < 0.5)
        done += len(chosen)
        if dice.random() < 0.5:
            time.sleep(MOMENT_S)
        if dice.random() < 0.2:
            engine.set_threads(dice.choice((1, 1, 2, 5)))
    return done


@pytest.mark.parametrize(
    "switches", [SWITCHES, pytest.param(MANY_SWITCHES, marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("shape", SHAPES)
def test_many_requests_to_switch_keep_order_once_and_ends(shape: str, switches: int) -> None:
    graph, dice = SHAPES[shape](), random.Random(len(shape))
    model = Dynamic(2, queue_capacity=dice.choice((1, 5, 64)))
    ports = scheduled_ports(graph, model)
    engine = open_engine(graph, model)
    engine.start()
    done = switch(engine, ports, dice, switches=switches)
    totals = engine.stop(drain=True, timeout_s=30.0)
    assert done > switches / 10  # even where others have the machine
    assert (
        totals.scheduling["queue_switches"] > done / 500
    )  # a fifth and more on a quiet machine, a twentieth on a busy one
    assert totals.drained and totals.in_flight == 0 and totals.sent > 0
    assert totals.correct, totals
    copies = graph.flow().copies
    assert copies is None or totals.received == totals.sent * copies


@pytest.mark.parametrize("shape", SHAPES)
def test_a_stop_amid_switches_and_suspensions_accounts_for_every_tuple(shape: str) -> None:
    dice = random.Random(7)
    for drain in (False, True) * 5:
        graph = SHAPES[shape]()
        model = Dynamic(
            3, queue_capacity=dice.choice((1, 5, 64)), queued=dice.choice(("all", "none"))
        )
        ports = scheduled_ports(graph, model)
        engine = open_engine(graph, model)
        engine.start()
        switch(engine, ports, dice, seconds=dice.choice((0.0, 0.003, 0.03)))
        engine.set_threads(1)  # the others are told to suspend while queues are being emptied
        engine.set_queued(ports, False)
        totals = engine.stop(drain=drain, timeout_s=30.0)
        assert totals.correct and not totals.stuck, totals
        assert totals.drained or not drain


# -- siblings --------------------------------------------------------------------------------------


WRITTEN = 0x2A


LOOK = np.dtype([("seen", np.uint64), ("wrong", np.uint64)], align=True)


@cache
def functions() -> dict[str, object]:
    """Two compiled functions: `writes` and `looks`."""
    import numba

    @numba.cfunc(NUMBA_SIGNATURE)
    def writes(sequence, value, payload, payload_bytes, control, state):
        """Writes to all of its tuple that it can reach."""
        value[0] = -1.0 - value[0]
        for place in range(payload_bytes):
            payload[place] = WRITTEN
        return 1

    @numba.cfunc(NUMBA_SIGNATURE)
    def looks(sequence, value, payload, payload_bytes, control, state):
        """Counts the tuples, and those that are not as the source made them; a source's value says
        what it must be.
        """
        own = numba.carray(state, 1, LOOK)[0]
        own.seen += 1
        written = 0
        for place in range(payload_bytes):
            written += payload[place] == WRITTEN
        if value[0] != 1.0 + sequence % 1024 / 1024.0 or written == payload_bytes:
            own.wrong += 1
        return 1

    return {"writes": writes, "looks": looks}


def siblings(order: tuple[str, ...]) -> tuple[Graph, list[np.ndarray]]:
    """A fan-out to operators that write to their tuples and to ones that look at them, subscribed
    in this order.
    """
    graph = Graph("siblings", 64)
    head, states = graph.work("head", 1), []
    graph.connect(graph.source("source"), head)
    for index, kind in enumerate(order):
        state = np.zeros(1, LOOK)
        operator = graph.native(f"{kind}{index}", functions()[kind], state=state)
        if kind == "looks":
            states.append(state)
        graph.connect(head, operator)
        graph.connect(operator, graph.sink(f"sink{index}"))
    return graph, states


ORDERS = [
    ("writes", "looks", "writes", "looks"),
    ("looks", "writes", "looks"),
    ("writes", "writes", "looks"),
    ("looks", "looks", "writes"),
]


@pytest.mark.parametrize("queued", ["all", "none"])
@pytest.mark.parametrize("order", ORDERS, ids=" ".join)
def test_siblings_never_see_what_a_called_or_queued_operator_writes_to_its_tuple(
    order: tuple[str, ...], queued: str
) -> None:
    graph, states = siblings(order)
    totals = run_to_end(graph, Dynamic(2, queue_capacity=5, queued=queued), 2000)
    assert totals.drained and totals.conservation == []
    assert [(int(state["seen"][0]), int(state["wrong"][0])) for state in states] == [
        (2000, 0)
    ] * len(states)


@pytest.mark.parametrize("seconds", [0.7, pytest.param(3.0, marks=pytest.mark.slow)])
@pytest.mark.parametrize("order", ORDERS, ids=" ".join)
def test_siblings_never_see_what_is_written_while_queues_are_switched(
    order: tuple[str, ...], seconds: float
) -> None:
    graph, states = siblings(order)
    dice = random.Random(3)
    model = Dynamic(2, queue_capacity=5)
    engine = open_engine(graph, model)
    engine.start()
    switch(engine, scheduled_ports(graph, model), dice, seconds, MANY_SWITCHES)
    totals = engine.stop(drain=True, timeout_s=30.0)
    assert totals.drained and totals.order_violations == 0 and totals.conservation == []
    assert [(int(state["seen"][0]), int(state["wrong"][0])) for state in states] == [
        (totals.sent, 0)
    ] * len(states)


def test_an_operator_that_sees_what_another_wrote_is_noticed() -> None:
    """The check of the check: behind one that writes, every tuple looks wrong."""
    graph, state = Graph("row", 64), np.zeros(1, LOOK)
    writer = graph.native("writes", functions()["writes"])
    looker = graph.native("looks", functions()["looks"], state=state)
    graph.connect(graph.source("source"), writer)
    graph.connect(writer, looker)
    graph.connect(looker, graph.sink("sink"))
    run_to_end(graph, Dynamic(2, queued="none"), 300)
    assert (int(state["seen"][0]), int(state["wrong"][0])) == (300, 300)


def test_a_run_in_which_something_was_given_up_has_not_drained() -> None:
    """Final punctuation may get through, by calls, where a blocked producer has dropped what it
    had.
    """
    for number in range(60):
        dice = random.Random(number)
        graph = SHAPES["windows"]()
        engine = open_engine(
            graph, Dynamic(3, queue_capacity=1, queued=dice.choice(("all", "none")))
        )
        ports = scheduled_ports(graph, Dynamic(3))
        engine.start()
        switch(engine, ports, dice, seconds=0.003)
        engine.set_queued(ports, False)
        totals = engine.stop(drain=False, timeout_s=30.0)
        assert totals.correct, totals
        assert not (totals.drained and totals.in_flight)
