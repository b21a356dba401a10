"""`millrace run --machine NAME`: what it asks for, and what it refuses in one line."""

from __future__ import annotations

import pytest

from harness.cli import main
from harness.measurement import block
from harness.measurement.spec import Run
from tests.described import describe
from tests.records import record_of


@pytest.fixture(autouse=True)
def machines(monkeypatch):
    describe(monkeypatch)


@pytest.fixture
def runs(monkeypatch, tmp_path) -> list[Run]:
    """The runs that were asked for; none is really made."""
    asked: list[Run] = []

    def answer(spec, announce):
        asked.append(spec)
        return record_of(spec, threads_total=3, sink_tuples_per_s=1000.0)

    monkeypatch.setattr(block, "run_in_fresh_process", answer)
    monkeypatch.setattr(block, "run_once", answer)
    monkeypatch.setenv("MILLRACE_LOCK", str(tmp_path / "lock"))
    return asked


def only(runs: list[Run], line: str) -> Run:
    assert main(["run", "pipeline", *line.split()]) == 0
    (spec,) = runs
    return spec


def test_a_described_machine_is_simulated_in_short_virtual_time_with_a_thread_for_each_of_its_cpus(
    runs,
):
    spec = only(runs, "--model dynamic --machine xeon")
    assert (spec.place.machine, spec.simulated, spec.place.software, spec.constants) == (
        "xeon",
        True,
        "millrace",
        {},
    )
    assert (spec.model.threads, spec.arm, spec.duration_s, spec.period_s) == (
        176,
        "dynamic-176",
        0.02,
        0.002,
    )


def test_every_option_of_a_place_reaches_the_run(runs):
    line = "--model dynamic --elastic --machine local --simulated --software streams-4.2"
    spec = only(runs, line + " --set-constant atomic.fence=4.5 --duration 0.0001 --period 0.00001")
    assert (spec.place.machine, spec.simulated, spec.place.software) == (
        "local",
        True,
        "streams-4.2",
    )
    assert (spec.constants, spec.duration_s, spec.period_s) == (
        {"atomic.fence": 4.5},
        0.0001,
        0.00001,
    )


def test_a_run_may_use_some_cpus_of_a_machine_only(runs):
    spec = only(runs, "--model dynamic --machine xeon --cpus 16")
    assert (spec.place.machine, spec.simulated, spec.model.threads) == ("xeon:16", True, 16)


@pytest.mark.parametrize("start", [None, 100])
def test_a_law_may_use_every_cpu_of_the_simulated_machine(runs, start):
    spec = only(
        runs,
        "--model dynamic --machine power8 --elastic" + (f" --threads {start}" if start else ""),
    )
    assert (spec.model.threads, spec.model.maximum) == (start, 184)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (
            "--model manual --machine xeno",
            "machine 'xeno' is unknown (did you mean 'xeon'?); machines are: local, xeon, power8",
        ),
        (
            "--model dynamic --threads 200 --machine xeon",
            "threads must be at most 176, the CPUs of machine 'xeon', not 200",
        ),
        (
            "--model dynamic --elastic --max-threads 200 --machine xeon",
            "maximum must be at most 176, the CPUs of machine 'xeon', not 200",
        ),
        (
            "--model dynamic --elastic --threads 200 --machine xeon",
            "threads must be at most 176, the CPUs of machine 'xeon', not 200",
        ),
        (
            "--model manual --cpus 1",
            "cpus applies to simulated machines only, not to real threads, which taskset "
            "restricts: 1",
        ),
        ("--model manual --machine xeon --cpus 178", "cpus must be from 1 to 176, not 178"),
        ("--model manual --machine xeon --cpus 177", "cpus must be from 1 to 176, not 177"),
        (
            "--model dynamic --threads 17 --machine xeon:16",
            "threads must be at most 16, the CPUs of machine 'xeon:16', not 17",
        ),
        ("--model manual --machine xeon --software stream", "software 'stream' is unknown"),
        (
            "--model manual --software millrace",
            "software applies to simulated machines only, not to real threads: 'millrace'",
        ),
        (
            "--model manual --set-constant atomic.fence=1",
            "constants apply to simulated machines only, not to real threads: atomic.fence",
        ),
        (
            "--model manual --machine xeon --set-constant atomic.fence=x",
            "--set-constant atomic.fence must be a number, not 'x'",
        ),
        (
            "--model manual --machine xeon --set-constant atomic.fence",
            "--set-constant takes NAME=VALUE, not 'atomic.fence'",
        ),
        (
            "--model manual --machine xeon --set-constant a.b=1",
            "machine 'xeon' has no constant 'a.b'",
        ),
        (
            "--model manual --machine xeon --duration 0",
            "--duration: must be from 1e-06 to 86400 seconds, not '0'",
        ),
        (
            "--model manual --duration 0.001",
            "--duration: must be from 0.01 to 86400 seconds, not '0.001'",
        ),
        (
            "--model dynamic --elastic --period 0.01",
            "--period: must be from 0.1 to 86400 seconds, not '0.01'",
        ),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(runs, capsys, line, told):
    assert main(["run", "pipeline", *line.split()]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert told in error
    assert not runs


def test_many_threads_of_a_real_machine_are_nobodys_affair_but_the_users(runs):
    assert only(runs, "--model dynamic --threads 300").model.threads == 300


def test_the_report_says_that_it_is_simulated_on_what_and_at_what_price(runs, capsys):
    line = (
        "run pipeline --model manual --machine xeon --software streams-4.2 --set-constant "
        "atomic.fence=4.5"
    )
    assert main([*line.split(), "--repeats", "2"]) == 0
    told = capsys.readouterr().out.splitlines()
    assert (
        "SIMULATED on xeon with the costs of streams-4.2, atomic.fence 4.5, in virtual time" in told
    )
    assert "simulated 0 events in 0.0 s" in told
