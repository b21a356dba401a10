"""Users' own scheduling policies: what they see, that they are obeyed, and the errors about wrong
ones (C-Stream §3.2.6).
"""

from __future__ import annotations

import ctypes
import json
import re
import subprocess
import sys
import threading
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import pytest

from examples.building import shared_library
from examples.cython_function import cython_module
from harness.engine import Totals, open_engine
from harness.errors import UserError
from harness.experiments.file import experiment_schema
from harness.files.checked_yaml import read_checked
from harness.graph import Graph
from harness.graph.functions.compiled import PolicyFunction
from harness.models import Coroutine
from harness.models.policy import PREEMPTS_PROTOTYPE, SCORE_PROTOTYPE, find_policy
from tests.runtime.shapes import until
from topologies import build

FIELDS = (
    *(
        "index",
        "source",
        "batch",
        "scheduled_ns",
        "queued",
        "enqueued_ns",
        "born_ns",
        "reads_per_s",
        "writes_per_s",
    ),
    *("room", "queued_behind", "gain_per_s", "waits_for_all", "ran_ns", "quantum_ns"),
)


QUANTUM_MS = Coroutine().quantum_ms


@cache
def library() -> ctypes.CDLL:
    return ctypes.CDLL(str(shared_library(Path(__file__).parent / "policies.c")))


def compiled(name: str) -> ctypes._CFuncPtr:
    return SCORE_PROTOTYPE((name, library()))


def run(graph: Graph, policy: object, threads: int = 1, tuples: int | None = 3000) -> Totals:
    engine = open_engine(graph, Coroutine(threads, policy), tuples=tuples)
    engine.start()
    until(engine, lambda sample: engine.finished())
    return engine.stop(drain=True, timeout_s=5.0)


def line(operators: int = 3) -> Graph:
    return build("pipeline", {"operators": operators, "cost": 1, "payload": 32}, 0)[0]


# -- preemption ------------------------------------------------------------------------------------


class Preempting:
    """A policy that decides preemption, and counts how often it is asked."""

    def __init__(self, answer):
        self.answer, self.seen = answer, []

    def score(self, ready):
        return 0

    def preempts(self, running):
        self.seen.append((running.name, running.ran_ns, running.quantum_ns))
        return self.answer


def test_a_python_policy_decides_when_one_that_runs_lets_others_run():
    policies = {answer: Preempting(answer) for answer in (True, False)}
    totals = {answer: run(line(), policy, tuples=2000) for answer, policy in policies.items()}
    for answer, policy in policies.items():
        assert totals[answer].correct and totals[answer].received == 2000
        assert {name for name, _, _ in policy.seen} == set(line().operators)
        assert all(ran_ns >= 0 for _, ran_ns, _ in policy.seen)
        assert {quantum_ns for _, _, quantum_ns in policy.seen} == {round(QUANTUM_MS * 1e6)}
    turns = {answer: each.scheduling["searches"] for answer, each in totals.items()}
    assert turns[True] >= len(policies[True].seen) > turns[False]


def test_a_compiled_policy_decides_preemption_as_part_of_a_library():
    path = shared_library(Path(__file__).parent / "policies.c")
    policy = find_policy(f"{path}:switches")
    assert policy.name.endswith(":switches") and policy.preempts is not None
    calls = ctypes.c_uint32.in_dll(ctypes.CDLL(str(path)), "switches_calls")
    before = calls.value
    totals = run(line(), f"{path}:switches", threads=2)
    assert totals.correct and calls.value > before
    assert totals.scheduling["searches"] >= calls.value - before


@pytest.mark.parametrize(
    ("preempts", "told"),
    [
        (lambda running: 1 / 0, "policy 'Preempting' raised ZeroDivisionError: division by zero"),
        ("always_fails", "policy 'Preempting' returned no score, or an error, for operator"),
    ],
)
def test_a_policy_that_fails_to_decide_ends_the_run_and_tells_why(preempts, told):
    policy = Preempting(False)
    policy.preempts = (
        PREEMPTS_PROTOTYPE((preempts, library())) if isinstance(preempts, str) else preempts
    )
    totals = run(line(), policy)
    assert told in totals.error and not totals.stuck and totals.checksum_ok


