"""`repro` and `artifact`: what a figure needs, figures one by one, the appendix and the archive."""

from __future__ import annotations

import json
import subprocess
import zipfile

import pytest

from harness.claims.claim import chosen
from harness.cli import main, repro
from harness.experiments.config import load_config
from harness.experiments.effort import RECORD_BYTES, effort_of_figure
from tests.workflow.conftest import here, sweep, write_profile  # noqa: F401

DONE = subprocess.CompletedProcess([], 0)


@pytest.fixture
def config(here):  # noqa: F811
    path = write_profile(here, {"one": [sweep("bushy")], "two": [sweep("mix", cost=[1, 2])]})
    return load_config(path)


@pytest.fixture
def calls(monkeypatch):
    found = []
    monkeypatch.setattr(repro.subprocess, "run", lambda words, **_: found.append(words) or DONE)
    return found


def test_what_figures_need_is_said_before_anything_is_made(config, calls, capsys):
    assert main(["repro", "one", "two", "--dry-run"]) == 0
    first, second = capsys.readouterr().err.splitlines()
    assert calls == []
    effort = effort_of_figure(config, "two")
    assert effort.runs == 2 * 3 * 2  # cells, arms, repeats
    assert effort.disk > effort.runs * RECORD_BYTES
    assert first.startswith("one: 6 runs, about ") and second == f"two: {effort}"
    assert second.endswith("MB of disk, 2 GB of memory")


def test_each_figure_is_made_before_the_cells_of_the_next(config, calls, capsys):
    assert main(["repro", "two", "one"]) == 0
    assert [words[3:5] for words in calls] == [["figures", "two"], ["figures", "one"]]
    assert all(words[5:] == ["--size", "quick"] for words in calls)
    assert capsys.readouterr().out.splitlines() == [
        "figures/two.png, figures/two.svg",
        "figures/one.png, figures/one.svg",
    ]


def test_a_figure_that_fails_ends_the_command_with_its_code(config, monkeypatch, capsys):
    failed = subprocess.CompletedProcess([], 1)
    monkeypatch.setattr(repro.subprocess, "run", lambda *_, **__: failed)
    assert main(["repro", "one", "two"]) == 1
    said = capsys.readouterr()
    assert said.err.endswith("one was not made\n") and said.out == ""


def test_an_unknown_figure_is_one_line(config, capsys):
    assert main(["repro", "onee"]) == 2
    assert "FIGURE 'onee' is none of config/quick.yaml (did you mean 'one'?)" in (
        capsys.readouterr().err
    )


def test_a_disk_that_is_too_small_is_noticed_first(config, calls, monkeypatch, capsys):
    usage = type("Usage", (), {"free": 1000})
    monkeypatch.setattr(repro.shutil, "disk_usage", lambda _: usage)
    assert main(["repro", "one"]) == 1
    assert calls == [] and "MB of disk are needed" in capsys.readouterr().err


def test_the_appendix_has_a_row_for_each_claim_that_can_be_checked():
    from harness.claims.appendix import HEAD, appendix
    from harness.claims.evaluate import evaluate
    from harness.claims.tables import Tables

    claims = [claim for claim in chosen() if claim.check is not None]
    results = evaluate(claims, Tables({}))
    text = appendix(results, {}, "--size paper", 2)
    rows = [line for line in text.splitlines() if line.startswith("| `")]
    assert len(rows) == len(claims)
    assert {row.replace("\\|", "").count("|") for row in rows} == {len(HEAD) + 1}
    assert all("no data" in row for row in rows)


def test_the_appendix_names_command_effort_and_tolerance(config):
    from harness.claims.appendix import appendix, tolerance_of
    from harness.claims.evaluate import evaluate
    from harness.claims.tables import Tables

    (claim,) = chosen(["p17-5.3-dynamic-best"])
    effort = effort_of_figure(config, "two")
    text = appendix(evaluate([claim], Tables({})), {"pldi17_fig10": effort}, "--size paper", 2)
    assert "`millrace repro pldi17_fig10 --size paper`" in text
    assert f"| {effort.seconds / 60:.0f} | {effort.disk / 1e6:.0f} | 2 |" in text
    assert tolerance_of(claim) == "2%"
    for heading in ("Abstract", "Check-list", "Access and set-up", "Basic test", "Evaluation"):
        assert f"\n## {heading}\n" in text


def test_the_appendix_checks_claims_on_the_tables_of_its_own_size():
    from harness.claims.appendix import appendix

    text = appendix([], {}, "--size paper", 2, "results/paper/tables")
    assert "`millrace claims CLAIM --tables results/paper/tables`" in text


def test_an_archive_says_of_each_file_what_it_is(config, capsys):
    from pathlib import Path

    for name in ("results/raw/one/a.jsonl", "figures/one.svg", "results/report.html", "other.txt"):
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text("{}")
    assert main(["artifact", "-o", "run.zip"]) == 0
    with zipfile.ZipFile("run.zip") as archive:
        names = set(archive.namelist())
        crate = json.loads(archive.read("ro-crate-metadata.json"))
    files = {"results/raw/one/a.jsonl", "figures/one.svg", "results/report.html"}
    assert names == files | {"ro-crate-metadata.json"}
    entities = {each["@id"]: each for each in crate["@graph"]}
    assert crate["@context"] == "https://w3id.org/ro/crate/1.1/context"
    assert entities["ro-crate-metadata.json"]["about"] == {"@id": "./"}
    root = entities["./"]
    assert {"name", "description", "datePublished", "license"} <= set(root)
    assert {part["@id"] for part in root["hasPart"]} == files
    references = [
        value["@id"]
        for each in crate["@graph"]
        for values in each.values()
        for value in (values if isinstance(values, list) else [values])
        if isinstance(value, dict) and not value["@id"].startswith("https://w3id.org/ro/crate")
    ]
    assert set(references) <= set(entities)
    assert entities["#run"]["object"] == {"@id": "results/raw/one/a.jsonl"}


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        (["-o", "a.tar"], "-o must name a file ending in .md or .zip, not 'a.tar'"),
        (["-o", "a.zip"], "-o a.zip: config/quick.yaml has made nothing below this folder"),
        (["-o", "a.md"], "no folder 'results/tables'"),
    ],
)
def test_bad_input_is_one_line(config, capsys, words, answer):
    assert main(["artifact", *words]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and answer in error
