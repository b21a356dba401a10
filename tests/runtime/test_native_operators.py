"""Users' operators on real threads: the examples, what they may do, the errors when they fail, and
the page about them.
"""

from __future__ import annotations

import ctypes
import gc
import importlib
import re
import subprocess
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

from examples.pipeline import AddGate
from harness.engine import Engine, Totals, open_engine
from harness.graph import Graph, Operator
from harness.graph.functions.compiled import NUMBA_SIGNATURE, PROTOTYPE
from harness.models import Coroutine, Dedicated, Dynamic, Manual, Model

ROOT = Path(__file__).parents[2]
EXAMPLES = {
    "numba": "examples.numba_function",
    "C": "examples.c_function",
    "Cython": "examples.cython_function",
    "ctypes callback": "examples.ctypes_callback",
    "Python": "examples.python_callable",
}
"""Modules, some of which compile their function as they are imported."""

QUEUED, CALLED, SWITCHED = (True,), (False,), (True, False) * 50
MODES: dict[str, tuple[Model, tuple[bool, ...]]] = {
    "manual": (Manual(), ()),
    "dedicated": (Dedicated(), ()),
    "coroutine": (Coroutine(2), ()),
    "coroutine, preempted": (Coroutine(1, "random", quantum_ms=0.01, queue_capacity=5), ()),
    "dynamic, queued": (Dynamic(2), QUEUED),
    "dynamic, called": (Dynamic(2), CALLED),
    "dynamic, switched": (Dynamic(3, queue_capacity=5), SWITCHED),
}
TUPLES = 2000  # a full queue holds 1000


def value_of(sequence: int) -> float:
    """Return what a source gives a tuple."""
    return 1.0 + sequence % 1024 / 1024


def gated(threshold: float, tuples: int = TUPLES) -> list[tuple[int, float]]:
    """Return what should come behind a gate: sequence numbers and values."""
    return [
        (sequence, 2 * value_of(sequence))
        for sequence in range(tuples)
        if value_of(sequence) >= threshold
    ]


def run(graph: Graph, mode: str, tuples: int = TUPLES) -> Totals:
    """Send `tuples` from each source and let them drain; queues are switched as the mode says, from
    the start on.
    """
    model, switches = MODES[mode]
    engine = open_engine(graph, model, tuples=tuples)
    scheduled = engine.queued()
    for turn, queued in enumerate(switches):
        engine.set_queued(scheduled, queued)
        if turn == 0:
            engine.start()
        elif not engine.finished():
            engine.sample(0.002)
    if not switches:
        engine.start()
    passed = 0.0
    while not engine.finished() and passed < 300:
        passed += engine.sample(0.1).elapsed_s
    return engine.stop(drain=True, timeout_s=5.0)


def around(
    operator: Callable[[Graph], Operator],
    before: Callable[[int, float], float | None] | None = None,
) -> tuple[Graph, list[tuple[int, float]]]:
    """source -> (before ->) operator -> a recorder -> sink; and what the recorder will have
    seen.
    """
    graph = Graph("gate", payload=24)
    record: list[tuple[int, float]] = []

    def recorder(sequence: int, value: float) -> float:
        record.append((sequence, value))
        return value

    chain = [
        graph.source("source"),
        operator(graph),
        graph.python("recorder", recorder, preserves=True),
        graph.sink("sink"),
    ]
    if before is not None:
        chain.insert(1, graph.python("before", before))
    for upstream, downstream in pairwise(chain):
        graph.connect(upstream, downstream)
    return graph, record


def gate_of(example: str) -> AddGate:
    return importlib.import_module(EXAMPLES[example]).add_gate


@pytest.fixture(params=EXAMPLES)
def add_gate(request: pytest.FixtureRequest) -> AddGate:
    return gate_of(request.param)


