"""`claims`: from tables on disk to a report, and one line for whatever is wrong."""

from __future__ import annotations

import json

import pandas as pd
import pytest

from harness.cli import main
from tests.claims.made import LOCAL, arm, cell_name, periods, throughput

FIG9 = "pldi17_fig9"


def pipeline(dedicated: float):
    """Pipelines in which dedicated is that fast, and manual 10."""
    levels = [arm(f"dynamic-{level}", 5, half=1) for level in (1, 2, 4, 8)]
    arms = [arm("manual", 10, half=1), arm("dedicated", dedicated, half=1), *levels]
    return throughput(
        {
            cell_name(cost=cost): [*arms, arm("dynamic-elastic", 5, half=1)]
            for cost in (1, 100, 1000)
        },
        LOCAL,
    )


@pytest.fixture
def folder(tmp_path):
    """Tables of two experiments, each in its folder."""
    (tmp_path / FIG9).mkdir()
    pipeline(20).to_parquet(tmp_path / FIG9 / "throughput.parquet")
    (tmp_path / "pldi17_fig11").mkdir()
    pd.concat([periods([1, 2, 4, 4, 4], cell=cell_name(), run=run) for run in "abc"]).to_parquet(
        tmp_path / "pldi17_fig11" / "timeline.parquet"
    )
    elastic = throughput({cell_name(): [arm("dynamic-elastic", 5, half=1)]}, LOCAL, "pldi17_fig11")
    elastic.to_parquet(tmp_path / "pldi17_fig11" / "throughput.parquet")
    return tmp_path


def verdicts(path) -> dict[tuple[str, bool], str]:
    found = json.loads(path.read_text(encoding="utf-8"))["results"]
    return {(each["id"], each["beside"]): each["verdict"] for each in found}


def test_a_report_is_written_in_every_format_asked_for(folder, tmp_path):
    files = [tmp_path / "new" / f"claims.{kind}" for kind in ("md", "html", "json")]
    assert (
        main(
            [
                "claims",
                "--tables",
                str(folder),
                *(word for file in files for word in ("-o", str(file))),
            ]
        )
        == 0
    )
    markdown, html, _ = (file.read_text(encoding="utf-8") for file in files)
    assert markdown.startswith("# What the papers claim")
    assert html.startswith("<!DOCTYPE html>")
    said = verdicts(files[2])
    assert said["p17-5.1-dedicated-best", True] == "reproduced"
    assert said["p17-5.1-dedicated-best", False] == "no data"
    assert said["p17-5.1-manual-worst", True] == "not reproduced"
    assert said["p17-5.1-finds-level", True] == "undecided", "three runs that agree show little"
    assert ("p17-4.2.2-converges", True) not in said, "the machine has fewer than 12 CPUs"
    assert said["p17-3-work-stealing", False] == "not testable"


def test_markdown_goes_to_stdout_unless_a_file_is_named(folder, capsys):
    assert main(["claims", "--tables", str(folder), "p17-5.1-dedicated-best"]) == 0
    out = capsys.readouterr().out
    assert "### p17-5.1-dedicated-best" in out
    assert "p17-5.1-manual-worst" not in out


def test_one_table_may_hold_all_experiments(folder, tmp_path, capsys):
    together = tmp_path / "together"
    together.mkdir()
    pipeline(20).to_parquet(together / "throughput.parquet")
    assert main(["claims", "--tables", str(together), "p17-5.1-dedicated-best"]) == 0
    assert "beside: **local (measured): reproduced**" in capsys.readouterr().out


def test_a_paper_and_a_machine_may_be_chosen(folder, tmp_path):
    file = tmp_path / "x.json"
    assert (
        main(
            [
                "claims",
                "--tables",
                str(folder),
                "--paper",
                "P17",
                "--machine",
                "local",
                "-o",
                str(file),
            ]
        )
        == 0
    )
    found = json.loads(file.read_text(encoding="utf-8"))["results"]
    assert {each["paper"] for each in found} == {"P17"}
    assert {each["machine"] for each in found} == {"local (measured)"}


