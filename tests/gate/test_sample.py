"""A sample is a fresh process: its numbers, or why there are none, in one line; and nothing of it
is left running.
"""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from harness.gate import session
from harness.gate.cell import BENCHMARKS, COUNT, RECORD, USE, GateCell, Metric, Program
from harness.gate.instructions import Counter, counter
from harness.gate.notes import disturbances
from harness.gate.sample import ProcessSample, of_benchmarks, of_record, take
from harness.gate.tree import Tree
from harness.gate.verdict import Side
from harness.machines.host.cpu import CpuCounters
from harness.measurement.record.declaration import RECORD as RECORD_FIELDS
from tests.records import example

CELL = GateCell("one", Metric())
HOST = {"cpu_model": "a CPU"}


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    """An empty tree, with this interpreter."""
    return Tree(tmp_path, sys.executable, Side(".", None))


def run(
    tree: Tree, code: str, *words: str, cells: tuple[GateCell, ...] = (CELL,), **options: object
) -> ProcessSample:
    """A sample of a Python program."""
    (tree.directory / "program.py").write_text(code, encoding="utf-8")
    return take(tree, Program("program", ("{python}", "program.py", *words), cells, **options))


def test_last_line_of_the_output_is_the_answer(tree: Tree) -> None:
    record = {
        "ns_per_hop": 7,
        "elastic": {"period_s": 0.5},
        "correct": True,
        "error": None,
        "host": HOST,
    }
    cells = (CELL, GateCell("period", Metric("elastic.period_s")))
    sample = run(
        tree, f"print('warming up')\nprint({json.dumps(json.dumps(record))})\nprint()", cells=cells
    )
    assert sample.values == {"one": 7.0, "period": 0.5}
    assert (sample.wrong, sample.error, sample.missing) == (None, None, {})
    assert sample.host.items() >= HOST.items()
    assert sample.seconds > 0
    assert sample.started_at.endswith("+00:00")


def test_answer_may_be_a_file(tree: Tree) -> None:
    code = "import sys; open(sys.argv[1], 'w').write('{\"ns_per_hop\": 2}'); print('noise')"
    assert run(tree, code, "{answer}").values == {"one": 2.0}
    assert run(tree, "", "{answer}").error == "the answer file was not written"


def test_process_runs_in_the_tree_and_is_asked_on_stdin_with_the_number_of_the_pair(
    tree: Tree,
) -> None:
    code = (
        "import os, sys, json; assert os.path.exists('program.py')\n"
        "print(json.dumps({'ns_per_hop': json.load(sys.stdin)['n']}))"
    )
    (tree.directory / "program.py").write_text(code, encoding="utf-8")
    program = Program("program", ("{python}", "program.py"), (CELL,), stdin='{"n": 1{pair}}')
    assert take(tree, program, {}, 5).values == {"one": 15.0}


def test_environment_is_clean_and_the_same_for_both_sides(
    tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("PYTHONPATH", "GIT_DIR", "VIRTUAL_ENV", "MAKEFLAGS"):
        monkeypatch.setenv(name, "/elsewhere")
    monkeypatch.setenv("KEPT", "1")
    code = (
        "import json, os; e = os.environ\n"
        "bad = [n for n in ('PYTHONPATH', 'GIT_DIR', 'VIRTUAL_ENV', 'MAKEFLAGS') if n in e]\n"
        "assert not bad and e['KEPT'] == '1' and e['PYTHONHASHSEED'] == '0' and e['MORE'] == 'x', "
        "(bad, e.get('KEPT'))\n"
        "print(json.dumps({'ns_per_hop': 1}))"
    )
    (tree.directory / "program.py").write_text(code, encoding="utf-8")
    sample = take(tree, Program("program", ("{python}", "program.py"), (CELL,)), {"MORE": "x"})
    assert sample.error is None


def test_program_that_is_timed_answers_with_its_wall_time(tree: Tree) -> None:
    cell = GateCell("one", Metric("wall_s", "s"))
    sample = run(tree, "import time; time.sleep(0.2); print('hello')", cells=(cell,), answers=USE)
    assert 0.2 < sample.values["one"] < sample.seconds
    assert (
        run(tree, "print('no luck'); raise SystemExit(3)", cells=(cell,), answers=USE).error
        == "exit code 3 (no luck)"
    )


def test_program_that_is_timed_answers_what_all_that_it_starts_uses(tree: Tree) -> None:
    names = ("wall_s", "cpu_s", "user_s", "system_s", "peak_bytes")
    cells = tuple(GateCell(name, Metric(name)) for name in names)
    burn = "x = bytearray(60_000_000)\nimport time\nwhile time.process_time() < 0.3: pass\n"
    code = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {burn!r}])"
    values = run(tree, code, cells=cells, answers=USE).values
    assert 0.3 < values["cpu_s"] == pytest.approx(values["user_s"] + values["system_s"])
    assert 60e6 < values["peak_bytes"] < 600e6


