"""Functions of users in Python run at the same time where the interpreter has no lock, and what
several threads do at once stays right with and without one.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial

import pytest

from harness.engine import Totals, open_engine
from harness.files.places import CODE
from harness.graph import Graph
from harness.graph.schema import Schema
from harness.models import Coroutine, Dedicated, Dynamic, Model
from tests.runtime.shapes import together

HAS_LOCK = getattr(sys, "_is_gil_enabled", lambda: True)()
without_lock = pytest.mark.skipif(HAS_LOCK, reason="this interpreter has its lock")

NUMBER = Schema("number", {"n": "uint64"})
ROUNDS = 2


# -- at the same time ------------------------------------------------------------------------------


class Meeting:
    """Two threads wait for each other in it, inside functions of users, without letting go of the
    interpreter's lock if there is one.
    """

    def __init__(self) -> None:
        self.inside: set[int] = set()
        self.met = False

    def __call__(self) -> None:
        self.inside.add(threading.get_ident())
        end = time.monotonic() + 30.0
        while not self.met:
            if len(self.inside) >= 2:
                self.met = True
            elif time.monotonic() > end:
                raise TimeoutError("nobody else came")
        self.inside.discard(threading.get_ident())


@pytest.fixture
def meeting() -> Iterator[Meeting]:
    """With a lock, a thread that has it would keep it for as long as the test may take."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e3)
    yield Meeting()
    sys.setswitchinterval(usual)


def plain(meet: Callable[[], None], width: int = 2) -> Graph:
    def user(sequence: int, value: float) -> float:
        meet()
        return value

    graph = Graph("plain", 8)
    split, sink = graph.split("split", width), graph.sink("sink")
    graph.connect(graph.source("source"), split)
    for port in range(width):
        operator = graph.python(f"user{port}", user)
        graph.connect(split.output(port), operator)
        graph.connect(operator, sink)
    return graph


def typed(meet: Callable[[], None]) -> Graph:
    def user(port: int, values: dict) -> Iterator[tuple[int, dict]]:
        meet()
        yield 0, values
        meet()

    def numbers() -> Iterator[tuple[int, dict]]:
        return ((n % 2, {"n": n}) for n in range(4000))

    graph = Graph("typed", 8)
    source = graph.typed_source("source", numbers, [NUMBER, NUMBER])
    sink = graph.typed_sink("sink", lambda port, values: None, NUMBER)
    for port in range(2):
        operator = graph.typed(f"user{port}", user, NUMBER, NUMBER)
        graph.connect(source.output(port), operator)
        graph.connect(operator, sink)
    return graph


def loops(meet: Callable[[], None]) -> Graph:
    async def user(context) -> None:
        async for value in context.input:
            meet()
            await context.push(value)

    graph = Graph("loops", 8)
    split, sink = graph.split("split", 2), graph.sink("sink")
    graph.connect(graph.source("source"), split)
    for port in range(2):
        operator = graph.loop(f"user{port}", user)
        graph.connect(split.output(port), operator)
        graph.connect(operator, sink)
    return graph


def replicas(meet: Callable[[], None]) -> Graph:
    def user(sequence: int, value: float) -> float:
        meet()
        return value

    graph = Graph("replicas", 8)
    graph.chain(
        graph.source("source"), graph.python("user", user, stateless=True), graph.sink("sink")
    )
    return graph


GRAPHS: dict[str, tuple[Callable[[Callable[[], None]], Graph], Model]] = {
    "plain, dedicated": (plain, Dedicated()),
    "plain, dynamic": (plain, Dynamic(3)),
    "plain, coroutine": (plain, Coroutine(2)),
    "typed, dedicated": (typed, Dedicated()),
    "typed, dynamic": (typed, Dynamic(3)),
    "typed, coroutine": (typed, Coroutine(2)),
    "loops": (loops, Coroutine(2)),
    "replicas": (replicas, Coroutine(2, replicas=2)),
}


def finished(graph: Graph, model: Model, tuples: int | None = 2000) -> Totals:
    engine = open_engine(graph, model, tuples=tuples)
    engine.start()
    while not engine.finished():
        engine.sample(1.0)
    return engine.stop(True, 30.0)


@without_lock
@pytest.mark.parametrize("kind", GRAPHS)
def test_two_functions_are_executed_at_the_same_time(kind: str, meeting: Meeting) -> None:
    graph_of, model = GRAPHS[kind]
    graph = graph_of(meeting)
    totals = finished(graph, model, None if graph.typed_graph else 2000)
    assert (totals.error, totals.stuck) == (None, [])
    assert meeting.met and totals.correct and totals.drained


@without_lock
def test_a_policy_is_executed_at_the_same_time_as_an_operator(meeting: Meeting) -> None:
    working = threading.Event()

    def work() -> None:
        working.set()
        meeting()

    def policy(ready: object) -> float:
        if working.is_set():
            meeting()
        return 1.0

    # several wait for the thread that does not work
    totals = finished(plain(work, width=5), Coroutine(2, policy))
    assert (totals.error, totals.stuck) == (None, [])
    assert meeting.met and totals.correct and totals.drained