# -- what they see and how they are obeyed ---------------------------------------------------------


def test_a_python_policy_sees_all_operators_that_are_ready_and_what_each_has():
    seen: dict[str, list[dict[str, float]]] = {}

    def policy(ready):
        seen.setdefault(ready.name, []).append({name: getattr(ready, name) for name in FIELDS})
        return -1 if ready.source else ready.queued

    graph = line()
    totals = run(graph, policy)
    assert totals.correct and totals.drained and totals.received == 3000
    assert set(seen) <= set(graph.operators) and len(seen) > 1
    for name, looks in seen.items():
        place = list(graph.operators).index(name)
        assert {look["index"] for look in looks} == {place} and {
            look["source"] for look in looks
        } == {place == 0}
        assert all(look["batch"] >= 1 and 0.0 <= look["waits_for_all"] <= 1.0 for look in looks)
        assert [look["scheduled_ns"] for look in looks] == sorted(
            look["scheduled_ns"] for look in looks
        )
    later = [
        look
        for name, looks in seen.items()
        if name != "source"
        for look in looks
        if look["queued"] > 0
    ]
    assert later and all(0 < look["born_ns"] <= look["enqueued_ns"] for look in later)
    assert any(look["reads_per_s"] > 0 and look["gain_per_s"] > 0 for look in later)


def test_the_share_of_waits_for_all_ports_tells_a_barrier_from_what_takes_from_any():
    shares: dict[str, set[float]] = {}

    async def both(ctx):
        while await ctx.wait_all(1):
            await ctx.push(sum(port.pop() for port in ctx.inputs))

    def policy(ready):
        shares.setdefault(ready.name, set()).add(ready.waits_for_all)
        return ready.name == "both"  # so it waits before there are tuples

    graph = Graph("both")
    joined = graph.loop("both", both, inputs=2)
    for port in range(2):
        graph.connect(graph.source(f"source{port}"), joined.input(port))
    graph.connect(joined, work := graph.work("work"))
    graph.connect(work, graph.sink("sink"))
    assert run(graph, policy).correct
    assert shares["both"] <= {0.0, 1.0} and shares["work"] == {0.0}
    assert 1.0 in shares["both"]


def test_a_policy_sees_the_rates_of_each_port():
    rates: list[tuple[list[float], list[float]]] = []
    kept = []

    async def uneven(ctx):
        many, few = ctx.inputs
        while await ctx.wait_all({many: 3, few: 1}):
            total = few.pop() + sum(many.pop() for _ in range(3))
            await ctx.push(total, 0)
            await ctx.push(total, 0)
            await ctx.push(total, 1)

    def policy(ready):
        if ready.name == "uneven":
            kept.append(ready)
            rates.append(
                ([port.per_s for port in ready.inputs], [port.per_s for port in ready.outputs])
            )
            assert sum(port.queued for port in ready.inputs) == ready.queued
            assert min(port.room for port in ready.outputs) == ready.room
        return ready.queued

    graph = Graph("uneven")
    loop = graph.loop("uneven", uneven, inputs=2, outputs=2)
    for port in range(2):
        graph.connect(graph.source(f"source{port}"), loop.input(port))
        graph.connect(loop.output(port), graph.sink(f"sink{port}"))
    assert run(graph, policy).correct
    reads, writes = next(each for each in reversed(rates) if all(map(all, each)))
    assert reads[0] / reads[1] == pytest.approx(3, rel=0.2)
    assert writes[0] / writes[1] == pytest.approx(2, rel=0.2)
    assert all(ready.inputs == () for ready in kept), "ports are there during a call alone"


def test_a_compiled_policy_sees_each_port():
    assert run(line(), compiled("of_ports")).correct