def test_program_that_answers_numbers_has_those_of_its_process_too(tree: Tree) -> None:
    cells = (
        CELL,
        GateCell("cpu", Metric("process.cpu_s")),
        GateCell("mine", Metric("process.mine")),
    )
    code = "import json; print(json.dumps({'ns_per_hop': 7"
    sample = run(tree, f"{code}}}))", cells=cells)
    assert set(sample.values) == {"one", "cpu"}
    assert sample.absent == {"mine"}
    sample = run(tree, f"{code}, 'process': {{'mine': 3}}}}))", cells=cells)
    assert (sample.values["mine"], sample.absent) == (3.0, {"cpu"})


@pytest.mark.parametrize("kind", [USE, RECORD])
def test_host_that_others_keep_busy_is_told_of_any_program(
    tree: Tree, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """Others keep 1.5 CPUs busy, beside what the process itself uses."""
    readings = itertools.count()

    def now() -> CpuCounters:
        first = next(readings) == 0
        return CpuCounters(0.0 if first else 2.0, 0.0, 10.0 if first else 13.0, 0.0, 0)

    monkeypatch.setattr("harness.gate.sample.CpuCounters.now", now)
    cell = GateCell("one", Metric("wall_s" if kind == USE else "n"))
    sample = run(tree, "print('{\"n\": 1}')", cells=(cell,), answers=kind)
    assert 1.3 < sample.host["load_of_others"] < 1.5
    assert disturbances(sample.host) == ["load of other processes"]


needs_counter = pytest.mark.skipif(counter() is None, reason="needs counters of perf, or valgrind")


@needs_counter
@pytest.mark.heavy
def test_instructions_of_all_processes_are_counted(tree: Tree) -> None:
    cell = GateCell("one", Metric("instructions", "", deterministic=True))

    def count(loops: int) -> float:
        words = ("sh", "-c", f"n=0; while [ $n -lt {loops} ]; do n=$((n+1)); done")
        sample = take(tree, Program("sh", words, (cell,), COUNT))
        assert sample.error is None
        return sample.values["one"]

    few, many = count(100), count(5000)
    assert many > 1.5 * few
    assert count(100) == pytest.approx(few, rel=1e-3)


@pytest.mark.parametrize(
    ("name", "text", "count"),
    [
        ("perf", "# started\n\n12345,,instructions:u,1000,100.00,,\n", 12345),
        ("perf", "<not supported>,,instructions:u,0,100.00,,\n", 0),
        ("valgrind", "events: Ir \nfn=main\n1 5\nsummary: 678\n", 678),
    ],
)
def test_count_is_read_from_what_the_tool_has_written(
    tmp_path: Path, name: str, text: str, count: int
) -> None:
    for number in ("1", "2"):
        (tmp_path / f"instructions.{number}").write_text(text)
    assert Counter(name, 1.0).read(tmp_path) == 2 * count


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("import os; os.abort()", "killed by SIGABRT"),
        ("import sys; print('{\"ns_per_hop\": 1}'); sys.exit(3)", "exit code 3"),
        ("raise ValueError('too\\nbad')", "exit code 1 (bad)"),
        ("", "no output"),
        ("print('hello')", "no JSON but 'hello'"),
        ("print('[1]')", "no JSON object but '[1]'"),
        ("print('[' * 100000)", "no JSON but '[[["),
        ('print(\'{"error": "no luck\\\\nat all"}\')', "no luck"),
    ],
)
def test_process_without_an_answer_is_an_error_with_its_reason(
    tree: Tree, code: str, reason: str
) -> None:
    sample = run(tree, code)
    assert sample.error is not None
    assert sample.error.startswith(reason)
    assert "\n" not in sample.error
    assert not sample.values
    assert sample.wrong is None


