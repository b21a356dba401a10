"""`millrace laws bench --multilevel`: what is run, printed and written."""

from __future__ import annotations

import json

import pandas as pd
import pytest

from harness.bench import side_by_side
from harness.bench.bench import Row
from harness.bench.queues import simulated
from harness.cli import main

LAWS = ("--law", "manual", "--law", "dynamic")


@pytest.fixture(autouse=True)
def _here(monkeypatch):
    """In this process: the tests of the bench itself start others."""
    monkeypatch.setattr(side_by_side, "allowed_cpus", lambda: 1)


def refusal(capsys, *words):
    assert main(["laws", "bench", *words]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1
    return err


def test_some_scenarios_of_the_library(capsys):
    assert main(["laws", "bench", "--multilevel", "--every", "600", *LAWS]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert "\n| manual " in out and "\n| dynamic " in out and "| millrace" not in out


def test_results_in_all_forms(capsys, tmp_path):
    report, table, document = tmp_path / "r.md", tmp_path / "t.parquet", tmp_path / "d.json"
    words = ["--report", str(report), "--table", str(table), "--json", str(document)]
    assert main(["laws", "bench", "--multilevel", "--every", "600", *LAWS, *words]) == 0
    assert capsys.readouterr().out.rstrip() == report.read_text().rstrip()
    rows = json.loads(document.read_text())["results"]
    assert [row["law"] for row in rows] == ["manual", "dynamic"] * (len(rows) // 2)
    assert all(len(row["counts"]) == row["periods"] for row in rows)
    assert list(pd.read_parquet(table)["scenario"]) == [row["scenario"] for row in rows]


def test_json_can_go_to_stdout_alone(capsys):
    assert main(["laws", "bench", "--multilevel", "--every", "600", *LAWS, "--json", "-"]) == 0
    out, err = capsys.readouterr()
    assert err == "" and len(json.loads(out)["results"]) == 4


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (
            ("--multilevel", "--law", "magic"),
            "law 'magic' is not on the bench of placements; there are: manual, dedicated",
        ),
        (("--simulator", "3"), "--simulator is for --multilevel only, not '3'"),
        (
            ("--multilevel", "--scenarios", "mine.yaml"),
            "--scenarios are curves for laws of threads: not with --multilevel",
        ),
        (
            ("--replicas", "--scenarios", "mine.yaml"),
            "--scenarios are curves for laws of threads: not with --replicas",
        ),
        (
            ("--multilevel", "--simulator", "2", "--every", "600"),
            "with at most 150 operators and 16 CPUs: of the 2 with --every 600 there is none",
        ),
    ],
)
def test_mistakes_are_told(capsys, words, told):
    assert told in refusal(capsys, *words)


def test_where_fewer_scenarios_fit_the_simulator_than_asked_for_that_is_told(capsys, monkeypatch):
    asked = []

    def rows_of(laws, scenario):
        asked.append(scenario)
        facts = {
            "scenario": scenario.name,
            "maximum": 4,
            "periods": 1,
            "seed": 1,
            "levels": (1,),
            "simulated": True,
        }
        score = {"accuracy": 1.0, "settling": 0.0, "overshoot": 1.0, "changes": 0.0, "regret": 0.0}
        places = {
            "best_throughput": 1.0,
            "best_threads": 1,
            "settled_threads": 1.0,
            "phases": ((1.0, 1.0),),
        }
        return [Row(bench="queues", law=law, **facts, **score, **places) for law in laws]

    monkeypatch.setattr(simulated, "rows_of", rows_of)
    assert main(["laws", "bench", "--multilevel", "--every", "60", "--simulator", "50"]) == 0
    out, err = capsys.readouterr()
    assert 0 < len(asked) < 14
    assert err.startswith(
        f"millrace laws: --simulator: only {len(asked)} of 14 scenarios are without noise"
    )
    assert err.endswith(", not 50\n")
    assert "All throughputs are simulated" in out and "surfaces, not of runs" not in out


@pytest.mark.slow
def test_scenarios_on_the_simulator(capsys):
    assert (
        main(
            [
                "laws",
                "bench",
                "--multilevel",
                "--simulator",
                "1",
                "--jobs",
                "1",
                "--law",
                "manual",
                "--law",
                "hand-placed",
            ]
        )
        == 0
    )
    told = capsys.readouterr().out
    assert (
        told.startswith("**noise up to 5 %** (1 scenario, simulated)\n")
        and told.count("**noise") == 1
    )
    assert "\n| hand-placed " in told
    words = " ".join(told.split())
    assert "All throughputs are simulated. Noise is" in words and "There is no oracle" in words
    assert "surfaces, not of runs" not in told
