"""Operators as co-routines on real threads: what is theirs alone. Tests that run under every model
run under this one, too.
"""

from __future__ import annotations

import ctypes
import subprocess
import sys
import threading
from pathlib import Path

import psutil
import pytest

from examples.building import shared_library
from harness.engine import open_engine
from harness.errors import UserError
from harness.graph import Graph, Threading
from harness.graph.functions.c_signature import PROTOTYPE
from harness.models import Coroutine, pool_of
from harness.models.policy import policies
from tests.runtime.shapes import (
    GRAPHS,
    annotate,
    at_most_threads,
    chain,
    pipeline,
    run_to_end,
    until,
)

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("policy", policies())
@pytest.mark.parametrize("shape", ["merge, skewed", "diamond", "windows, merge", "load balance"])
def test_every_policy_brings_every_tuple_to_its_end(shape: str, policy: str) -> None:
    for threads in (1, 3):
        totals = run_to_end(
            GRAPHS[shape](), Coroutine(threads, policy, quantum_ms=0.1, queue_capacity=7), 2000
        )
        assert totals.correct and totals.drained, totals


@pytest.mark.parametrize("policy", policies())
def test_a_run_that_is_stopped_under_load_accounts_for_every_tuple(policy: str) -> None:
    for shape in ("merge", "keys, merge", "split fan-out", "several sources"):
        engine = open_engine(GRAPHS[shape](), Coroutine(2, policy, queue_capacity=5))
        engine.start()
        for level in (1, 4, 2):
            engine.set_threads(level)
            engine.sample(0.01)
        until(engine, lambda sample: sample.source_tuples > 0)
        totals = engine.stop(drain=False, timeout_s=10.0)
        assert totals.correct and totals.sent > 0, (shape, totals)


def test_no_source_has_a_thread_of_its_own() -> None:
    graph = GRAPHS["several sources"]()
    engine = open_engine(graph, Coroutine(2))
    assert engine.threads == 2
    before = psutil.Process().num_threads()
    engine.start()
    assert psutil.Process().num_threads() == before + 2
    assert engine.stop(drain=True, timeout_s=10.0).correct
    assert at_most_threads(before)


def test_threads_are_busy_under_load_and_idle_without() -> None:
    engine = open_engine(pipeline(3, cost=1000), Coroutine(1))
    engine.start()
    until(engine, lambda sample: sample.utilisation > 0.9, period_s=0.2)
    assert engine.stop(drain=True, timeout_s=10.0).correct
    quiet = Graph("quiet", 8)
    quiet.connect(chain(quiet, quiet.source("source", rate=10), 2), quiet.sink("sink"))
    engine = open_engine(quiet, Coroutine(1))
    engine.start()
    until(engine, lambda sample: sample.sink_tuples > 0 and sample.utilisation < 0.1, period_s=0.3)
    assert engine.stop(drain=True, timeout_s=10.0).correct


def test_a_thousand_senders_to_one_port_all_come_to_their_end() -> None:
    graph = Graph("wide", 8)
    sink = graph.sink("sink")
    for number in range(1000):
        graph.connect(graph.source(f"source{number}"), sink)
    totals = run_to_end(graph, Coroutine(2, queue_capacity=40), 100)
    assert totals.correct and totals.received == 100_000


GROWS = """
import sys
import psutil
from harness.engine import open_engine
from harness.models import make_model
from tests.runtime.shapes import pipeline
operators, model, policy = int(sys.argv[1]), sys.argv[2], sys.argv[3] or None
graph = pipeline(operators, payload=0)
graph.check()
before = psutil.Process().memory_info().rss
engine = open_engine(graph, make_model(model, threads=2, queue_capacity=4, policy=policy), tuples=200)
engine.start()
while not engine.finished():
    engine.sample(0.05)
grown = psutil.Process().memory_info().rss - before
totals = engine.stop(drain=True, timeout_s=10.0)
assert totals.correct and totals.received == 200, totals
print(grown)
"""


