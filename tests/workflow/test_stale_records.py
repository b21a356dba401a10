"""Records of cells that left their experiment leave its folder, and are kept."""

from __future__ import annotations

from harness.experiments.config import load_config
from harness.workflow.stale import retire_stale_records
from tests.workflow.conftest import sweep, write_profile


def test_records_of_cells_that_are_gone_are_moved_and_that_is_said(here, capsys):
    config = load_config(
        write_profile(here, {"one": [sweep("pipeline", operators=3, cost=[1, 10])]})
    )
    for block in config.blocks():
        path = here / config.records("one", block.cell.name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(block.cell.name)
    retire_stale_records(config, {"one"})
    assert capsys.readouterr().err == ""

    narrowed = load_config(write_profile(here, {"one": [sweep("pipeline", operators=3, cost=10)]}))
    retire_stale_records(narrowed, {"one"})
    gone = "pipeline,operators=3,cost=1,payload=128"
    assert [path.name for path in (here / "results/raw/one").iterdir()] == [
        "pipeline,operators=3,cost=10,payload=128.jsonl"
    ]
    assert (here / f"results/retired/one/{gone}.jsonl").read_text() == gone
    assert (
        f"{gone}.jsonl: not a cell of config/experiments/one.yaml any more"
        in capsys.readouterr().err.replace(f"{here}/", "")
    )


def test_records_that_were_retired_before_are_kept_beside_them(here):
    config = load_config(write_profile(here, {"one": [sweep("pipeline", operators=3, cost=10)]}))
    path = here / "results/raw/one/gone.jsonl"
    path.parent.mkdir(parents=True)
    for text in ("first", "second", "third"):
        path.write_text(text)
        retire_stale_records(config, {"one"})
    kept = {path.name: path.read_text() for path in (here / "results/retired/one").iterdir()}
    assert kept == {"gone.jsonl": "first", "gone.2.jsonl": "second", "gone.3.jsonl": "third"}


def test_other_experiments_are_left_alone(here):
    other = here / "results/raw/other/x.jsonl"
    other.parent.mkdir(parents=True)
    other.touch()
    shapes = {"one": [sweep("bushy")], "other": [sweep("bushy")]}
    retire_stale_records(load_config(write_profile(here, shapes)), {"one"})
    assert other.exists()