def test_program_that_is_not_there_is_an_error(tree: Tree) -> None:
    sample = take(tree, Program("program", ("./none",), (CELL,)))
    assert sample.error == "./none could not be started: No such file or directory"
    sample = take(tree, Program("program", ("sh", "a\0b"), (CELL,)))
    assert sample.error == "sh could not be started: Invalid argument"


def is_running(pid: int) -> bool:
    """Not so for a zombie, which its parent may not have reaped yet."""
    try:
        return (
            Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()[0]
            != "Z"
        )
    except OSError:
        return False


@pytest.mark.parametrize("hangs", [True, False])
def test_whole_session_is_killed_at_the_end_or_when_time_is_up(tree: Tree, hangs: bool) -> None:
    code = (
        "import os, subprocess, sys, time\n"
        # a group of its own, in the same session
        "other = subprocess.Popen(['sleep', '600'], process_group=0)\n"
        "open('pid', 'w').write(str(other.pid))\n"
        + (
            "time.sleep(600)" if hangs else "print('{\"ns_per_hop\": 4}')"
        )  # it holds the output open, too
    )
    limits_s = (2, 20, 200) if hangs else (500,)
    for limit_s in limits_s:  # on a busy machine it may take long until it has begun
        before = time.monotonic()
        sample = run(tree, code, timeout_s=float(limit_s))
        assert time.monotonic() - before < 300  # it would sleep for 600 s
        if (tree.directory / "pid").exists():
            break
    assert sample.error == (f"killed after {limit_s} s without an answer" if hangs else None)
    assert sample.values == ({} if hangs else {"one": 4.0})
    assert not is_running(int((tree.directory / "pid").read_text(encoding="utf-8")))


LEAVES = """
import os, subprocess, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:  # no parent, no session, no group, and nothing in its environment that we know
        os.execve("/bin/sh", ["sh", "-c", "echo $$ > left.new; mv left.new left; exec sleep 600"], {})
    os._exit(0)
os.wait()
while not os.path.exists("left"):
    time.sleep(0.01)
"""


def left_behind(tree: Tree) -> int:
    return int((tree.directory / "left").read_text(encoding="utf-8"))


@pytest.mark.parametrize("how", ["ends", "fails", "hangs"])
def test_what_left_its_session_ends_with_the_process_that_started_it(tree: Tree, how: str) -> None:
    ending = {
        "ends": "print('{\"ns_per_hop\": 4}')",
        "fails": "os.abort()",
        "hangs": "time.sleep(600)",
    }[how]
    limits_s = (3.0, 30.0, 300.0) if how == "hangs" else (500.0,)
    for limit_s in limits_s:  # on a busy machine it may take long until it has begun
        sample = run(tree, LEAVES + ending, timeout_s=limit_s)
        if (tree.directory / "left").exists():
            break
    assert (sample.error is None) == (how == "ends")
    assert not is_running(left_behind(tree))
    again = run(tree, "print('{\"ns_per_hop\": 5}')")  # the next one is as good as any
    assert again.values == {"one": 5.0}


CALL = """
import sys
from pathlib import Path
from harness.gate.session import run_session
run_session([sys.executable, "program.py"], Path("."), {}, 600.0)
"""


@pytest.mark.heavy
@pytest.mark.usefixtures("signals_heeded")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_all_of_it_ends_with_a_call_that_is_killed(tree: Tree, number: int) -> None:
    (tree.directory / "program.py").write_text(LEAVES + "time.sleep(600)", encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2])}
    call = subprocess.Popen(
        [sys.executable, "-c", CALL], cwd=tree.directory, env=environment, stderr=subprocess.DEVNULL
    )
    try:
        while not (tree.directory / "left").exists():
            assert call.poll() is None
            time.sleep(0.01)
        call.send_signal(number)
        call.wait(100)
    finally:
        call.kill()
        call.wait()
    give_up_s = time.monotonic() + 100
    while is_running(left_behind(tree)) and time.monotonic() < give_up_s:
        time.sleep(0.01)
    assert not is_running(left_behind(tree))


