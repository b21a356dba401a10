"""`millrace run` as its users call it: processes, threads, the compiled engine."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from harness.measurement.records import validate_record

ROOT = Path(__file__).resolve().parents[2]
MODELS = (
    ["--model", "manual"],
    ["--model", "dedicated"],
    ["--model", "dynamic", "--threads", "2"],
    ["--model", "coroutine", "--threads", "2", "--policy", "random", "--quantum", "5"],
)

pytestmark = pytest.mark.heavy


def millrace(*words: str, temp: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "harness", *words],
        capture_output=True, text=True, cwd=ROOT, env=os.environ | {"MILLRACE_LOCK": str(temp / "millrace.lock")},
    )  # fmt: skip


@pytest.mark.parametrize("model", MODELS, ids=lambda words: words[1])
@pytest.mark.parametrize("tuples", [0, 1, 5000])
def test_exactly_so_many_tuples_arrive_under_every_model(model, tuples, tmp_path):
    done = millrace(
        "run",
        "pipeline",
        "--set",
        "operators=4",
        *model,
        "--tuples",
        str(tuples),
        "--json",
        "-",
        temp=tmp_path,
    )
    assert (done.returncode, done.stderr) == (0, "")
    record = json.loads(done.stdout)
    validate_record(record)
    assert (record["policy"], record["quantum_ms"]) == (
        ("random", 5.0) if "coroutine" in model else (None, None)
    )
    assert (record["tuples_sent"], record["tuples_received"], record["tuples_in_flight"]) == (
        tuples,
        tuples,
        0,
    )
    assert record["correct"] and record["settled"] and record["drained"]
    assert (record["sink_tuples_per_s"] or 0) > 0 or tuples == 0


@pytest.mark.parametrize("topology", ["pipeline", "data-parallel", "mix", "bushy"])
def test_every_topology_runs_with_its_defaults(topology, tmp_path):
    done = millrace(
        "run", topology, "--model", "dynamic", "--tuples", "300", "--json", "-", temp=tmp_path
    )
    assert (done.returncode, done.stderr) == (0, "")
    record = json.loads(done.stdout)
    validate_record(record)
    assert record["correct"] and record["tuples_sent"] == 300 and record["tuples_received"] > 0


def test_a_timed_run_has_rates_samples_and_a_host(tmp_path):
    words = [
        "run",
        "pipeline",
        "--set",
        "operators=2",
        "--model",
        "manual",
        "--duration",
        "0.2",
        "--warmup",
        "0.1",
    ]
    done = millrace(*words, "--json", "-", temp=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    record = json.loads(done.stdout)
    validate_record(record)
    assert (
        record["sink_tuples_per_s"] > 0
        and record["submitted_tuples_per_s"] > record["sink_tuples_per_s"]
    )
    assert 1 <= len(record["samples"]) <= 4
    assert record["host"]["compiler"] != "unknown" and record["host"]["ns_per_flop"] > 0


def test_the_table_is_short(tmp_path):
    done = millrace(
        "run", "pipeline", "--model", "manual", "--tuples", "100", "--repeats", "2", temp=tmp_path
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert len(done.stdout.splitlines()) <= 12
    assert "range: " in done.stdout


@pytest.mark.usefixtures("signals_heeded")
def test_ctrl_c_ends_at_once_with_one_line_and_no_orphan(tmp_path):
    command = [
        sys.executable,
        "-m",
        "harness",
        "run",
        "pipeline",
        "--model",
        "dynamic",
        "--duration",
        "500",
    ]
    environment = os.environ | {"MILLRACE_LOCK": str(tmp_path / "millrace.lock")}
    run = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env=environment,
    )
    try:
        measuring = first_child(run)
        run.send_signal(signal.SIGINT)
        out, err = run.communicate(timeout=20)
    finally:
        run.kill()
        run.wait()
    assert (run.returncode, out, err) == (
        130,
        "",
        "millrace run: interrupted after 0 of 1 run(s)\n",
    )
    assert has_ended(measuring, within_s=10.0)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
@pytest.mark.usefixtures("signals_heeded")
def test_runs_that_are_finished_are_kept_whatever_ends_the_command(tmp_path, number):
    command = [
        sys.executable,
        "-m",
        "harness",
        "run",
        "pipeline",
        "--set",
        "operators=2",
        "--model",
        "manual",
    ]
    command += [
        "--duration",
        "0.1",
        "--warmup",
        "0",
        "--repeats",
        "200",
        "--json",
        str(tmp_path / "runs.jsonl"),
    ]
    environment = os.environ | {"MILLRACE_LOCK": str(tmp_path / "millrace.lock")}
    run = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env=environment,
    )
    try:
        while (line := run.stdout.readline()) and not line.startswith("   2 "):
            pass
        run.send_signal(number)
        _, err = run.communicate(timeout=20)
    finally:
        run.kill()
        run.wait()
    assert run.returncode == 130
    assert err.endswith(" of 200 run(s)\n")
    assert len((tmp_path / "runs.jsonl").read_text().splitlines()) >= 2


def has_ended(process: psutil.Process, within_s: float) -> bool:
    """Or is a zombie. One that was still starting when its parent ended notices as soon as it has
    started.
    """
    give_up_s = time.monotonic() + within_s
    with suppress(psutil.NoSuchProcess):
        while process.is_running() and process.status() != psutil.STATUS_ZOMBIE:
            if time.monotonic() > give_up_s:
                return False
            time.sleep(0.05)
    return True


def first_child(run: subprocess.Popen) -> psutil.Process:
    """The measuring process, once it is there."""
    end = time.monotonic() + 20
    while time.monotonic() < end and run.poll() is None:
        for child in psutil.Process(run.pid).children():
            if "harness.measurement.child" in child.cmdline():
                return child
        time.sleep(0.02)
    raise AssertionError("no measuring process was started")


def test_a_reader_that_goes_away_is_not_an_error_message(tmp_path):
    command = (
        f"'{sys.executable}' -m harness run pipeline --model manual --tuples 5 --repeats 3 "
        "--json - | head -n 1"
    )
    environment = os.environ | {"MILLRACE_LOCK": str(tmp_path / "millrace.lock")}
    done = subprocess.run(
        command, shell=True, capture_output=True, text=True, cwd=ROOT, env=environment
    )
    assert json.loads(done.stdout)["repeat"] == 0
    assert done.stderr == ""


FINITE = """
from harness.graph import Graph
from harness.graph.schema import Schema

LINE = Schema("line", {"number": "int64"})

def graph():
    made = Graph("finite")
    source = made.typed_source("source", lambda: ((0, {"number": number}) for number in range(300)), LINE)
    made.connect(source, made.typed_sink("sink", lambda port, line: None, LINE))
    return made
"""


@pytest.mark.parametrize("law", [[], ["--elastic"]], ids=["fixed", "elastic"])
def test_a_graph_of_a_users_own_that_ends_is_a_success(tmp_path, law):
    path = tmp_path / "finite.py"
    path.write_text(FINITE)
    done = millrace(
        *("run", f"{path}:graph", "--model", "dynamic", *law),
        *("--json", str(tmp_path / "record.json")),
        temp=tmp_path,
    )
    record = json.loads((tmp_path / "record.json").read_text())
    validate_record(record)
    assert (done.returncode, record["error"], record["ended"], record["correct"]) == (
        0,
        None,
        True,
        True,
    )
    assert record["tuples_received"] == 300 and record["sink_tuples_per_s"] > 0