@pytest.mark.plain_build
def test_a_coroutine_costs_no_more_than_eight_kibibytes_beside_its_queue() -> None:
    """Resident memory after tuples went all the way, against the same queues without
    co-routines.
    """
    operators, grown = 3000, {}
    for model, policy in (("dynamic", ""), ("coroutine", "oldest_source")):
        words = [sys.executable, "-c", GROWS, str(operators), model, policy]
        done = subprocess.run(words, capture_output=True, text=True, cwd=ROOT, check=True)
        grown[model, policy] = int(done.stdout)
    queues = grown.pop(("dynamic", ""))
    assert all(bytes_ - queues <= 8192 * operators for bytes_ in grown.values()), (queues, grown)


def test_users_operators_that_wait_hold_a_thread_and_no_more() -> None:
    """One waits for what another one, upstream of it on a thread of its own, has still to see."""
    gate = threading.Event()
    graph = Graph("gate", 8)
    waits = graph.python(
        "waits", lambda sequence, value: value if gate.wait(100.0) else None, preserves=True
    )
    opens = graph.python(
        "opens",
        lambda sequence, value: (gate.set() if sequence == 20 else None) or value,
        preserves=True,
    )
    sink = graph.sink("sink")
    for user in (waits, opens):
        graph.connect(graph.source(f"source of {user.name}"), user)
        graph.connect(user, sink)
    totals = run_to_end(graph, Coroutine(1), 50)
    assert totals.correct and totals.received == 100


def test_annotations_are_heeded_beside_coroutines() -> None:
    graph = Graph("mixed", 8)
    last = chain(graph, graph.source("source"), 4)
    graph.connect(last, graph.sink("sink"))
    annotate(graph, "work0", Threading("manual"))
    annotate(graph, "work1", Threading("dedicated"))
    annotate(graph, "work2", Threading("dynamic", threads=3))
    assert pool_of(graph, Coroutine(1)).threads == 3
    engine = open_engine(graph, Coroutine(1))
    assert engine.threads == 1 + 3
    assert engine.core.guards()["queued"] == ["work1[0]", "work2[0]", "work3[0]", "sink[0]"]
    assert run_to_end(graph, Coroutine(1), 3000).correct


def test_queues_of_coroutines_are_not_to_be_switched() -> None:
    engine = open_engine(pipeline(2), Coroutine(1))
    assert engine.queued() == []
    with pytest.raises(UserError, match=r"set_queued: port work0\[0\] is not scheduled"):
        engine.set_queued([pipeline(2).operators["work0"].input(0)], False)


class Rounding(ctypes.Structure):
    """Parameters of rounding.c, and what it has seen."""

    _fields_ = (
        ("upward", ctypes.c_int32),
        ("calls", ctypes.c_uint64),
        ("foreign", ctypes.c_uint64),
    )


def rounding() -> ctypes.CDLL:
    library = ctypes.CDLL(str(shared_library(Path(__file__).parent / "rounding.c", "-lm")))
    library.keeps_a_mode.argtypes = (ctypes.c_void_p, ctypes.c_void_p)
    library.keeps_a_mode.restype = ctypes.c_int32
    return library


def test_loops_on_one_thread_each_keep_their_floating_point_mode() -> None:
    states = [Rounding(upward=0), Rounding(upward=1)]
    graph = Graph("rounding", 8)
    last = graph.source("source")
    for number, state in enumerate(states):
        loop = graph.loop(f"loop{number}", rounding().keeps_a_mode, state=state)
        graph.connect(last, loop)
        last = loop
    graph.connect(last, graph.sink("sink"))
    assert run_to_end(graph, Coroutine(1), 50_000).received == 50_000
    assert [(state.calls, state.foreign) for state in states] == [(50_000, 0)] * 2


def test_a_floating_point_mode_that_a_function_leaves_behind_is_not_that_of_others_on_its_thread() -> (
    None
):
    seen = Rounding()
    graph = Graph("left behind", 8)
    leaves = graph.native("leaves", PROTOTYPE(("leaves_a_mode", rounding())), preserves=True)
    sees = graph.native("sees", PROTOTYPE(("sees_a_mode", rounding())), state=seen, preserves=True)
    graph.connect(graph.source("source"), leaves)
    graph.connect(leaves, sees)
    graph.connect(sees, graph.sink("sink"))
    assert run_to_end(graph, Coroutine(1), 5000).correct
    assert (seen.calls, seen.foreign) == (5000, 0)