@pytest.mark.parametrize("mode", MODES)
def test_an_example_drops_changes_and_counts_under_every_model(
    add_gate: AddGate, mode: str
) -> None:
    states = []

    def gate(graph: Graph) -> Operator:
        operator, state = add_gate(graph, "gate", 1.25)
        states.append(state)
        return operator

    graph, record = around(gate)
    gc.collect()  # nothing but the graph keeps the function now
    totals = run(graph, mode)
    assert totals.correct, totals
    assert totals.drained
    assert record == gated(1.25)
    assert totals.received == len(record)
    assert (states[0].seen, states[0].kept) == (TUPLES, len(record))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("example", EXAMPLES)
def test_an_error_ends_the_run_and_is_told_with_operator_value_and_tuple(
    example: str, mode: str
) -> None:
    graph, record = around(
        lambda graph: gate_of(example)(graph, "gate", 1.25)[0],
        before=lambda sequence, value: -1.0 if sequence == 700 else value,
    )
    totals = run(graph, mode, tuples=10**9)
    told = "raised ValueError: value -1.0 is negative" if example == "Python" else "returned -22"
    assert totals.error.startswith(f"operator 'gate' {told} (tuple 700")
    assert not totals.correct
    assert totals.stuck == []
    assert record == gated(1.25, tuples=700)[: len(record)], (
        "what came before the error came in order"
    )


@pytest.mark.parametrize("mode", MODES)
def test_an_example_reads_the_last_value_of_its_control_port(add_gate: AddGate, mode: str) -> None:
    for rate in (1000, 100, 10):  # the last tuple comes 0.25, 2.5 or 25 s after the first command
        graph = Graph("controlled", payload=0)
        gate, state = add_gate(graph, "gate", 1.25)
        graph.connect(graph.source("source", rate=rate), gate)
        graph.connect(gate, graph.sink("sink"))
        graph.connect(graph.source("commands"), graph.control(gate))
        totals = run(graph, mode, tuples=250)
        assert totals.correct, totals
        if state.threshold == value_of(249):
            break
    assert state.threshold == value_of(249)
    assert state.seen == 250
    assert totals.received == state.kept


def test_several_operators_with_states_of_their_own_share_a_function(add_gate: AddGate) -> None:
    graph = Graph("gates")
    split, sink = graph.split("split", 3), graph.sink("sink")
    graph.connect(graph.source("source"), split)
    states = []
    for port in range(3):
        gate, state = add_gate(graph, f"gate{port}", 1.0)
        graph.connect(split.output(port), gate)
        graph.connect(gate, sink)
        states.append(state)
    totals = run(graph, "dynamic, queued", tuples=3000)
    assert totals.correct, totals
    assert [state.seen for state in states] == [1000, 1000, 1000]


# -- what the oracle makes of broken promises ------------------------------------------------------


def callback(function: Callable[..., int], **options: bool) -> Callable[[Graph], Operator]:
    return lambda graph: graph.native("callback", PROTOTYPE(function), **options)


def test_who_promises_to_preserve_and_drops_is_found() -> None:
    graph, record = around(callback(lambda sequence, *_: int(sequence != 30), preserves=True))
    totals = run(graph, "dynamic, queued", tuples=100)
    assert len(record) == 99
    assert totals.error is None and not totals.checksum_ok and not totals.correct


def test_who_promises_to_preserve_and_changes_a_value_is_found() -> None:
    def change(sequence, value, *_):
        value[0] += 1
        return 1

    totals = run(around(callback(change, preserves=True))[0], "manual", tuples=100)
    assert totals.error is None and not totals.checksum_ok


def test_the_payload_is_there_to_be_read() -> None:
    sizes = []

    def read(sequence, value, payload, payload_bytes, control, state):
        sizes.append((payload_bytes, len(payload[:payload_bytes]), control, state))
        return 1

    totals = run(around(callback(read, preserves=True))[0], "dynamic, queued", tuples=50)
    assert totals.correct, totals
    assert sizes == [(24, 24, 0.0, None)] * 50


def test_who_changes_the_payload_is_found() -> None:
    def change(sequence, value, payload, *_):
        payload[0] = bytes([payload[0][0] ^ 1])
        return 1

    totals = run(around(callback(change))[0], "manual", tuples=100)
    assert totals.error is None and not totals.checksum_ok


