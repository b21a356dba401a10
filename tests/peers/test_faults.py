"""A peer that hangs, crashes, loses tuples or prints garbage is a failed run with its reason, and
leaves no process behind.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

import harness.measurement.observe as observe
import harness.peers.engine as engine
import harness.peers.measure as measure
import harness.peers.program as program
from harness import __version__
from harness.measurement.process import run_in_fresh_process
from harness.measurement.records import validate_record
from harness.measurement.spec import run_of
from harness.peers import all_peers
from harness.peers.peer import Peer, Tool

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]

pytestmark = pytest.mark.heavy


PATIENCE = {
    "hang when asked": (engine, "ANSWER_S"),
    "hang when told to stop": (engine, "CUT_S"),
    "hang at the end": (program, "END_S"),
}
"""The limit that a fault runs into, so that it alone is short and no healthy answer is too late."""


def faulty(fault: str, **options: object) -> Peer:
    command = (sys.executable, "-P", str(HERE / "faulty.py"), fault)
    return Peer(
        name="faulty",
        title="",
        folder=HERE,
        command=command,
        version=(("echo", "1.0"), "(1.0)"),
        **options,
    )


def run(
    monkeypatch: pytest.MonkeyPatch,
    fault: str,
    tuples: int | None = 500,
    duration_s: float = 0.1,
    **options: object,
) -> dict:
    """The record of a short run of a pipeline in a peer with a fault."""
    monkeypatch.setattr(measure, "find_peer", lambda name: faulty(fault, **options))
    if fault in PATIENCE:
        monkeypatch.setattr(*PATIENCE[fault], 1.0)
    spec = run_of(
        "pipeline",
        {"operators": 3},
        "faulty",
        peer="faulty 1.0",
        tuples=tuples,
        duration_s=duration_s,
        warmup=0.0,
    )
    before = set(psutil.Process().children(recursive=True))
    record = measure.measure_peer(spec) | {"commit": None}
    validate_record(record)
    assert set(psutil.Process().children(recursive=True)) <= before, "a process was left behind"
    return record


def test_without_a_fault_the_run_is_correct(monkeypatch):
    record = run(monkeypatch, "none")
    assert record["correct"] and record["error"] is None and record["peer"] == "faulty 1.0"
    assert (record["tuples_sent"], record["tuples_received"], record["drained"]) == (500, 500, True)


@pytest.mark.parametrize("fault", ["none", "crash"])
def test_the_record_has_the_versions_of_what_runs_the_program(monkeypatch, fault):
    tools = (Tool("echo", "", runs=True, version=(("echo", "version 21"), r"(\d+)")),)
    record = run(monkeypatch, fault, tuples=None, tools=tools)
    assert record["host"]["versions"] == {"millrace": __version__, "echo": "21"}


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("lose", "tuples lost or doubled: operator 'sink' was sent 500 tuples and got 495"),
        ("double", "tuples lost or doubled: operator 'sink' was sent 500 tuples and got 505"),
        ("swap", "5 tuple(s) reached a sink after a later one"),
        ("harm", "the checksum at the sinks is not that of the tuples sent"),
        ("harm the end", "the checksum at the sinks is not that of the tuples sent"),
        ("replace", "the checksum at the sinks is not that of the tuples sent"),
    ],
)
def test_a_peer_that_harms_tuples_has_failed(monkeypatch, fault, words):
    record = run(monkeypatch, fault)
    assert not record["correct"]
    assert words in record["error"]


@pytest.mark.parametrize(
    ("ours", "theirs", "told"),
    [
        ([1.0], 2.9, ""),
        ([2.9], 1.0, ""),
        ([1.1, 1.0, 3.0, 1.1, 1.1], 3.4, "took 3.4 ns in the peer's program and 1 ns in ours"),
        ([1.0] * 5, 0.25, "took 0.25 ns in the peer's program and 1 ns in ours"),
        ([40.0, 41.0, 1.0], 1.0, ""),  # others had the CPU
        ([], None, "the peer's program did not measure the time"),
    ],
)
def test_a_program_whose_flop_is_no_flop_of_ours_is_told(monkeypatch, ours, theirs, told):
    times = iter(ours)
    monkeypatch.setattr("harness.runtime.engine.ns_per_flop", lambda: next(times))
    warning = measure.flop_warning(theirs)
    assert told in warning and bool(told) == bool(warning)
    assert list(times) == []


def test_the_record_of_such_a_run_is_unfit_but_not_of_an_interpreter(monkeypatch):
    """The program is one in Python, which takes ten times as long."""
    for interpreted in (False, True):
        host = run(monkeypatch, "none", interpreted=interpreted)["host"]
        warned = [each for each in host["host_warnings"] if "a floating-point operation" in each]
        assert len(warned) == (not interpreted)
        assert host["host_fit"] == (not host["host_warnings"])


def test_where_order_is_not_promised_it_is_reported_and_no_fault(monkeypatch):
    record = run(monkeypatch, "swap", ordered=False)
    assert record["correct"] and record["error"] is None
    assert (record["order_violations"], record["order_checked"]) == (5, False)


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("hang when asked", "peer faulty gave no answer 'sample' for 1 s"),
        ("crash", "peer faulty ended with exit code 7 (out of luck)"),
        ("die by a signal", "peer faulty was killed by signal 11"),
        ("garbage", "peer faulty answered no 'sample' but b'WARN something unexpected'"),
        ("no counts", "peer faulty: latency must be a list of counts, not 'None'"),
        ("too few counts", "peer faulty: executed must have 5 counts, not 4"),
        ("negative counts", "peer faulty: executed must be a list of counts, not '[-1"),
        ("counts that go back", "peer faulty: a counter went back"),
        ("a bucket too high", "peer faulty: latency must be in buckets below 592, not 592"),
        ("speak unasked", "peer faulty"),
        ("hang when told to stop", "peer faulty gave no answer 'totals' for 3 s"),
        ("hang at the end", "peer faulty did not end within 1 s of its totals"),
        ("fail at the end", "peer faulty ended with exit code 3"),
    ],
)
def test_a_peer_that_breaks_down_has_failed_within_its_time(monkeypatch, fault, words):
    began = time.monotonic()
    record = run(monkeypatch, fault, tuples=None)
    assert not record["correct"]
    assert words in record["error"]
    assert time.monotonic() - began < 90  # it would hang for 100 s


def test_a_peer_that_does_not_start_has_failed_within_its_time(monkeypatch):
    monkeypatch.setattr(engine, "START_S", 1.0)
    monkeypatch.setattr(measure, "find_peer", lambda name: faulty("hang at the start"))
    record = measure.measure_peer(
        run_of("pipeline", {"operators": 3}, "faulty", peer="faulty 1.0", tuples=5)
    )
    assert "peer faulty gave no answer 'ready' for 1 s" in record["error"]
    assert not [
        each
        for each in psutil.Process().children(recursive=True)
        if "faulty.py" in " ".join(_command(each))
    ]


@pytest.mark.parametrize("name", all_peers())
def test_a_peer_that_is_late_is_told_by_what_was_late_and_not_by_the_end_of_all_time(name):
    spec = run_of("pipeline", {}, name, peer=f"{name} 1.0", duration_s=0.25)
    starts_s = 2 * program.START_S + all_peers()[name].warmup_s + program.ANSWER_S
    ends_s = observe.STOP_S + engine.CUT_S + program.END_S
    measured_s = spec.warmup_limit_s + spec.duration_s
    assert spec.timeout_s > measured_s + starts_s + ends_s
    assert replace(spec, tuples=10).timeout_s is None


def test_what_a_peer_leaves_behind_in_a_session_of_its_own_is_ended(monkeypatch, tmp_path):
    monkeypatch.setenv("PID_FILE", str(tmp_path / "pid"))
    run(monkeypatch, "leave a process behind")
    assert not psutil.pid_exists(int((tmp_path / "pid").read_text()))


CHILD = """
import os, sys
import harness.measurement.child as child, harness.peers.measure as measure
sys.path.insert(0, {here!r})
from test_faults import faulty
measure.find_peer = lambda name: faulty({fault!r})
{harm}
os._exit(child.main(sys.argv[1:]))
"""


CRASH = """
import signal
from harness.peers.engine import PeerEngine
started = PeerEngine.start
PeerEngine.start = lambda self: (started(self), os.kill(os.getpid(), signal.SIGSEGV))
"""


@pytest.mark.parametrize(
    ("harm", "words"), [("", "killed after 5 s without an answer"), (CRASH, "killed by SIGSEGV")]
)
def test_neither_program_nor_files_outlive_the_measuring_process(
    harm, words, tmp_path, monkeypatch
):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    program_file = str(HERE / "faulty.py")  # that of another checkout is not ours
    code = CHILD.format(here=str(HERE), fault="hang when asked", harm=harm)
    spec = run_of("pipeline", {"operators": 3}, "faulty", peer="faulty 1.0", duration_s=0.1)
    record = run_in_fresh_process(spec, 5.0, command=[sys.executable, "-c", code])
    validate_record(record)
    assert words in record["error"] and record["peer"] == "faulty 1.0"
    deadline = time.monotonic() + 60
    while (
        any(program_file in _command(each) for each in psutil.process_iter())
        and time.monotonic() < deadline
    ):
        time.sleep(0.05)
    assert not [each for each in psutil.process_iter() if program_file in _command(each)]
    assert list(tmp_path.iterdir()) == []


def _command(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline() if process.uids().real == os.getuid() else []
    except psutil.Error:
        return []


def test_a_program_that_is_not_there_is_a_failed_run(monkeypatch):
    there_is_none = Peer("gone", "", HERE, ("/no/such/program",), (("echo", "1.0"), "(1.0)"))
    monkeypatch.setattr(measure, "find_peer", lambda name: there_is_none)
    record = measure.measure_peer(
        run_of("pipeline", {"operators": 3}, "gone", peer="gone 1.0", tuples=5)
    )
    assert (
        record["error"]
        == "peer gone ended with exit code 126 (/no/such/program: No such file or directory)"
    )
