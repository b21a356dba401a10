"""`millrace validate`: what it runs, prints, writes and refuses. No run is really made."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from harness.cli import main, validate
from harness.errors import UserError
from harness.measurement.records import read_records
from harness.validation import session, state
from tests.described import describe
from tests.terminal.screen import seen
from tests.validation.made_runs import record_of

ONE_CELL = ["--cells", "topology=pipeline,cost=1,payload=128"]
RATES = {"manual": 4e6, "dedicated": 1e6, "dynamic-1": 2e6, "dynamic-2": 3e6}
RATES |= {"coroutine-2": 5e6, "coroutine-2-random": 6e6, "coroutine-2-replicas-2": 7e6}


class Runs:
    """Stands in for fresh processes: measures `RATES`, predicts them times `factor`, and fails or
    stops where the test says so.
    """

    def __init__(self) -> None:
        self.specs = []
        self.factor = {}
        self.interrupt_at = None
        self.fail_at = None
        self.fail_predictions = False

    @property
    def measured(self):
        return [(spec.cell, spec.arm, spec.repeat) for spec in self.specs if not spec.simulated]

    @property
    def predicted(self):
        return [(spec.cell, spec.arm, spec.repeat) for spec in self.specs if spec.simulated]

    def __call__(self, spec, announce):
        if self.interrupt_at == len(self.specs):
            raise KeyboardInterrupt
        announce("measuring")
        self.specs.append(spec)
        is_bad = self.fail_at == len(self.specs) or (self.fail_predictions and spec.simulated)
        changes = {"error": "no memory", "correct": False} if is_bad else {}
        factor = self.factor.get(spec.arm, 1.0) if spec.simulated else 1.0 + 0.01 * spec.repeat
        return record_of(spec, RATES[spec.arm] * factor, **changes)


@pytest.fixture
def runs(monkeypatch, tmp_path):
    describe(monkeypatch)
    fake = Runs()
    monkeypatch.setattr(session, "run_in_fresh_process", fake)
    monkeypatch.setattr(state, "shared_cache", lambda sizes: 90_000_000.0)
    monkeypatch.setenv("MILLRACE_LOCK", str(tmp_path / "lock"))
    (tmp_path / "results").mkdir()
    monkeypatch.chdir(tmp_path)
    return fake


def test_by_default_all_cases_are_measured_and_predicted_three_times(runs, capsys):
    assert main(["validate"]) == 0
    assert len(runs.measured) == len(set(runs.measured)) == 444
    assert len(runs.predicted[1:]) == len(set(runs.predicted)) == 444  # the first one is a trial
    table = pd.read_parquet("results/validation.parquet")
    assert len(table) == 148 and set(table["runs"]) == {3}
    assert len(read_records("results/validation.measured.jsonl")[0]) == 444
    assert len(read_records("results/validation.predicted.jsonl")[0]) == 444
    assert capsys.readouterr().out.endswith("All targets are met.\n")


def test_predictions_come_last_and_go_by_what_the_shared_cache_held_meanwhile(runs, capsys):
    """But for one, so that a bad profile is seen before anything is measured."""
    assert main(["validate", *ONE_CELL]) == 0
    assert [spec.simulated for spec in runs.specs] == [True] + [False] * 12 + [True] * 12
    assert [spec.constants for spec in runs.specs] == [{}] * 13 + [{"cache.l3": 90_000_000.0}] * 12
    told = (
        "in virtual time, with cache.l3 90,000,000, the median of what was measured between "
        "the runs."
    )
    assert told in capsys.readouterr().out


def test_options_reach_the_runs(runs):
    assert (
        main(
            [
                "validate",
                *ONE_CELL,
                "--repeats",
                "2",
                "--duration",
                "0.5",
                "--seed",
                "9",
                "--output",
                "mine.parquet",
            ]
        )
        == 0
    )
    assert {spec.duration_s for spec in runs.specs if not spec.simulated} == {0.5}
    assert len(runs.measured) == 8
    assert len(read_records("mine.measured.jsonl")[0]) == 8


def test_report_table_and_figure_are_written(runs, capsys):
    runs.factor = {"dedicated": 1.2}
    assert main(["validate", *ONE_CELL, "--report", "report.md", "--figure", "figure.svg"]) == 0
    out = capsys.readouterr().out
    assert Path("report.md").read_text(encoding="utf-8") == out
    assert "| pipeline | 1    | 128     | dedicated |" in out
    assert b"<svg" in Path("figure.svg").read_bytes()
    table = pd.read_parquet("results/validation.parquet").set_index("arm")
    assert table.loc["dedicated", "error"] == pytest.approx(1.2 / 1.01 - 1)
    assert table.loc["dynamic-2", ["model", "threads", "cpu_model"]].tolist() == [
        "dynamic",
        2,
        "Invented CPU @ 1 GHz",
    ]


def test_a_missed_target_is_exit_code_1_only_if_strict(runs, capsys):
    runs.factor = {"dedicated": 3.0}
    assert main(["validate", *ONE_CELL]) == 0
    assert main(["validate", *ONE_CELL, "--strict"]) == 1
    assert "Not all targets are met." in capsys.readouterr().out
    runs.factor = {}
    assert main(["validate", *ONE_CELL, "--strict"]) == 0


def test_an_interrupted_session_goes_on_where_it_was(runs, capsys):
    runs.interrupt_at = 1 + 5
    assert main(["validate", *ONE_CELL]) == 130
    first = runs.measured
    assert len(first) == 5 and len(read_records("results/validation.measured.jsonl")[0]) == 5
    runs.specs, runs.interrupt_at = [], None
    capsys.readouterr()
    assert main(["validate", *ONE_CELL, "--resume"]) == 0
    assert len(runs.predicted) == 1 + 12  # anew: the profile may be another one
    assert len(runs.measured) == 7 and not set(runs.measured) & set(first)
    assert len(read_records("results/validation.measured.jsonl")[0]) == 12
    assert "millrace validate: 5 of 12 measured runs are there already" in capsys.readouterr().err
    runs.specs = []
    assert main(["validate", *ONE_CELL, "--resume"]) == 0
    assert runs.measured == []


def test_resume_with_nothing_there_measures_everything(runs):
    assert main(["validate", *ONE_CELL, "--resume"]) == 0
    assert len(runs.measured) == 12


def test_resuming_with_other_cells_keeps_those_of_before(runs):
    assert main(["validate", *ONE_CELL, "--repeats", "1"]) == 0
    assert (
        main(
            ["validate", "--cells", "topology=mix,cost=1,payload=128", "--repeats", "1", "--resume"]
        )
        == 0
    )
    assert (
        len(runs.measured) == 8 and len(read_records("results/validation.measured.jsonl")[0]) == 8
    )
    assert len(pd.read_parquet("results/validation.parquet")) == 4


def test_without_resume_everything_is_measured_anew(runs, capsys):
    assert main(["validate", *ONE_CELL, "--repeats", "1"]) == 0
    assert "replaced" not in capsys.readouterr().err
    assert main(["validate", *ONE_CELL, "--repeats", "1"]) == 0
    told = (
        "what was measured before, results/validation.measured.jsonl, will be replaced; "
        "--resume would keep it"
    )
    assert told in capsys.readouterr().err
    assert (
        len(runs.measured) == 8 and len(read_records("results/validation.measured.jsonl")[0]) == 4
    )


def test_measured_runs_of_another_session_are_compared_and_left_as_they_are(runs, capsys):
    assert main(["validate", *ONE_CELL]) == 0
    before = Path("results/validation.measured.jsonl").read_bytes()
    runs.specs, runs.factor = [], {"manual": 1.1}
    assert main(["validate", *ONE_CELL, "--measured", "results/validation.measured.jsonl"]) == 0
    assert (runs.measured, len(runs.predicted)) == ([], 12)
    assert Path("results/validation.measured.jsonl").read_bytes() == before
    assert "+8.9%" in capsys.readouterr().out


def test_only_predicted_has_nothing_to_compare_with_and_keeps_what_was_measured(runs, capsys):
    log = Path("results/validation.measured.jsonl")
    log.write_text("mine\n", encoding="utf-8")
    assert main(["validate", *ONE_CELL, "--only-predicted"]) == 0
    assert runs.measured == [] and log.read_text(encoding="utf-8") == "mine\n"
    assert capsys.readouterr().out.endswith("there is nothing to judge.\n")
    assert main(["validate", *ONE_CELL, "--only-predicted", "--strict"]) == 1


def test_a_failed_run_is_told_at_once_and_does_not_end_the_session(runs, capsys):
    runs.fail_at = 1 + 2
    assert main(["validate", *ONE_CELL]) == 0
    out, err = capsys.readouterr()
    assert len(runs.specs) == 1 + 24
    assert ": run failed: no memory\n" in err and "1 of 3 failed" in out


def test_if_nothing_can_be_predicted_nothing_is_measured(runs, capsys):
    runs.fail_predictions = True
    assert main(["validate", *ONE_CELL]) == 1
    told = "millrace validate: pipeline, cost 1, payload 128, manual cannot be predicted: no memory"
    assert capsys.readouterr().err.splitlines()[-1] == told
    assert (runs.measured, len(runs.predicted)) == ([], 1)
    assert main(["validate", *ONE_CELL, "--only-predicted"]) == 1
    assert (
        capsys.readouterr().err.splitlines()[-1]
        == "millrace validate: no case could be predicted: no memory"
    )


def test_a_failed_prediction_is_a_missed_target(runs, capsys):
    runs.fail_at = 1 + 12 + 1
    assert main(["validate", *ONE_CELL, "--strict"]) == 1
    assert "no prediction: no memory" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--cells", "cost=7"], "--cells: cost must be one of 1, 100, 10000, not '7'"),
        (
            ["--cells", "shape=mix"],
            "--cells takes NAME=VALUE with NAME one of topology, cost, payload, model, not "
            "'shape=mix'",
        ),
        (["--measured", "none.jsonl"], "none.jsonl: cannot be read: No such file or directory"),
        (
            ["--measured", "bad.jsonl"],
            "--measured: line 1 of bad.jsonl holds no record: not JSON: ",
        ),
        (
            ["--measured", "empty.jsonl"],
            "--measured: empty.jsonl holds no measured run of the cases asked for",
        ),
        (
            ["--resume", "--output", "bad.parquet"],
            "--resume: line 1 of bad.measured.jsonl holds no record: not JSON: ",
        ),
        (
            ["--resume", "--measured", "empty.jsonl"],
            "--resume goes on measuring, and with --measured nothing is measured",
        ),
        (
            ["--resume", "--only-predicted"],
            "--resume goes on measuring, and with --only-predicted nothing is measured",
        ),
        (
            ["--figure", "x.gif"],
            "--figure must name a file ending in .png, .svg, .pdf, not 'x.gif'",
        ),
        (["--output", "no/where.parquet"], "--output 'no/where.parquet': there is no directory "),
        (["--report", "results"], "--report must name a file, not the directory 'results'"),
        (["--repeats", "0"], "argument --repeats: must be a whole number from 1 to 1000, not '0'"),
        (["--duration", "0"], "argument --duration: must be from 0.01 to 86400 seconds, not '0'"),
    ],
    ids=lambda text: " ".join(text) if isinstance(text, list) else "",
)
def test_bad_input_is_one_line_and_nothing_is_run(words, told, runs, capsys):
    for name in ("bad.jsonl", "bad.measured.jsonl"):
        Path(name).write_text("torn\nlines\n", encoding="utf-8")
    Path("empty.jsonl").touch()
    try:
        code = main(["validate", *words])
    except SystemExit as left:
        code = left.code
    out, err = capsys.readouterr()
    assert (code, out, runs.specs) == (2, "", [])
    assert err.startswith(f"millrace validate: {told}") and err.count("\n") == 1


def test_a_machine_without_a_profile_is_told_before_anything_runs(runs, monkeypatch, capsys):
    def unknown(*_, **__):
        raise UserError("machine 'local' is unknown")

    monkeypatch.setattr(validate, "find_place", unknown)
    assert main(["validate"]) == 2
    assert capsys.readouterr().err == "millrace validate: machine 'local' is unknown\n"
    assert runs.specs == []


@pytest.mark.skipif(not Path("/dev/full").is_char_device(), reason="needs /dev/full")
@pytest.mark.parametrize(
    ("full", "runs_made"),
    [("x.measured.jsonl", 2), ("x.predicted.jsonl", 25), ("x.parquet", 25), ("report.md", 25)],
)
def test_a_full_disk_is_told_wherever_it_is_met(full, runs_made, runs, capsys):
    Path(full).symlink_to("/dev/full")
    assert main(["validate", *ONE_CELL, "--output", "x.parquet", "--report", "report.md"]) == 1
    assert (
        capsys.readouterr().err.splitlines()[-1]
        == f"millrace validate: cannot write {full}: No space left on device"
    )
    assert len(runs.specs) == runs_made


def test_a_terminal_sees_what_is_on_and_how_long_the_rest_will_take(runs, capsys, monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", "200")
    assert main(["validate", *ONE_CELL, "--repeats", "1"]) == 0
    err = capsys.readouterr().err
    assert "[0/16] 11 s left; pipeline,operators=20,cost=1,payload=128 manual: measuring" in err
    assert "[15/16] " in err
    assert seen(err) == []


def test_a_log_has_a_line_at_the_end_at_least(runs, capsys):
    assert main(["validate", *ONE_CELL, "--repeats", "1"]) == 0
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(
        "millrace validate: [16/16] 0 s left; pipeline,operators=20,cost=1,payload=128 "
    )
    assert line.endswith(" tuples/s")


def test_help_teaches_by_examples(capsys):
    with pytest.raises(SystemExit) as left:
        main(["validate", "--help"])
    text = capsys.readouterr().out
    assert left.value.code == 0
    for words in (
        "millrace validate --figure",
        "--cells topology=pipeline",
        "--measured results/",
        "--strict",
        "median error",
    ):
        assert words in text
    assert max(map(len, text.splitlines())) <= 130