# -- what must not be thrown -----------------------------------------------------------------------


def throw_at_ten(sequence: int, *_: object) -> int:
    if sequence == 10:
        raise ValueError("ten")
    return 1


@pytest.fixture
def printed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return what is printed of exceptions that nobody can catch."""
    exceptions: list[str] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda told: exceptions.append(str(told.exc_value)))
    return exceptions


def test_what_numba_throws_is_printed_and_drops_the_tuple(printed: list[str]) -> None:
    import numba

    @numba.cfunc(NUMBA_SIGNATURE)
    def throws_at_ten(sequence, value, payload, payload_bytes, control, state):
        if sequence == 10:
            raise ValueError("ten")
        return 1

    graph, record = around(lambda graph: graph.native("throws", throws_at_ten))
    totals = run(graph, "dynamic, queued", tuples=100)
    assert printed == ["ten"]
    assert [sequence for sequence, _ in record] == [
        sequence for sequence in range(100) if sequence != 10
    ]
    assert totals.correct, totals


def test_what_a_callback_throws_is_printed(printed: list[str]) -> None:
    """The tuple's further content is undefined: ctypes leaves the result as it is."""
    graph, _ = around(lambda graph: graph.native("throws", PROTOTYPE(throw_at_ten)))
    totals = run(graph, "dynamic, queued", tuples=100)
    assert printed == ["ten"]
    assert totals.stuck == []


# -- lifetime --------------------------------------------------------------------------------------


def test_the_run_keeps_function_and_state_alive() -> None:
    def engine_and_state() -> tuple[Engine, int]:
        @PROTOTYPE
        def count(sequence, value, payload, payload_bytes, control, place):
            ctypes.c_uint64.from_address(place).value += 1
            return 1

        state = ctypes.c_uint64(0)
        graph, _ = around(lambda graph: graph.native("count", count, preserves=True, state=state))
        return open_engine(graph, Dynamic(2), tuples=TUPLES), ctypes.addressof(state)

    engine, address = engine_and_state()
    gc.collect()
    engine.start()
    while not engine.finished():
        gc.collect()
        engine.sample(0.01)
    assert engine.stop(drain=True, timeout_s=5.0).correct
    assert ctypes.c_uint64.from_address(address).value == TUPLES  # the engine still owns it


# -- pages and programs ----------------------------------------------------------------------------


@pytest.mark.parametrize("example", EXAMPLES.values())
def test_an_example_is_a_program(example: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", example], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "seen 100000, kept 74912, received 74912: correct\n"


@pytest.fixture
def page() -> str:
    return (ROOT / "docs/how-to/operators.md").read_text()


def test_the_python_code_of_the_page_runs(page: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """In one go from top to bottom, as a reader would type it; it asserts what it says."""
    monkeypatch.chdir(ROOT)
    blocks = re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert len(blocks) >= 6
    namespace: dict[str, object] = {"__name__": "page"}
    for block in blocks:
        exec(
            compile(block, f"docs/how-to/operators.md: {block.splitlines()[0]}", "exec"), namespace
        )


def test_the_c_code_of_the_page_is_that_of_the_example(page: str) -> None:
    assert (ROOT / "examples" / "gate.c").read_text() in page


def test_the_benchmark_of_barriers_runs(capsys: pytest.CaptureFixture[str]) -> None:
    from tests.benchmarks import barriers

    barriers.main(rounds=1, tuples=500)
    table = capsys.readouterr().out
    for kind in barriers.KINDS:
        assert re.search(rf"^\| {re.escape(kind)} \| \d", table, re.MULTILINE), table


def test_the_benchmark_of_the_page_runs(capsys: pytest.CaptureFixture[str]) -> None:
    from tests.benchmarks import user_operators

    user_operators.main(rounds=1, tuples=500)
    table = capsys.readouterr().out
    for kind in user_operators.KINDS:
        assert re.search(rf"^\| {re.escape(kind)} \| -?\d", table, re.MULTILINE), table
