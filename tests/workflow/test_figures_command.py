"""`figures`: its targets and its refusals. That it makes figures: test_whole_workflow.py."""

from __future__ import annotations

import pytest

from harness.cli import figures, main
from harness.experiments.config import load_config
from tests.workflow.conftest import sweep, write_profile

CELL = "pipeline,operators=3,cost=1,payload=128"


@pytest.fixture
def config(here):
    experiments = {"one": [sweep("pipeline", operators=3, cost=1)], "two": [sweep("bushy")]}
    return load_config(write_profile(here, experiments, benches=["saso"]))


@pytest.mark.parametrize(
    ("target", "files"),
    [
        ("one", ["figures/one.png", "figures/one.svg"]),
        ("figures/two.svg", ["figures/two.svg"]),
        ("./figures/two.svg", ["figures/two.svg"]),
        ("results/tables/one/throughput.parquet", ["results/tables/one/throughput.parquet"]),
        (f"results/raw/one/{CELL}.jsonl", [f"results/raw/one/{CELL}.jsonl"]),
        ("saso", ["figures/saso.png", "figures/saso.svg"]),
        ("results/tables/saso/saso.parquet", ["results/tables/saso/saso.parquet"]),
    ],
)
def test_a_target_is_a_figures_name_or_a_file_that_the_workflow_makes(config, target, files):
    assert figures._files(config, target) == files


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        (["onee"], "TARGET 'onee': the workflow makes no such figure or file; did you mean 'one'?"),
        (
            ["figures/three.png"],
            "TARGET 'figures/three.png': the workflow makes no such figure or file; did you mean",
        ),
        (["zzzzzz"], "the workflow makes no such figure or file; figures are: one, two, saso"),
        (
            ["results/raw/saso"],
            "TARGET 'results/raw/saso': the workflow makes no such figure or file",
        ),
        (["--cores", "0"], "--cores must be a whole number of 1 or more, or all, not '0'"),
        (["--cores", "two"], "--cores must be a whole number of 1 or more, or all, not 'two'"),
        (
            ["--report", "report.pdf"],
            "--report must name a file ending in .html or .zip, not 'report.pdf'",
        ),
        (["--config", "none.yaml"], "none.yaml: cannot be read: No such file or directory"),
    ],
)
def test_bad_input_is_told_in_one_line(config, capsys, words, answer):
    assert main(["figures", *words]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert answer in error


@pytest.mark.parametrize(
    ("words", "file"),
    [
        (["--report"], "mine/report.html"),
        (["one", "--report"], "mine/report.html"),
        (["--report", "mine.zip", "one"], "mine.zip"),
    ],
)
def test_a_report_is_written_among_the_results_of_the_profile_unless_it_is_told_where(
    here, monkeypatch, capsys, words, file
):
    write_profile(here, {"one": [sweep("bushy")]}, results="mine")
    asked = []
    monkeypatch.setattr(figures, "_snakemake", lambda options: asked.append(options) or 0)
    assert main(["figures", *words]) == 0
    assert asked[1][asked[1].index("--report") + 1] == file
    assert capsys.readouterr().out.splitlines()[-1] == file