OVERFLOWS = """
import ctypes, sys
from harness.engine import open_engine
from harness.graph import Graph
from harness.models import Coroutine
from harness.graph.functions.compiled import ProcessFunction, StepFunction
from harness.graph.schema import Schema
library = ctypes.CDLL(sys.argv[1])
number = Schema("number", {"n": "uint64"})
graph = Graph("deep")
source = graph.typed_source("numbers", lambda: ((0, {"n": n}) for n in range(50)), number)
deep = graph.typed("deep", ProcessFunction(ctypes.cast(library.deep, ctypes.c_void_p).value), number, number)
graph.connect(source, deep)
graph.connect(deep, graph.typed_sink("sink", lambda port, values: None, number))
others = [open_engine(graph, Coroutine(1)) for _ in range(int(sys.argv[2]))]
engine = open_engine(graph, Coroutine(1))
engine.start()
while not engine.finished():
    engine.sample(0.1)
engine.stop(drain=True, timeout_s=20.0)
print("not reached")
"""


DEEP = """
static int down(volatile uint64_t n) {
  volatile uint64_t room[64];
  room[n % 64] = n;
  return n && down(n - 1) + room[n % 64];
}
"""
WIDE = """
static int down(volatile uint64_t n) {
  volatile char room[BYTES];
  if (n == 1) return 1;
  return room[0] = 1;
}
"""


@pytest.mark.plain_build
@pytest.mark.parametrize(
    ("down", "others"),
    [
        pytest.param(DEEP, 0, id="many small frames"),
        pytest.param(DEEP, 100, id="beside a hundred other engines"),
        pytest.param(WIDE.replace("BYTES", "300000"), 0, id="a frame larger than the stack"),
        pytest.param(WIDE.replace("BYTES", "1200000"), 0, id="a frame much larger than the stack"),
    ],
)
def test_a_stack_that_overflows_is_told_by_the_operators_name(
    down: str, others: int, tmp_path: Path
) -> None:
    source = tmp_path / "deep.c"
    source.write_text(
        f'#include "millrace.h"\n{down}\n'
        "int32_t deep(millrace_context* c, uint32_t port, const void* tuple, void* s) {\n"
        "  (void)c, (void)port, (void)s; return down(*(const uint64_t*)tuple == 30 ? 100000 : 1) ? "
        "0 : -1; }\n"
    )
    library = tmp_path / "deep.so"
    flags = [
        "-shared",
        "-fPIC",
        "-O0",
        "-fno-stack-clash-protection",
        "-I",
        str(ROOT / "harness/native"),
    ]
    subprocess.run(["cc", *flags, str(source), "-o", str(library)], check=True)
    words = [sys.executable, "-c", OVERFLOWS, str(library), str(others)]
    done = subprocess.run(words, capture_output=True, text=True, cwd=ROOT, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "millrace: operator 'deep' used more than its stack of 260 KiB\n"


def test_a_compiled_operator_behind_which_python_is_must_not_send_from_a_coroutines_stack() -> None:
    from harness.graph.functions.compiled import ProcessFunction
    from harness.graph.schema import Schema

    number = Schema("number", {"n": "uint64"})
    prototype = ctypes.CFUNCTYPE(
        ctypes.c_int32, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_void_p, ctypes.c_void_p
    )
    graph = Graph("callback")
    source = graph.typed_source("numbers", lambda: ((0, {"n": n}) for n in range(5)), number)
    graph.connect(
        source,
        graph.typed_sink(
            "sink", ProcessFunction.of(prototype(lambda context, port, values, state: 0)), number
        ),
    )
    with pytest.raises(
        UserError,
        match="operator 'sink': function must not be a ctypes callback under the coroutine model",
    ):
        open_engine(graph, Coroutine(1))