@pytest.mark.parametrize("kind", ["python", "c"])
def test_the_highest_score_goes_on_first(kind):
    # of two operators that are ready all the time, one thread executes the one that the policy
    # prefers until its source ends
    order: list[str] = []

    def noting(name):
        async def loop(ctx):
            async for _ in ctx.input:
                order.append(name)

        return loop

    graph = Graph("two ways")
    for name in ("first", "second"):
        graph.connect(graph.source(f"source {name}"), graph.loop(name, noting(name), outputs=0))
    preferred = {"source second": 1, "second": 2}
    policy = (
        (lambda ready: preferred.get(ready.name, 0))
        if kind == "python"
        else compiled("later_operators_first")
    )
    assert run(graph, policy, tuples=500).correct
    assert order == ["second"] * 500 + ["first"] * 500


def test_compiled_policies_come_from_c_cython_and_numba_and_have_a_state():
    import numba

    calls = ctypes.c_uint64(0)
    assert run(line(), PolicyFunction.of(compiled("counts_its_calls"), calls), threads=2).correct
    assert calls.value > 0
    assert run(
        line(), cython_module("examples/policy.pyx").__pyx_capi__["long_queues"], threads=2
    ).correct

    @numba.cfunc("float64(voidptr, voidptr)")
    def the_same(ready, state):
        return 1.0

    assert run(line(), the_same, threads=2).correct


def test_a_python_policy_is_asked_by_several_threads_while_the_level_changes():
    engine = open_engine(line(6), Coroutine(3, lambda ready: ready.queued))
    engine.start()
    for level in (1, 3, 2, 3):
        until(engine, lambda sample: sample.sink_tuples > 0)
        engine.set_threads(level)
    totals = engine.stop(drain=True, timeout_s=10.0)
    assert totals.correct and totals.drained and totals.received > 0


# -- what is wrong ---------------------------------------------------------------------------------


def returns_nothing(ready):
    pass


def raises(ready):
    raise KeyError("no such thing")


def returns_nan(ready):
    return float("nan")


@pytest.mark.parametrize(
    ("policy", "told"),
    [
        (
            returns_nothing,
            r"policy 'returns_nothing' returned None for operator '\w+', which is not a number",
        ),
        (
            raises,
            r"policy 'raises' raised KeyError: 'no such thing' \(of operator '\w+', "
            r".*test_policies.py:\d+\)",
        ),
        (
            returns_nan,
            r"policy 'returns_nan' returned nan for operator '\w+', which is not a number",
        ),
        ("c", r"policy 'compiled' returned nan for operator '\w+', which is not a number"),
    ],
)
@pytest.mark.parametrize("threads", [1, 3])
def test_a_policy_without_a_score_ends_the_run_and_tells_which_with_the_account_exact(
    policy, told, threads
):
    totals = run(line(), compiled("no_number") if policy == "c" else policy, threads, tuples=None)
    assert not totals.correct and not totals.stuck
    assert re.fullmatch(told, totals.error), totals.error
    assert totals.sent == totals.received + totals.in_flight


def test_a_policy_that_does_not_return_is_named_by_the_stop():
    released, inside = threading.Event(), threading.Event()

    def policy(ready):
        if ready.name != "source":
            inside.set()
            released.wait(100)
        return ready.queued

    engine = open_engine(line(), Coroutine(2, policy))
    engine.start()
    assert inside.wait(60)
    totals = engine.stop(drain=False, timeout_s=0.0)
    released.set()
    assert not totals.correct and totals.stuck[0].endswith(" in policy 'policy'")


NEVER_RETURNS = """
import ctypes, sys, time
from harness.engine import open_engine
from harness.models import Coroutine
from harness.graph.functions.compiled import PolicyFunction
from harness.models.policy import SCORE_PROTOTYPE
from topologies import build
inside = ctypes.c_uint64(0)
policy = PolicyFunction.of(SCORE_PROTOTYPE(("never_returns", ctypes.CDLL(sys.argv[1]))), inside)
engine = open_engine(build("pipeline", {"operators": 3, "cost": 1, "payload": 32}, 0)[0], Coroutine(2, policy))
engine.start()
while not inside.value:
    time.sleep(0.001)
engine.set_replicas("work1", 2)
engine.set_threads(3)
engine.sample(0.05)
totals = engine.stop(drain=True, timeout_s=0.1)
print(totals.correct, *totals.stuck, sep="; ")
"""


