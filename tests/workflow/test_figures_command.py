"""`figures`: its targets and its refusals. That it makes figures: test_whole_workflow.py."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from harness.cli import figures, main
from harness.experiments.config import load_config
from harness.experiments.effort import SPARK_START_S, effort_left
from harness.files.places import CODE
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
        (
            ["onee"],
            "TARGET 'onee': the workflow makes no such figure or file (did you mean 'one'?)",
        ),
        (
            ["figures/three.png"],
            "TARGET 'figures/three.png': the workflow makes no such figure or file (did you mean",
        ),
        (["zzzzzz"], "the workflow makes no such figure or file; figures are: one, two, saso"),
        (
            ["results/raw/saso"],
            "TARGET 'results/raw/saso': the workflow makes no such figure or file",
        ),
        (["--jobs", "0"], "--jobs must be a whole number of 1 or more, or all, not '0'"),
        (["--jobs", "two"], "--jobs must be a whole number of 1 or more, or all, not 'two'"),
        (["--report", "report.pdf"], "--report must name a file ending in .html, not 'report.pdf'"),
        (["--config", "none.yaml"], "none.yaml: cannot be read: No such file or directory"),
        (
            ["--size", "huge"],
            "--size must be one of quick, not 'huge'; --config names a profile of your own",
        ),
        (["--size", "../quick"], "--size must be one of quick, not '../quick'"),
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
        (["--report", "own.html", "one"], "own.html"),
    ],
)
def test_a_report_is_written_among_the_results_of_the_profile_unless_it_is_told_where(
    here, monkeypatch, capsys, words, file
):
    write_profile(here, {"one": [sweep("bushy")]}, results="mine")
    written = []
    monkeypatch.setattr(figures, "_snakemake", lambda options: 0)
    monkeypatch.setattr(figures.report, "write", lambda *page: written.append(page[1:]))
    assert main(["figures", *words]) == 0
    assert written == [(Path(file), ["one"])]
    assert capsys.readouterr().out.splitlines()[-1] == file


def test_a_size_and_a_profile_of_ones_own_exclude_each_other(config, capsys):
    with pytest.raises(SystemExit) as end:
        main(["figures", "--size", "quick", "--config", "mine.yaml"])
    assert end.value.code == 2
    assert "--config: not allowed with argument --size" in capsys.readouterr().err


def planned(monkeypatch, *words):
    """The options that Snakemake gets for a plan of `millrace figures WORDS`."""
    asked = []
    monkeypatch.setattr(figures, "_snakemake", lambda options: asked.append(options) or 0)
    assert main(["figures", *words, "--dry-run"]) == 0
    return asked[0]


def test_a_plan_says_what_it_needs(config, monkeypatch, capsys):
    planned(monkeypatch, "one")
    one = capsys.readouterr().err
    assert one == f"needed: {effort_left(config, ['one'])}\n"
    assert re.match(r"needed: [1-9]\d* runs, about \d+ s, .* MB of disk", one)


@pytest.fixture
def with_first(here):
    """A profile of the figure that comes first and of another one."""
    experiments = {
        "crossover": [sweep("bushy")],
        figures.FIRST: [sweep("mix", width=2, depth=2, cost=1)],
    }
    return load_config(write_profile(here, experiments))


def ran(monkeypatch, *words, code=0):
    """The targets of each workflow of `millrace figures WORDS`."""
    asked = []

    def snakemake(options):
        asked.append(options[options.index("--") + 1 :])
        return code

    monkeypatch.setattr(figures, "_snakemake", snakemake)
    assert main(["figures", *words]) == code
    return asked


def test_one_figure_is_drawn_before_others_are_measured(with_first, monkeypatch):
    first, rest = ran(monkeypatch)
    assert f"figures/{figures.FIRST}.png" in first
    assert not any("crossover" in target or "claims" in target for target in first)
    assert {"figures/crossover.png", "figures/claims.md"} <= set(rest)


def test_the_others_are_not_measured_if_the_first_figure_fails(with_first, monkeypatch):
    assert len(ran(monkeypatch, code=1)) == 1


@pytest.mark.parametrize("target", ["crossover", figures.FIRST])
def test_a_figure_alone_needs_one_workflow(with_first, monkeypatch, target):
    assert len(ran(monkeypatch, target)) == 1


def test_a_first_figure_that_is_measured_needs_no_workflow_of_its_own(with_first, monkeypatch):
    monkeypatch.setattr(figures, "_due", lambda config, targets: [])
    assert len(ran(monkeypatch)) == 1


def test_unusable_records_are_forced_only_upon_the_workflow_that_makes_them(with_first):
    blocks = {
        name: with_first.records(name, with_first.experiment(name).blocks()[0].stem)
        for name in ("crossover", figures.FIRST)
    }
    first = figures._figure_files(with_first, figures.FIRST)
    assert figures._again(with_first, first, list(blocks.values())) == [
        "--forcerun",
        blocks[figures.FIRST],
    ]
    assert figures._again(with_first, first, [blocks["crossover"]]) == []


def test_the_first_figure_of_the_quick_profile_takes_about_two_minutes_of_measuring():
    blocks = load_config(CODE / "config/quick.yaml").experiment(figures.FIRST).blocks()
    measured, simulated = (
        sum(block.estimated_s for block in blocks if block.place.simulated == virtual)
        for virtual in (False, True)
    )
    assert measured + simulated / 2 <= 120


def test_a_plan_counts_a_start_of_spark_for_each_workflow(with_first, monkeypatch, capsys):
    planned(monkeypatch)
    both = effort_left(with_first, [*with_first.drawn], workflows=2)
    assert capsys.readouterr().err.endswith(f"needed: {both}\n")
    once = effort_left(with_first, [*with_first.drawn])
    assert both.seconds == once.seconds + SPARK_START_S


@pytest.fixture
def sizes(here):
    """A profile that lists no experiments: one has its size, one on request, and one has
    another.
    """
    path = write_profile(here, {"crossover": [sweep("bushy")], "peers": [sweep("bushy")]})
    values = yaml.safe_load(path.read_text(encoding="utf-8"))
    del values["experiments"]
    path.write_text(yaml.safe_dump(values), encoding="utf-8")
    file = here / "config/experiments/peers.yaml"
    experiment = yaml.safe_load(file.read_text(encoding="utf-8"))
    experiment["sizes"]["tiny"]["on_request"] = True
    file.write_text(yaml.safe_dump(experiment), encoding="utf-8")
    experiment = {"sizes": {"big": experiment["sizes"]["tiny"]}}
    (here / "config/experiments/multilevel.yaml").write_text(
        yaml.safe_dump(experiment), encoding="utf-8"
    )
    (here / "config/big.yaml").write_text(
        yaml.safe_dump(values | {"profile": "big", "results": "big"}), encoding="utf-8"
    )
    return here


def test_a_figure_on_request_is_made_only_if_it_is_named(sizes, monkeypatch):
    assert load_config("config/quick.yaml").drawn == ("crossover",)
    by_default = planned(monkeypatch)
    assert not any("peers" in word for word in by_default)
    assert "results/tables/crossover/throughput.parquet" in by_default
    named = planned(monkeypatch, "peers")
    assert "figures/peers.png" in named and not any("crossover" in word for word in named)


def test_a_size_is_the_profile_of_its_name(sizes, monkeypatch):
    words = planned(monkeypatch, "--size", "big", "multilevel")
    assert words[words.index("--configfile") + 1] == "config/big.yaml"
    assert "big/tables/multilevel/throughput.parquet" in words


def test_a_figure_of_another_size_names_that_size(sizes, capsys):
    for command in ("figures", "sweep"):
        assert main([command, "multilevel"]) == 2
        error = capsys.readouterr().err
        assert "the experiment multilevel has no size 'tiny'; its sizes are: big (--size big)" in (
            error
        )
        assert error.count("\n") == 1


def test_a_profile_without_any_experiment_of_its_size_is_refused(sizes, capsys):
    path = sizes / "config/big.yaml"
    path.write_text(path.read_text(encoding="utf-8").replace("profile: big", "profile: huge"))
    assert main(["figures", "--size", "big"]) == 2
    assert "profile: must be a size of an experiment beside it, not 'huge'" in (
        capsys.readouterr().err
    )
