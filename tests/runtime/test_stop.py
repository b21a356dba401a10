"""Stopping is bounded and exact, whatever the operators do."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time

import psutil
import pytest

from harness.engine import open_engine
from harness.errors import UserError
from harness.graph import Graph
from harness.graph.functions.compiled import PROTOTYPE
from harness.models import Dedicated, Dynamic, Manual, Model
from tests.runtime.shapes import MODELS, at_most_threads, chain, pipeline, run_to_end, until

THREE: list[Model] = [Manual(), Dedicated(), Dynamic(2)]


def with_python(function: object, preserves: bool = False) -> Graph:
    graph = Graph("python", 8)
    user = graph.python("user", function, preserves=preserves)
    graph.connect(chain(graph, graph.source("source"), 2), user)
    graph.connect(chain(graph, user, 1, prefix="after"), graph.sink("sink"))
    return graph


@pytest.mark.parametrize("model", MODELS)
def test_stop_with_drain_processes_everything_that_was_sent(model: str) -> None:
    engine = open_engine(pipeline(6), MODELS[model])
    engine.start()
    until(engine, lambda sample: sample.source_tuples > 0)
    totals = engine.stop(drain=True, timeout_s=20.0)
    assert totals.drained and totals.correct
    assert totals.sent == totals.received > 0


@pytest.mark.parametrize("model", THREE, ids=lambda model: model.name)
def test_stop_while_every_queue_is_full_ends_and_accounts(model: Model) -> None:
    engine = open_engine(pipeline(8, cost=300_000), model)
    engine.start()
    until(engine, lambda sample: sample.source_tuples > 0)
    engine.sample(0.1)
    totals = engine.stop(drain=False, timeout_s=10.0)
    assert not totals.stuck and totals.correct
    assert totals.sent == totals.received + totals.in_flight


@pytest.mark.parametrize("model", THREE, ids=lambda model: model.name)
def test_a_drain_that_takes_too_long_is_given_up_and_accounted(model: Model) -> None:
    engine = open_engine(pipeline(8, cost=2_000_000), model)
    engine.start()
    until(engine, lambda sample: sample.source_tuples > 0)
    engine.sample(0.1)
    totals = engine.stop(drain=True, timeout_s=0.1)
    assert not totals.stuck and totals.correct
    assert totals.sent == totals.received + totals.in_flight


@pytest.mark.parametrize("kind", ["python", "native", "reentrant"])
@pytest.mark.parametrize("model", THREE, ids=lambda model: model.name)
def test_a_run_that_is_cut_short_waits_for_one_call_of_a_users_function_not_for_a_batch(
    kind: str, model: Model
) -> None:
    napping = threading.Event()

    def nap(sequence: int, value: float) -> float:
        napping.set()
        time.sleep(0.25)
        return value

    @PROTOTYPE
    def native_nap(*_: object) -> int:
        napping.set()
        time.sleep(0.25)
        return 1

    graph = Graph("naps", 8)
    if kind == "native":
        user = graph.native("user", native_nap, preserves=True)
    else:
        user = graph.python("user", nap, preserves=True, reentrant=kind == "reentrant")
    for source in range(2 if kind == "reentrant" else 1):
        graph.connect(
            chain(graph, graph.source(f"source{source}"), 1, prefix=f"before{source}"), user
        )
    graph.connect(chain(graph, user, 1, prefix="after"), graph.sink("sink"))
    engine = open_engine(graph, model)
    engine.start()
    assert napping.wait(60)
    totals = engine.stop(
        drain=False, timeout_s=0.1
    )  # a batch would take 4 s or 8 s, and threads get 2 s to end
    assert not totals.stuck and totals.correct and not totals.drained
    assert totals.sent == totals.received + totals.in_flight > totals.received


def test_stop_twice_gives_the_same_account() -> None:
    engine = open_engine(pipeline(), Dynamic(2), tuples=100)
    engine.start()
    first = engine.stop(drain=True, timeout_s=5.0)
    assert engine.stop(drain=False, timeout_s=5.0) is first


def test_an_engine_that_never_started_stops_with_nothing_done() -> None:
    totals = open_engine(pipeline(), Dynamic(2)).stop(drain=True, timeout_s=5.0)
    assert (totals.sent, totals.received, totals.drained) == (0, 0, False)


@pytest.mark.parametrize("model", THREE, ids=lambda model: model.name)
def test_an_engine_that_was_stopped_does_not_start(model: Model) -> None:
    engine = open_engine(pipeline(), model)
    totals = engine.stop(drain=False, timeout_s=5.0)
    before = psutil.Process().num_threads()
    with pytest.raises(UserError, match="an engine runs once: start was called after stop"):
        engine.start()
    assert at_most_threads(before)
    assert engine.stop(drain=False, timeout_s=5.0) is totals


def test_an_engine_starts_once() -> None:
    engine = open_engine(pipeline(), Dynamic(1), tuples=1)
    engine.start()
    with pytest.raises(UserError, match="start was called a second time"):
        engine.start()
    engine.stop(drain=True, timeout_s=5.0)


@pytest.mark.parametrize("model", THREE, ids=lambda model: model.name)
def test_an_operator_that_raises_ends_the_run_and_is_named(model: Model) -> None:
    def fragile(sequence: int, value: float) -> float:
        if sequence == 777:
            raise ValueError("no sevens")
        return value

    engine = open_engine(with_python(fragile), model)
    engine.start()
    until(engine, lambda sample: engine.finished())
    totals = engine.stop(drain=True, timeout_s=5.0)
    line = fragile.__code__.co_firstlineno + 2
    assert (
        totals.error
        == f"operator 'user' raised ValueError: no sevens (tuple 777, {__file__}:{line})"
    )
    assert not totals.correct and not totals.stuck
    assert totals.received == 777 if model.name == "manual" else totals.received <= 777


def test_a_thread_that_waits_for_one_that_an_operator_holds_is_not_said_to_be_in_an_operator() -> (
    None
):
    gate, reached = threading.Event(), [threading.Event() for _ in range(2)]

    def block(sequence: int, value: float) -> float:
        gate.wait()
        return value

    graph = Graph("shared gate", 8)
    user = graph.python("user", block, preserves=True)
    for index, event in enumerate(reached):

        def reach(sequence: int, value: float, event: threading.Event = event) -> float:
            event.set()
            return value

        before = graph.python(f"before{index}", reach, preserves=True)
        graph.connect(graph.source(f"source{index}"), before)
        graph.connect(before, user)
    graph.connect(user, graph.sink("sink"))
    engine = open_engine(graph, Manual())
    engine.start()
    assert all(event.wait(60) for event in reached)
    engine.sample(0.2)
    totals = engine.stop(drain=False, timeout_s=0.1)
    gate.set()
    assert len(totals.stuck) == 2
    assert [" in operator " in thread for thread in sorted(totals.stuck, key=len)] == [False, True]
    assert any("in operator 'user'" in thread for thread in totals.stuck)


@pytest.mark.parametrize("preserves", [True, False])
def test_an_exception_without_a_text_is_told_by_its_class(preserves: bool) -> None:
    class Mute(Exception):
        def __str__(self) -> str:
            return self.missing

    def fragile(sequence: int, value: float) -> float:
        raise Mute

    graph = Graph("mute", 8)
    user = graph.python("user", fragile, preserves=preserves)
    graph.connect(graph.source("source"), user)
    graph.connect(user, graph.sink("sink"))
    engine = open_engine(graph, Manual())
    engine.start()
    until(engine, lambda sample: engine.finished())
    totals = engine.stop(drain=True, timeout_s=5.0)
    line = fragile.__code__.co_firstlineno + 1
    assert (
        totals.error == "operator 'user' raised Mute: an exception that cannot be shown (tuple 0, "
        f"{__file__}:{line})"
    )
    assert not totals.correct


def test_the_line_that_is_told_is_in_the_users_file_and_the_error_is_one_line() -> None:
    """Not in the library that has raised it."""

    def parse(text: str) -> float:
        return json.loads(text)

    def fragile(sequence: int, value: float) -> float:
        return parse("{\n" if sequence == 3 else "1")

    engine = open_engine(with_python(fragile), Manual())
    engine.start()
    while not engine.finished():
        engine.sample(1.0)
    error = engine.stop(drain=True, timeout_s=5.0).error
    line = parse.__code__.co_firstlineno + 1
    assert error.startswith("operator 'user' raised JSONDecodeError: ") and "\n" not in error
    assert error.endswith(f" (tuple 3, {__file__}:{line})")


@pytest.mark.parametrize("model", THREE, ids=lambda model: model.name)
def test_an_operator_that_returns_no_number_is_an_error_not_a_crash(model: Model) -> None:
    engine = open_engine(with_python(lambda sequence, value: "seven"), model)
    engine.start()
    until(engine, lambda sample: engine.finished())
    totals = engine.stop(drain=True, timeout_s=5.0)
    assert totals.error.startswith("operator 'user' raised TypeError")


@pytest.mark.parametrize("model", THREE, ids=lambda model: model.name)
def test_an_operator_that_does_not_return_is_named_and_the_rest_stops(model: Model) -> None:
    gate, inside = threading.Event(), threading.Event()

    def block(sequence: int, value: float) -> float:
        inside.set()
        gate.wait()
        return value

    engine = open_engine(with_python(block), model)
    engine.start()
    assert inside.wait(60)
    totals = engine.stop(drain=True, timeout_s=0.3)
    assert len(totals.stuck) == 1 and totals.stuck[0].endswith("in operator 'user'")
    assert not totals.correct
    gate.set()  # it returns late, after the engine was given up: nothing it touches may be gone
    del engine


@pytest.mark.parametrize("preserves", [True, False])
def test_python_operators_pass_tuples_on(preserves: bool) -> None:
    totals = run_to_end(with_python(lambda sequence, value: value, preserves), Dynamic(2), 500)
    assert totals.correct and totals.received == 500


def test_a_filter_in_python_drops_what_it_drops() -> None:
    totals = run_to_end(
        with_python(lambda sequence, value: value if sequence % 5 == 0 else None), Dedicated(), 500
    )
    assert totals.correct and totals.received == 100


@pytest.mark.parametrize(
    "breaking",
    [
        pytest.param(lambda sequence, value: None if sequence == 9 else value, id="drops one"),
        pytest.param(
            lambda sequence, value: value + 1 if sequence == 9 else value, id="changes one"
        ),
    ],
)
@pytest.mark.parametrize("model", THREE, ids=lambda model: model.name)
def test_the_oracle_catches_an_operator_that_breaks_its_promise(
    breaking: object, model: Model
) -> None:
    totals = run_to_end(with_python(breaking, preserves=True), model, 100)
    assert not totals.checksum_ok and not totals.correct


def test_an_engine_dropped_while_running_leaves_no_thread_behind() -> None:
    script = (
        "import threading, psutil\n"
        "from harness.engine import open_engine\nfrom harness.models import Dynamic\n"
        "from tests.runtime.shapes import pipeline, at_most_threads\n"
        "for attempt in range(21):\n"
        "    engine = open_engine(pipeline(), Dynamic(4)); engine.start(); engine.sample(0.005); "
        "del engine\n"
        "    before = psutil.Process().num_threads() if attempt == 0 else before  # a sanitizer "
        "has a thread of its own\n"
        "print(at_most_threads(before))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "True"


@pytest.mark.parametrize("profile", [False, True])
def test_an_engine_that_is_collected_in_a_cycle_while_it_runs_ends_its_threads(
    profile: bool,
) -> None:
    script = (
        "import gc, sys, psutil\n"
        "from harness.engine import open_engine\nfrom harness.graph import Graph\nfrom "
        "harness.models import Dynamic\n"
        "from tests.runtime.shapes import at_most_threads\n"
        "def start():\n"
        "    graph, held = Graph('cycle', 8), []\n"
        "    user = graph.python('user', lambda sequence, value: held and value, preserves=True)\n"
        "    graph.connect(graph.source('source', rate=100), user); graph.connect(user, "
        "graph.sink('sink'))\n"
        f"    engine = open_engine(graph, Dynamic(3), profile={profile}); held.append(engine)\n"
        "    engine.start(); engine.sample(0.02)\n"
        "start(); gc.collect()\n"
        "before = psutil.Process().num_threads()  # a sanitizer has a thread of its own\n"
        "for _ in range(5): start(); gc.collect()\n"
        "print(at_most_threads(before))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "True"
