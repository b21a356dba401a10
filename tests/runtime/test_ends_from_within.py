"""A run that an operator wants to end, and one that nobody has stopped when the interpreter
ends.
"""

from __future__ import annotations

import subprocess
import sys
import threading

import pytest

from harness.engine import open_engine
from harness.files.places import CODE as ROOT
from harness.graph import Graph
from harness.graph.functions.compiled import PROTOTYPE
from harness.models import Coroutine, Dedicated, Dynamic, Manual, Model

MODELS: list[Model] = [Manual(), Dedicated(), Dynamic(2), Coroutine(2)]


@pytest.mark.parametrize("drain", [True, False], ids=["drain", "at once"])
@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
def test_stop_by_an_operator_of_the_run_is_a_request_that_returns(
    model: Model, drain: bool
) -> None:
    answers = []

    def enough(sequence: int, value: float) -> float:
        if sequence == 100:
            answers.append(engine.stop(drain, 30.0))
        return value

    graph = Graph("enough", 8)
    graph.chain(
        graph.source("source"), graph.python("enough", enough, preserves=True), graph.sink("sink")
    )
    engine = open_engine(graph, model)
    engine.start()
    while not engine.finished():
        engine.sample(10.0)
    totals = engine.stop(True, 10.0)
    assert answers == [None]
    assert totals.correct and not totals.stuck and totals.error is None
    assert totals.drained == drain


def test_a_callback_of_a_compiled_operator_may_ask_for_the_end_too() -> None:
    @PROTOTYPE
    def enough(sequence: int, *_: object) -> int:
        if sequence == 100:
            engine.stop(True, 30.0)
        return 1

    graph = Graph("enough", 8)
    graph.chain(
        graph.source("source"), graph.native("enough", enough, preserves=True), graph.sink("sink")
    )
    engine = open_engine(graph, Dynamic(2))
    engine.start()
    while not engine.finished():
        engine.sample(10.0)
    totals = engine.stop(True, 10.0)
    assert totals.correct and totals.drained and not totals.stuck


def test_an_operator_may_stop_another_run_and_gets_its_account() -> None:
    other_graph = Graph("other", 8)
    other_graph.connect(other_graph.source("source"), other_graph.sink("sink"))
    other = open_engine(other_graph, Manual())
    other.start()
    answers = []

    def stop_other(sequence: int, value: float) -> float:
        if sequence == 5:
            answers.append(other.stop(True, 10.0))
        return value

    graph = Graph("one", 8)
    graph.chain(graph.source("source"), graph.python("one", stop_other), graph.sink("sink"))
    engine = open_engine(graph, Manual(), tuples=10)
    engine.start()
    while not engine.finished():
        engine.sample(10.0)
    assert engine.stop(True, 10.0).correct
    assert answers[0].drained and answers[0].correct


def test_an_operator_may_drop_the_last_reference_to_its_engine() -> None:
    held, dropped = [], threading.Event()

    def drop(sequence: int, value: float) -> float:
        if sequence == 100:
            held.clear()
            dropped.set()
        return value

    graph = Graph("drop", 8)
    graph.chain(
        graph.source("source"), graph.python("drop", drop, preserves=True), graph.sink("sink")
    )
    engine = open_engine(graph, Dynamic(2), profile=True)
    held.append(engine)
    engine.start()
    del engine
    assert dropped.wait(30.0), "it would wait for its own thread"


# -- the end of the interpreter --------------------------------------------------------------------

PROGRAM = """
import builtins, sys, time
from harness.engine import open_engine
from harness.graph import Graph
from harness.models import Coroutine, Dynamic, Manual

def begin(model, **options):
    graph = Graph("program", 8)
    graph.chain(graph.source("source", rate=2000), graph.python("user", lambda sequence, value: value), graph.sink("sink"))
    engine = open_engine(graph, model, **options)
    engine.start()
    engine.sample(0.05)
    return engine
"""
ENDS = {
    "by its own bug": "engine = begin(Dynamic(2), profile=True)\nraise ValueError('mine')",
    "in a cycle": "class A: pass\na = A()\na.me = a\na.engine = begin(Manual())",
    "of another module": "builtins.engine = begin(Dynamic(2))\nsys.mine = begin(Manual())",
    "several, by exit": "engines = [begin(model) for model in (Manual(), Dynamic(2), "
    "Coroutine(2))]\nsys.exit(3)",
}
CODES = {"by its own bug": 1, "several, by exit": 3}


@pytest.mark.parametrize("how", ENDS)
def test_a_run_that_nobody_stopped_is_ended_before_the_interpreter(how: str) -> None:
    """Without waiting for threads that will never get the interpreter's lock: within the limit it
    would be ten seconds more.
    """
    program = (
        PROGRAM + "import atexit\natexit.register(lambda: print('alive', flush=True))\n" + ENDS[how]
    )
    # What is registered first is called last: behind the end of the runs. A module of threads,
    # which `shapes` needs, can no longer be imported then. With the first thread of a process a
    # sanitizer begins one of its own.
    ended = "import concurrent.futures.thread, atexit, psutil, threading\n"
    ended += "first = threading.Thread(target=int)\nfirst.start()\nfirst.join()\n"
    ended += "before = psutil.Process().num_threads()\n"
    ended += "def look():\n    from tests.runtime.shapes import at_most_threads\n"
    ended += "    print(at_most_threads(before))\natexit.register(look)\n"
    done = subprocess.run(
        [sys.executable, "-c", ended + program], capture_output=True, text=True, cwd=ROOT
    )
    assert done.returncode == CODES.get(how, 0)
    assert done.stdout == "alive\nTrue\n"
    words = "ValueError: mine\n" if how == "by its own bug" else ""
    assert (
        done.stderr == ""
        if not words
        else done.stderr.endswith(words) and done.stderr.count("Error") == 1
    )


def test_an_operator_that_never_returns_holds_up_the_end_for_a_bounded_time() -> None:
    program = PROGRAM.replace(
        "lambda sequence, value: value", "lambda sequence, value: time.sleep(10_000)"
    )
    program += "engine = begin(Dynamic(2))\n"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