def test_interruption_while_a_process_starts_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Already started, not yet known."""
    started: list[subprocess.Popen] = []

    class Interrupted(subprocess.Popen):
        def __init__(self, *words, **options) -> None:
            super().__init__(*words, **options)
            started.append(self)
            signal.raise_signal(signal.SIGTERM)

    def interrupt(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    session._end_idle()
    monkeypatch.setattr(session.subprocess, "Popen", Interrupted)
    usual = signal.signal(signal.SIGTERM, interrupt)
    try:
        with pytest.raises(KeyboardInterrupt):
            session.run_session(["sleep", "600"], tmp_path, os.environ, 500.0)
    finally:
        signal.signal(signal.SIGTERM, usual)
    assert started[0].wait(100) is not None  # its channel is closed


def test_supervisor_that_somebody_has_killed_is_replaced(tmp_path: Path) -> None:
    session.run_session(["true"], tmp_path, os.environ, 500.0)
    session._IDLE[-1].process.kill()
    session._IDLE[-1].process.wait()
    assert session.run_session(["sh", "-c", "exit 3"], tmp_path, os.environ, 500.0).code == 3


def test_process_can_be_run_from_any_thread(tmp_path: Path) -> None:
    """No handler can be set there: Ctrl-C reaches the main thread alone."""
    with ThreadPoolExecutor(1) as pool:
        assert (
            pool.submit(session.run_session, ["sh", "-c", "exit 3"], tmp_path, os.environ, 500.0)
            .result()
            .code
            == 3
        )


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        ({"ns_per_hop": 3, "correct": False, "error": "tuples lost"}, {"wrong": "tuples lost"}),
        (
            {"correct": False, "error": None},
            {"wrong": "the program says that its results are not correct"},
        ),
        (
            {"ns_per_hop": None, "correct": False, "error": "no memory\nat all"},
            {"error": "no memory"},
        ),
        ({"ns_per_hop": 3, "error": "bad"}, {"error": "bad"}),
    ],
)
def test_wrong_results_are_told_from_a_run_that_failed_before_it_had_any(
    record: dict, expected: dict
) -> None:
    assert of_record(record, (CELL,)) == {"host": {}, **expected}


@pytest.mark.parametrize("bad", [float("nan"), float("-inf"), [1.0, float("inf")]])
def test_what_no_file_can_hold_of_a_host_is_left_out(bad: object) -> None:
    assert (
        of_record({"ns_per_hop": 3, "host": {**HOST, "load_of_others": bad}}, (CELL,))["host"]
        == HOST
    )
    assert (
        of_benchmarks({"machine_info": {"cpu": {"brand_raw": "a CPU", "count": bad}}}, ())["host"]
        == HOST
    )


@pytest.mark.parametrize("value", [0, -1.5, float("nan"), float("inf"), True, "3", [1], 10**400])
def test_number_that_cannot_be_compared_is_missing(value: object) -> None:
    found = of_record({"ns_per_hop": value}, (CELL,))
    assert found["values"] == {}
    assert found["missing"]["one"].startswith("ns_per_hop must be a finite number above 0, not ")


def test_field_that_is_not_there_is_missing_and_others_are_not() -> None:
    cells = (CELL, GateCell("deep", Metric("a.b")), GateCell("deeper", Metric("ns_per_hop.b")))
    found = of_record({"ns_per_hop": 1, "a": None}, cells)
    assert found["values"] == {"one": 1.0}
    assert found["missing"] == {
        "deep": "the answer has no a.b",
        "deeper": "the answer has no ns_per_hop.b",
    }


def test_benchmark_that_was_not_run_is_missing() -> None:
    cells = tuple(
        GateCell(name, Metric("median", "s"), name) for name in ("t.py::a", "t.py::b", "t.py::c")
    )
    document = {
        "benchmarks": [
            {"fullname": "t.py::a", "stats": {"median": 0.5}},
            {"fullname": "t.py::c", "stats": {}},
            3,
        ]
    }
    found = of_benchmarks(document, cells)
    assert found["values"] == {"t.py::a": 0.5}
    assert found["missing"] == {
        "t.py::b": "there is no benchmark 't.py::b'",
        "t.py::c": "the answer has no median",
    }
    assert found["absent"] == {"t.py::b"}
    assert set(of_benchmarks({}, cells)["missing"]) == {cell.name for cell in cells}


def test_benchmark_whose_test_failed_is_missing_for_that_reason_but_known() -> None:
    cells = tuple(GateCell(name, Metric("median", "s"), name) for name in ("t.py::a", "t.py::b"))
    found = of_benchmarks(
        {"benchmarks": [{"fullname": "t.py::a", "stats": {"median": 0.5}}]},
        cells,
        {"t.py::a": "no\nluck"},
    )
    assert found["values"] == {}
    assert found["missing"] == {"t.py::a": "no", "t.py::b": "there is no benchmark 't.py::b'"}
    assert found["absent"] == {"t.py::b"}


@pytest.mark.heavy
def test_pytest_benchmark_is_run_and_read(tree: Tree) -> None:
    (tree.directory / "test_it.py").write_text(
        "def test_it(benchmark):\n    benchmark(sum, [1, 2])\n", encoding="utf-8"
    )
    from harness.gate.suite import PYTEST

    cells = tuple(
        GateCell(name, Metric("median", "s"), name)
        for name in ("test_it.py::test_it", "test_it.py::gone")
    )
    sample = take(tree, Program("b", (*PYTEST, "test_it.py"), cells, BENCHMARKS))
    assert (sample.error, set(sample.values)) == (None, {"test_it.py::test_it"})
    assert set(sample.missing) == {"test_it.py::gone"}
    failing = take(tree, Program("b", (*PYTEST, "none.py"), cells, BENCHMARKS))
    assert failing.error is not None
    assert failing.error.startswith("exit code 4 (ERROR: file or directory not found: none.py)")
    assert not list(tree.directory.glob("*.json"))


TESTS = """
import pytest
@pytest.mark.parametrize("n", ["a", "::b", "c[d]", "skip"])
def test_it(benchmark, n):
    if n == "skip":
        pytest.skip("not on this host")
    benchmark.pedantic(sum, ([1, 2],), rounds=2)
    assert n != "::b", "it is b"