@without_lock
def test_importing_millrace_leaves_the_lock_off() -> None:
    compiled = [
        ".".join(path.relative_to(CODE).with_suffix("").parts)
        for path in sorted((CODE / "harness").rglob("*.pyx"))
    ]
    script = (
        "import importlib, json, sys\nimport millrace\n"
        "for name in json.loads(sys.argv[1]): importlib.import_module(name)\n"
        "print(sys._is_gil_enabled())\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script, json.dumps(compiled)],
        capture_output=True,
        text=True,
        cwd=CODE,
        env={name: value for name, value in os.environ.items() if name != "PYTHON_GIL"},
    )
    assert (done.stdout, done.stderr) == ("False\n", "") and compiled


# -- what several threads touch --------------------------------------------------------------------


@pytest.mark.parametrize("failing", ["operator", "policy"])
def test_functions_that_fail_at_the_same_time_give_one_error(failing: str) -> None:
    for _ in range(ROUNDS):
        two = threading.Barrier(2)

        def fail(*_: object, two: threading.Barrier = two) -> float:
            with suppress(threading.BrokenBarrierError):  # a second thread may not come by
                two.wait(0.5)
            raise ValueError(f"in {threading.get_ident()}")

        graph = Graph("failing", 8)
        if failing == "operator":
            user = graph.python("user", fail, stateless=True)
            model = Coroutine(4, replicas=4)
        else:
            user = graph.python("user", lambda sequence, value: value, stateless=True)
            model = Coroutine(4, fail, replicas=4)
        graph.chain(graph.source("source"), user, graph.sink("sink"))
        totals = finished(graph, model)
        assert totals.error.count("ValueError") == 1 and "\n" not in totals.error
        assert totals.checksum_ok and not totals.conservation and not totals.stuck


@pytest.mark.parametrize("machine", ["local", "xeon"])
def test_the_strictest_terms_of_all_who_stop_a_run_hold(machine: str) -> None:
    """A drain would take longer than the test may."""
    for _ in range(ROUNDS):
        graph = Graph("endless", 8)
        graph.chain(graph.source("source", rate=1.0), graph.work("work"), graph.sink("sink"))
        engine = open_engine(graph, Dynamic(2), machine, tuples=10**6)
        engine.start()
        calls = [partial(engine.stop, True, 1e6)] * 3 + [partial(engine.stop, False, 0.0)]
        answers = together(calls)
        assert all(answer is answers[0] for answer in answers)
        assert answers[0].correct and not answers[0].drained


def test_changes_of_one_run_from_several_threads_at_once_lose_nothing() -> None:
    for _ in range(ROUNDS):
        graph = Graph("changed", 8)
        operators = [
            graph.python(
                f"user{index}", lambda sequence, value: value, preserves=True, stateless=True
            )
            for index in range(3)
        ]
        graph.chain(graph.source("source"), *operators, graph.sink("sink"))
        engine = open_engine(graph, Coroutine(2))
        engine.start()

        def change(engine=engine) -> None:
            for number in range(1, 5):
                for index in range(3):
                    engine.set_replicas(f"user{index}", number)
                engine.set_threads(number)
            engine.sample(0.0)

        together([change] * 3)
        totals = engine.stop(True, 30.0)
        assert totals.error is None and totals.correct and totals.drained


def test_queues_that_several_threads_switch_at_once_lose_nothing() -> None:
    for _ in range(ROUNDS):
        graph = Graph("switched", 8)
        operators = [graph.work(f"work{index}") for index in range(6)]
        graph.chain(graph.source("source"), *operators, graph.sink("sink"))
        engine = open_engine(graph, Dynamic(2))
        engine.start()
        ports = engine.queued()

        def change(engine=engine, ports=ports) -> None:
            for number in range(8):
                engine.set_queued(ports[number % 3 :], number % 2 == 0)
                engine.set_threads(1 + number % 5)
            engine.sample(0.0)

        together([change] * 3)
        totals = engine.stop(True, 30.0)
        assert totals.error is None and totals.correct and totals.drained


def test_a_context_that_another_thread_uses_while_its_loop_ends_is_refused() -> None:
    for _ in range(ROUNDS):
        kept: list = []
        over = threading.Event()

        async def user(context, kept=kept) -> None:
            kept.append(context)
            async for value in context.input:
                await context.push(value)

        def intrude(kept=kept, over=over) -> str:
            refused, ended = "", False
            while not (ended and refused):
                ended = over.is_set()  # before the question: the last one comes after the end
                for context in kept:
                    with pytest.raises(RuntimeError) as raised:
                        len(context.input)
                    refused = str(raised.value)
                time.sleep(1e-4)
            return refused

        graph = Graph("intruded", 8)
        graph.chain(graph.source("source"), graph.loop("user", user), graph.sink("sink"))
        with ThreadPoolExecutor(1) as threads:
            intruder = threads.submit(intrude)
            totals = finished(graph, Coroutine(2), 500)
            over.set()
            assert intruder.result() == "len: operator 'user' has ended"
        assert totals.correct and totals.drained