def test_a_claim_that_fails_is_no_failure_of_the_command(folder, monkeypatch):
    pipeline(2).assign(machine="xeon", simulated=True).to_parquet(
        folder / FIG9 / "throughput.parquet"
    )
    words = ["claims", "--tables", str(folder), "p17-5.1-dedicated-best", "--machine", "xeon"]
    assert main(words) == 0
    assert main([*words, "--strict"]) == 1


def test_the_simulators_error_is_of_the_size_that_the_command_names(folder, capsys):
    pipeline(9).assign(machine="xeon", simulated=True).to_parquet(
        folder / FIG9 / "throughput.parquet"
    )
    words = ["claims", "--tables", str(folder), "p17-5.1-dedicated-best", "--machine", "xeon"]
    for factor, count in (("1.05", 0), ("2", 1)):
        assert main([*words, "--simulator-error", factor]) == 0
        assert f"could change {count} of the 1 verdicts" in capsys.readouterr().out


def test_strict_passes_over_other_machines(folder):
    words = ["claims", "--tables", str(folder), "p17-5.1-manual-worst", "--strict"]
    assert main(words) == 0  # not reproduced, but on this machine, which the claim is not about


def test_the_list_needs_no_tables(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["claims", "--list", "--paper", "ELB"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert all(line.startswith("elb-") for line in lines[:-1])
    assert lines[-1].startswith("32 claims, ")


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        (
            ["p17-5.1-manual-wurst"],
            "CLAIM-ID 'p17-5.1-manual-wurst': there is no such claim (did you mean "
            "'p17-5.1-manual-worst'?)",
        ),
        (["zzz"], "CLAIM-ID 'zzz': there is no such claim; `millrace claims --list` lists them"),
        (
            ["--paper", "ELB", "p17-4.1-order"],
            "CLAIM-ID 'p17-4.1-order': there is no such claim of ELB",
        ),
        (
            ["--paper", "P71"],
            "--paper must be one of P17, M19, ELB, CS, not 'P71' (did you mean 'P17'?)",
        ),
        (
            ["--machine", "vax"],
            "--machine must be one of 16-core, 4-core, cstream, local, power8, xeon, xeon:16, "
            "xeon:4, xeon:64, xeon:88, "
            "not 'vax'",
        ),
        (
            ["--machine", "xeon", "p17-5.1-same-on-both"],
            "--machine xeon: none of these claims is checked on it alone",
        ),
        (
            ["-o", "claims.pdf"],
            "-o must name a file ending in .md, .html, .json, or be -, not 'claims.pdf'",
        ),
        (
            ["--tables", "nowhere"],
            "--tables: no folder 'nowhere'; `millrace figures` makes the tables",
        ),
        (
            ["--tables", "empty"],
            "--tables: empty has no throughput table of an experiment with claims",
        ),
        (
            ["--tables", "broken"],
            "--tables: broken/pldi17_fig9/throughput.parquet cannot be read as Parquet: ",
        ),
        (
            ["--tables", "alien"],
            "--tables: alien/throughput.parquet lacks the columns experiment, cell, machine, "
            "simulated",
        ),
        (["--tables", "file"], "--tables: no folder 'file'"),
    ],
)
def test_bad_input_is_told_in_one_line(folder, monkeypatch, capsys, words, answer):
    monkeypatch.chdir(folder)
    (folder / "empty").mkdir()
    (folder / "broken" / FIG9).mkdir(parents=True)
    (folder / "broken" / FIG9 / "throughput.parquet").write_text("alien")
    (folder / "alien").mkdir()
    pd.DataFrame({"arm": ["manual"]}).to_parquet(folder / "alien" / "throughput.parquet")
    (folder / "file").touch()
    tables = [] if "--tables" in words else ["--tables", "."]
    assert main(["claims", *tables, *words]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert answer in error


def test_a_report_that_cannot_be_written_is_told(folder, capsys):
    assert (
        main(
            [
                "claims",
                "--tables",
                str(folder),
                "-o",
                str(folder / FIG9 / "throughput.parquet" / "x.md"),
            ]
        )
        == 1
    )
    assert "cannot write" in capsys.readouterr().err
