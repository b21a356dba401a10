"""Tests of where the report of `millrace gate` goes. Nothing is built or measured: stand-ins do
what a test asks for.
"""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest

from harness.cli import gate_outputs, main
from harness.gate.errors import NoBase
from harness.gate.verdict import Verdict
from tests.gate.made_comparisons import comparison, result


def test_all_reports_of_one_call_tell_the_same(gate_stand, capsys):
    gate_stand.ends = comparison(result("slow", Verdict.REGRESSED), result("fine"))
    assert (
        main(
            [
                "gate",
                "--base",
                "main",
                "--json",
                "a",
                "--report",
                "b",
                "--csv",
                "c",
                "--junitxml",
                "d",
            ]
        )
        == 1
    )
    texts = [Path(name).read_text() for name in "abcd"]
    assert all("slow" in text for text in [*texts, capsys.readouterr().out])
    assert json.loads(texts[0])["gate"]["options"] == {
        "inconclusive": None,
        "allow_other_host": False,
        "in_turns": False,
        "pairs": "auto",
        "time_budget_s": 540.0,
        "loaded": {"allowed": False},
    }


def test_only_changed_is_for_tables_and_leaves_data_whole(gate_stand, capsys):
    gate_stand.ends = comparison(result("slow", Verdict.REGRESSED), result("fine"))
    main(
        [
            "gate",
            "--base",
            "main",
            "--only-changed",
            "--json",
            "a",
            "--report",
            "b",
            "--csv",
            "c",
            "--junitxml",
            "d",
        ]
    )
    texts = {name: Path(name).read_text() for name in "abcd"}
    assert "fine" in texts["a"] and "fine" in texts["d"]
    assert (
        "fine" not in texts["b"]
        and "fine" not in texts["c"]
        and "fine" not in capsys.readouterr().out
    )


@pytest.mark.parametrize(
    ("option", "begin"),
    [
        ("--json", "{"),
        ("--report", "### "),
        ("--csv", "cell,"),
        ("--junitxml", "<?xml"),
        ("--sarif", "{"),
    ],
)
def test_a_dash_is_stdout_in_place_of_the_table(gate_stand, capsys, option, begin):
    assert main(["gate", "--base", "main", option, "-"]) == 0
    told = capsys.readouterr()
    assert told.out.startswith(begin) and "control:" not in told.out.split("\n")[0]
    assert told.err.splitlines()[-1].startswith("millrace gate: OK: ")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (
            ["--json", "-", "--csv", "-"],
            "--csv must name a place of its own: '-' is that of --json",
        ),
        (["--json", "x", "--csv", "./x"], "--csv must name a place of its own"),
        (["--json", "no/such/place.json"], "--json 'no/such/place.json': there is no directory"),
        (["--junitxml", "."], "--junitxml must name a file"),
    ],
)
def test_a_place_that_cannot_be_written_is_refused_before_measuring(
    gate_stand, error_line, words, told
):
    assert main(["gate", "--base", "main", *words]) == 2
    assert told in error_line()
    assert gate_stand.prepared == []


def test_a_report_that_could_not_be_written_is_no_regression_and_hides_none(gate_stand, capsys):
    assert main(["gate", "--base", "main", "--json", "/dev/full"]) == 70
    assert "cannot write /dev/full" in capsys.readouterr().err
    gate_stand.ends = comparison(result("a", Verdict.REGRESSED))
    assert main(["gate", "--base", "main", "--json", "/dev/full", "--csv", "c"]) == 1
    assert Path("c").exists()


def test_the_step_summary_gets_the_markdown_at_its_end(gate_stand, capsys, monkeypatch):
    Path("summary").write_text("of another step\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "summary")
    assert main(["gate", "--base", "main"]) == 0
    assert Path("summary").read_text().startswith("of another step\n### Gate: OK")


def test_a_step_summary_that_cannot_be_written_is_told(gate_stand, capsys, monkeypatch):
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "/dev/full")
    assert main(["gate", "--base", "main"]) == 70
    assert "GITHUB_STEP_SUMMARY" in capsys.readouterr().err


def test_colour_is_for_terminals_and_no_color_is_honoured(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    assert gate_outputs.wants_colour()
    monkeypatch.setenv("NO_COLOR", "1")
    assert not gate_outputs.wants_colour()
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("TERM", "dumb")
    assert not gate_outputs.wants_colour()
    monkeypatch.setattr(sys.stdout, "isatty", lambda: False, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert not gate_outputs.wants_colour()


class Gone(io.StringIO):
    """A stderr that nobody reads any more; what it leads to is `file`'s."""

    def __init__(self, file):
        super().__init__()
        self.file = file

    def write(self, text):
        raise BrokenPipeError(32, "Broken pipe")

    def fileno(self):
        return self.file.fileno()


@pytest.mark.parametrize(
    "ends", [comparison(result("a", Verdict.WRONG)), ZeroDivisionError("a bug"), NoBase("none")]
)
def test_a_reader_of_progress_that_has_gone_changes_nothing(gate_stand, monkeypatch, ends):
    gate_stand.ends = ends
    with Path("log").open("w") as file:
        monkeypatch.setattr(sys, "stderr", Gone(file))
        code = main(["gate", "--base", "main"])
    assert code == {ZeroDivisionError: 70, NoBase: 4}.get(type(ends), 7)
    assert len(gate_stand.prepared) == 2


def test_progress_in_a_log_says_what_is_built_and_how_long_it_will_take(gate_stand, capsys):
    main(["gate", "--base", "main"])
    lines = capsys.readouterr().err.splitlines()
    assert lines == [
        "millrace gate: building base main",
        "millrace gate: building head .",
        "millrace gate: block 4, at most 1 min 30 s left; 1 of 2 cells decided: 1 ok",
    ]