class TestMore:
    @pytest.fixture
    def broken(self):
        raise ValueError("no luck")
    def test_broken(self, benchmark, broken):
        benchmark(sum, [1, 2])
"""


@pytest.mark.heavy
def test_benchmark_whose_test_fails_or_is_skipped_is_named_and_the_others_are_used(
    tree: Tree,
) -> None:
    from harness.gate.suite import PYTEST

    (tree.directory / "deep").mkdir()
    (tree.directory / "deep" / "test_it.py").write_text(TESTS, encoding="utf-8")
    (tree.directory / "pytest.ini").write_text("[pytest]\naddopts = -x\n", encoding="utf-8")
    own = (
        "test_it[a]",
        "test_it[::b]",
        "test_it[c[d]]",
        "test_it[skip]",
        "TestMore::test_broken",
        "test_gone",
    )
    cells = tuple(
        GateCell(f"deep/test_it.py::{name}", Metric("median", "s"), f"deep/test_it.py::{name}")
        for name in own
    )
    sample = take(tree, Program("b", (*PYTEST, "deep"), cells, BENCHMARKS))
    assert sample.error is None
    assert {name.partition("::")[2] for name in sample.values} == {"test_it[a]", "test_it[c[d]]"}
    assert {name.partition("::")[2]: reason for name, reason in sample.missing.items()} == {
        "test_it[::b]": "its test failed: AssertionError: it is b",
        "test_it[skip]": "its test was skipped: not on this host",
        "TestMore::test_broken": 'its test failed: failed on setup with "ValueError: no luck"',
        "test_gone": "there is no benchmark 'deep/test_it.py::test_gone'",
    }


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        ({"order_violations": 1}, "wrong"),
        ({"conservation": ["work7"]}, "wrong"),
        ({"checksum_ok": False, "tuples_received": 9}, "wrong"),
        ({"checksum_ok": False}, "error"),  # it failed before there was anything to check
        ({}, "error"),  # a simulation that came to its bound on events
    ],
)
def test_our_own_record_of_a_run_that_failed_is_wrong_only_if_tuples_were_harmed(
    found: dict, expected: str
) -> None:
    failed = {"checksum_ok": True, "ns_per_hop": 7.0, "correct": False, "error": "it failed"}
    of_one = of_record(example(RECORD_FIELDS, **failed | found), (CELL,))
    assert {key: value for key, value in of_one.items() if key != "host"} == {expected: "it failed"}


def test_our_own_record_that_is_not_correct_for_no_told_reason_is_wrong() -> None:
    record = example(RECORD_FIELDS, checksum_ok=True, ns_per_hop=7.0, correct=False)
    found = of_record(record, (CELL,))
    assert "wrong" in found
    assert "values" not in found


def test_reason_with_half_of_a_surrogate_pair_can_be_written(tree: Tree) -> None:
    error = run(tree, f"print({json.dumps(json.dumps({'error': chr(0xD800)}))})").error
    assert error is not None
    assert error.encode() == b"?"
