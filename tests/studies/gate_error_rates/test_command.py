"""`python -m studies.gate_error_rates` from the command line."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import pytest

from harness.errors import UserError
from studies.gate_error_rates import __main__ as command
from studies.gate_error_rates import identity, study
from studies.gate_error_rates.recording import SAMPLES
from tests.studies.gate_error_rates.made import write_recording

SUITE = """\
programs:
  - {name: one, command: [./one]}
  - {name: other, command: [./other]}
time_budget_s: 78
"""


def run(*words: str) -> int:
    parser = argparse.ArgumentParser()
    command.add_arguments(parser)
    return command.run(parser.parse_args(words))


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (
            ["--effects", "1"],
            "--effects must be different ratios above 1, up to 10, as 1.02,1.05,1.1, not '1'",
        ),
        (["--effects", "1.05,1.05"], "--effects must be"),
        (["--effects", "1.05,,1.1"], "--effects must be"),
        (["--effects", "nan"], "--effects must be"),
        (
            ["--kinds", "flop,slep"],
            "--kinds must be of flop, copy, atomic, sleep, not 'slep' (did you mean 'sleep'?)",
        ),
        (["--disturb", "all"], "--disturb must be one of none, half, not 'all'"),
        (["--noises", "quiet"], "--noises is of --simulated only"),
        (["--simulated", "--noises", "loud"], "--noises must be of quiet"),
        (
            ["--simulated", "--json", "/nowhere/x.json"],
            "--json '/nowhere/x.json': there is no directory",
        ),
    ],
)
def test_bad_options_are_told_in_one_line(words: list[str], told: str) -> None:
    with pytest.raises(UserError) as error:
        run(*words)
    assert str(error.value).startswith(told)
    assert "\n" not in str(error.value)


def test_simulated_rates_are_printed_and_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page, numbers = tmp_path / "page.md", tmp_path / "numbers.json"
    page.write_text("# Rates\n\nKept.\n", encoding="utf-8")
    options = ["--simulated", "--calls", "10", "--noises", "quiet", "--effects", "1.1"]
    assert run(*options, "--markdown", str(page), "--json", str(numbers)) == 0
    printed = capsys.readouterr().out
    assert "| quiet | 10 | 10 |" in printed and "| quiet 1.1 |" in printed
    assert page.read_text(encoding="utf-8").startswith("# Rates\n\nKept.\n\n")
    assert "| quiet 1.1 |" in page.read_text(encoding="utf-8")
    assert [
        row["condition"] for row in json.loads(numbers.read_text(encoding="utf-8"))["rows"]
    ] == ["quiet", "quiet 1.1"]


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    """The directory of a recording of `suite.yaml` beside it."""
    from harness.gate.suite import load_suite

    (tmp_path / "suite.yaml").write_text(SUITE, encoding="utf-8")
    suite = load_suite(tmp_path / "suite.yaml")
    about = identity.of_recording(suite, study.injected_cell(suite, None), "0" * 40, "none")
    path = tmp_path / SAMPLES
    write_recording(path, 40)
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    lines[0] = json.dumps({"recording": 1, **about}) + "\n"
    path.write_text("".join(lines), encoding="utf-8")
    return tmp_path


def test_a_recording_is_replayed_without_measuring(
    recording: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    suite = str(recording / "suite.yaml")
    assert (
        run("--suite", suite, "--record", str(recording), "--time-budget", "0", "--calls", "5") == 0
    )
    printed, told = capsys.readouterr()
    assert "replaying base against itself, call 1 of 5" in told
    assert "40 rounds, 640 processes" in printed and "others disturbed 0 % of them" in printed
    assert "| base against itself | 5 | 3 | 0.0 %" in printed
    assert "| flop 1.05 | 1.0" in printed


def test_a_recording_that_is_too_short_says_so(
    recording: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = recording / SAMPLES
    path.write_text(
        "".join(path.read_text(encoding="utf-8").splitlines(keepends=True)[: 2 + 16 * 5]),
        encoding="utf-8",
    )
    suite = str(recording / "suite.yaml")
    assert run("--suite", suite, "--record", str(recording), "--time-budget", "0") == 0
    assert "5 rounds are less than a call of 78 s may take" in capsys.readouterr().out


def test_a_recording_of_another_suite_is_refused(recording: Path) -> None:
    suite = recording / "suite.yaml"
    suite.write_text(SUITE.replace("./other", "./another"), encoding="utf-8")
    with pytest.raises(UserError, match=r"has programs .*: name another directory"):
        run("--suite", str(suite), "--record", str(recording), "--time-budget", "0")


def test_without_time_and_without_a_recording_there_is_nothing_to_say(recording: Path) -> None:
    (recording / SAMPLES).unlink()
    with pytest.raises(
        UserError, match=r"--time-budget 0 measures nothing, and .* holds no recording"
    ):
        run(
            "--suite",
            str(recording / "suite.yaml"),
            "--record",
            str(recording),
            "--time-budget",
            "0",
        )


def test_work_is_injected_into_a_cell_that_is_not_the_controls(recording: Path) -> None:
    with pytest.raises(UserError, match="--cell must be one of other, not 'one'"):
        run(
            "--suite",
            str(recording / "suite.yaml"),
            "--record",
            str(recording),
            "--time-budget",
            "0",
            "--cell",
            "one",
        )
    alone = recording / "alone.yaml"
    alone.write_text("programs: [{name: one, command: [./one]}]\n", encoding="utf-8")
    with pytest.raises(UserError, match="must have a program besides the control's, one"):
        run("--suite", str(alone), "--record", str(recording), "--time-budget", "0")
