"""`millrace run` as its users call it: processes, threads, the compiled engine."""

from __future__ import annotations

import json
import signal
import subprocess
import sys

import pytest

from harness.cli import main
from harness.measurement.lock import WAITING
from harness.measurement.records import validate_record
from tests.cli.processes import ROOT, environment, first_child, has_ended, millrace, started

# tests/runtime/test_invariants.py has every model with no tuple, one and many
RUNS = (
    ("--model manual", 0),
    ("--model dedicated", 1),
    ("--model dynamic --threads 2", 5000),
    ("--model coroutine --threads 2 --policy random --quantum 5", 5000),
)

pytestmark = pytest.mark.heavy


@pytest.fixture
def record_of(capsys):
    """The record of `run`, whose command line is of this process; its measuring process is new."""

    def run(*words):
        assert main(["run", *words, "--json", "-"]) == 0
        out, err = capsys.readouterr()
        # another process may be measuring: then the command says that it waits
        assert [line for line in err.splitlines() if WAITING not in line] == []
        record = json.loads(out)
        validate_record(record)
        return record

    return run


@pytest.mark.parametrize(("model", "tuples"), RUNS)
def test_exactly_so_many_tuples_arrive_under_every_model(model, tuples, record_of):
    words = ["pipeline", "--set", "operators=4", *model.split(), "--tuples", str(tuples)]
    record = record_of(*words)
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
def test_every_topology_runs_with_its_defaults(topology, record_of):
    record = record_of(topology, "--model", "dynamic", "--tuples", "300")
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
    for _ in range(10):  # others may have the CPUs for so short a run
        done = millrace(*words, "--json", "-", temp=tmp_path)
        assert (done.returncode, done.stderr) == (0, "")
        record = json.loads(done.stdout)
        validate_record(record)
        if record["sink_tuples_per_s"] > 0:
            break
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
    words = ["run", "pipeline", "--model", "dynamic", "--duration", "500"]
    with started(*words, temp=tmp_path) as run:
        measuring = first_child(run)
        run.send_signal(signal.SIGINT)
        out, err = run.communicate(timeout=100)
    assert (run.returncode, out, err) == (
        130,
        "",
        "millrace run: interrupted after 0 of 1 run(s)\n",
    )
    assert has_ended(measuring, within_s=100.0)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
@pytest.mark.usefixtures("signals_heeded")
def test_runs_that_are_finished_are_kept_whatever_ends_the_command(tmp_path, number):
    words = "run pipeline --set operators=2 --model manual --duration 0.1 --warmup 0 --repeats 200"
    with started(*words.split(), "--json", str(tmp_path / "runs.jsonl"), temp=tmp_path) as run:
        while (line := run.stdout.readline()) and not line.startswith("   2 "):
            pass
        run.send_signal(number)
        _, err = run.communicate(timeout=100)
    assert run.returncode == 128 + number
    assert err.endswith(" of 200 run(s)\n")
    assert len((tmp_path / "runs.jsonl").read_text().splitlines()) >= 2


def test_a_reader_that_goes_away_is_not_an_error_message(tmp_path):
    command = (
        f"'{sys.executable}' -m harness run pipeline --model manual --tuples 5 --repeats 3 "
        "--json - | head -n 1"
    )
    done = subprocess.run(
        command, shell=True, capture_output=True, text=True, cwd=ROOT, env=environment(tmp_path)
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