def test_a_compiled_policy_that_never_returns_holds_its_threads_and_nothing_else():
    words = [
        sys.executable,
        "-c",
        NEVER_RETURNS,
        str(shared_library(Path(__file__).parent / "policies.c")),
    ]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    correct, *stuck = done.stdout.strip().split("; ")
    assert correct == "False" and stuck
    assert all(
        re.fullmatch(r"scheduler thread \d in policy 'compiled'", thread) for thread in stuck
    ), stuck


def test_a_policy_that_fails_in_the_middle_of_a_run_loses_nothing():
    failing = threading.Event()

    def policy(ready):
        if ready.name == "sink" and ready.queued > 10:
            failing.set()
            raise ValueError("enough")
        return ready.queued

    totals = run(line(), policy, threads=2, tuples=None)
    assert failing.is_set() and totals.error.startswith(
        "policy 'policy' raised ValueError: enough (of operator 'sink', "
    )
    assert totals.sent == totals.received + totals.in_flight > 0


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("longest", "policy must be one of random, "),
        ("policy.py:longest", "policy 'policy.py:longest': "),
        (
            "no_such_module:longest",
            "policy 'no_such_module:longest': module 'no_such_module' cannot be imported",
        ),
        ("no/such.so:longest", "policy 'no/such.so:longest': "),
        (
            SimpleNamespace(score=len, preempts=5),
            "policy 'SimpleNamespace': preempts must be a function, not 5",
        ),
        (7, "policy 'int': must be a function of a ready operator that returns its score, not 7"),
        (
            ctypes.CFUNCTYPE(ctypes.c_int32)(lambda: 1),
            "a native function must be 'double \\(const millrace_ready",
        ),
        (SCORE_PROTOTYPE(lambda ready, state: 1.0), "a policy must not be a callback into Python"),
    ],
)
def test_what_is_no_policy_is_refused_in_one_line(given, told):
    with pytest.raises(UserError, match=told) as refused:
        Coroutine(policy=given)
    assert "\n" not in str(refused.value)


def test_a_symbol_that_a_library_lacks_is_named():
    with pytest.raises(UserError, match="no_such_policy"):
        find_policy(f"{shared_library(Path(__file__).parent / 'policies.c')}:no_such_policy")


def test_the_simulator_refuses_users_policies_in_one_line():
    rule = (
        "policy 'returns_nan' is a user's own, and cannot be simulated: nobody knows what it costs"
    )
    with pytest.raises(UserError, match=rule):
        open_engine(line(), Coroutine(1, returns_nan), machine="xeon")


def test_an_experiment_sweeps_policies_that_all_have(tmp_path):
    text = Path("config/experiments/cstream_fig6.yaml").read_text()
    (file := tmp_path / "mine.yaml").write_text(
        text.replace("policy: [random,", "policy: ['my.py:longest',")
    )
    with pytest.raises(UserError, match=r"policy.*not a function of yours"):
        read_checked(file, experiment_schema())


# -- from the command line -------------------------------------------------------------------------


def millrace(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "harness", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.heavy
def test_the_command_line_takes_policies_from_files_and_records_tell_their_name(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(
        "def longest(ready):\n    return ready.queued\n\n\ndef nothing(ready):\n    pass\n"
    )
    library = shared_library(Path(__file__).parent / "policies.c")
    pipeline = ("run", "pipeline", "--set", "operators=3", "--tuples", "500", "--json", "-")
    common = (*pipeline, "--model", "coroutine", "--threads", "1")
    for policy in (f"{file}:longest", f"{library}:later_operators_first"):
        done = millrace(*common, "--policy", policy)
        assert done.returncode == 0, done.stderr
        record = json.loads(done.stdout)
        assert record["policy"] == policy and record["correct"]
        assert record["arm"] == f"coroutine-1-{Path(policy).name.replace(':', '-')}"
    failed = millrace(*common, "--policy", f"{file}:nothing")
    assert failed.returncode != 0 and "Traceback" not in failed.stderr
    assert f"policy '{file}:nothing' returned None for operator " in failed.stderr
    refused = millrace(*common, "--policy", f"{file}:other")
    assert (
        refused.returncode == 2
        and "has no 'other'" in refused.stderr
        and len(refused.stderr.splitlines()) == 1
    )
