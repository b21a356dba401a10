"""`millrace gate` on files of results."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from harness.cli import main
from harness.gate.verdict import Verdict
from tests.gate.made_comparisons import comparison, result


def write_run(path, median=1e-3, **machine):
    stats = [{"fullname": "t.py::test", "stats": {"median": median}}]
    Path(path).write_text(json.dumps({"machine_info": machine, "benchmarks": stats}))
    return str(path)


def test_files_of_pytest_benchmark_are_sides(gate_stand, capsys):
    base = [
        word
        for index in range(16)
        for word in ("--base", write_run(f"b{index}.json", 1e-3 + index * 1e-7))
    ]
    head = [
        word
        for index in range(16)
        for word in ("--head", write_run(f"h{index}.json", 2e-3 + index * 1e-7))
    ]
    assert main(["gate", *base, *head, "--json", "v.json"]) == 3
    assert "1 session a side" in capsys.readouterr().out, "the files do not tell when"
    assert main(["gate", *base, *head, "--in-turns", "--json", "v.json"]) == 1
    out = capsys.readouterr().out
    assert (
        "REGRESSED: 1 of 1 cells (t.py::test)" in out
        and "different times" in out
        and "b0.json and 15 more" in out
    )
    assert gate_stand.prepared == [] and gate_stand.loaded == []


def test_one_file_a_side_is_inconclusive(gate_stand, capsys):
    assert main(["gate", "--base", write_run("b.json"), "--head", write_run("h.json", 5.0)]) == 3
    out = capsys.readouterr().out
    assert "one process a side" in out and "5000.000" in out and "give more files a side" in out


def test_a_verdict_file_can_be_a_side_of_the_next_call_and_is_one_session(gate_stand, capsys):
    gate_stand.ends = comparison(result("a"))
    main(["gate", "--base", "main", "--json", "old.json"])
    gate_stand.ends = comparison(result("a", Verdict.REGRESSED))
    main(["gate", "--base", "main", "--json", "new.json"])
    assert main(["gate", "--base", "old.json", "--head", "new.json"]) == 3
    assert "measured in 1 session a side" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (["--base", "b.json"], 2, "--head must be files of results too, since --base is: not '.'"),
        (
            ["--base", "main", "--head", "b.json"],
            2,
            "--base must be files of results too, since --head is: not 'main'",
        ),
        (
            ["--base", "b.json", "--base", "main", "--head", "b.json"],
            2,
            "--base must be files of results only",
        ),
        (
            ["--base", "main", "--base", "v1"],
            2,
            "--base must be one revision or directory, not 2: main, v1",
        ),
        (
            ["--base", "gone.json", "--head", "b.json"],
            4,
            "--base 'gone.json': there is no such file",
        ),
        (
            ["--base", "b.json", "--head", "gone.json"],
            2,
            "--head 'gone.json': there is no such file",
        ),
        (["--base", "b.json", "--head", "b.json", "--suite", "s"], 2, "s: cannot be read"),
        (["--base", "b.json", "--head", "b.json", "--pairs", "40"], 2, "--pairs is for measuring"),
        (["--base", "b.json", "--head", "b.json", "--seed", "0"], 2, "--seed is for measuring"),
        (
            ["--base", "b.json", "--head", "b.json", "--time-budget", "9"],
            2,
            "--time-budget is for measuring",
        ),
        (["--base", "b.json", "--head", "other.json"], 4, "different hosts"),
        (["--base", "b.json", "--head", "other.json", "--allow-other-host"], 3, None),
        (["--base", "cut.json", "--head", "b.json"], 4, "cut.json: not JSON, or cut short"),
        (["--base", "b.json", "--head", "cut.json"], 5, "cut.json: not JSON, or cut short"),
        (["--base", "b.json", "--head", "future.json"], 2, "schema version 2"),
        (["--base", "future.json", "--head", "b.json"], 4, "schema version 2"),
    ],
)
def test_files_that_do_not_go_together_are_told_in_a_line(
    gate_stand, error_line, words, code, told
):
    write_run("b.json", python_version="3.11.2")
    write_run("other.json", python_version="3.13.1")
    for name, text in (
        ("cut.json", '{"benchmarks": ['),
        ("future.json", '{"gate": {"schema_version": 2}}'),
    ):
        Path(name).write_text(text)
    assert main(["gate", *words]) == code
    if told:
        assert told in error_line()


def without_a_reader(*words, both=True):
    """A call whose stdout nobody reads, nor its stderr if `both`."""
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "harness", "gate", *words]
    errors = writing if both else subprocess.PIPE
    done = subprocess.run(command, stdout=writing, stderr=errors, text=True, check=False)
    os.close(writing)
    return done


def test_suite_has_terms_for_cells_of_files(gate_stand, capsys):
    for name, size in (("a.json", 42), ("b.json", 84)):
        Path(name).write_text(json.dumps({"binary": {"file-size": {"value": size}}}))
    Path("terms.yaml").write_text("{factor: 1.5, files: [{match: bin*, deterministic: true}]}")
    words = ["gate", "--base", "a.json", "--head", "b.json", "--suite", "terms.yaml"]
    assert main(words) == 1
    assert "worse by more than 50 %" in capsys.readouterr().out
    assert main([*words, "--factor", "3"]) == 0
    Path("terms.yaml").write_text("{files: [{factor: 1.1}]}")
    assert main(words) == 2


@pytest.mark.heavy
def test_a_reader_that_goes_away_does_not_change_the_verdict(tmp_path):
    base, head = write_run(tmp_path / "b.json"), write_run(tmp_path / "h.json")
    done = without_a_reader("--base", base, "--head", head, both=False)
    assert done.returncode == 3 and done.stderr == ""
    assert without_a_reader("--base", base, "--head", head, "--json", "-").returncode == 3


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("harm", "code"),
    [
        (["--suite", "s"], 2),  # for measuring only
        (["--base", "gone.json"], 4),
    ],
)
def test_what_nobody_reads_of_a_call_that_is_wrong_is_no_regression(tmp_path, harm, code):
    base, head = write_run(tmp_path / "b.json"), write_run(tmp_path / "h.json")
    assert without_a_reader("--base", base, "--head", head, *harm).returncode == code
