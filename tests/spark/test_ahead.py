"""Tables made ahead: which experiments they are made for, and when they may be taken."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

import pandas as pd
import pytest

from harness.cli import main
from harness.experiments.config import load_config
from harness.spark import ahead
from tests.workflow.conftest import sweep, write_profile

RAW, TABLES = Path("results/raw"), Path("results/tables")


@pytest.fixture
def config(tmp_path, monkeypatch, make_record, write_lines):
    """Three experiments; of the third not all records are there."""
    monkeypatch.chdir(tmp_path)
    experiments = {
        name: [sweep("pipeline", operators=3, cost=[1, 2])] for name in ("one", "two", "three")
    }
    made = load_config(write_profile(tmp_path, experiments))
    for experiment in made.experiments:
        for number, block in enumerate(experiment.blocks()):
            if (experiment.name, number) != ("three", 1):
                record = make_record(experiment=experiment.name, cell=block.cell.name)
                write_lines(tmp_path / made.records(experiment.name, block.stem), record)
    return made


def make_tables(name: str, folder: Path = TABLES) -> Path:
    """A table without content; returns the folder that it is in."""
    place = folder / name
    (place / "throughput.parquet").mkdir(parents=True)
    (place / "throughput.parquet" / "part").write_text(name)
    return place


SUMMARY = {"read": 1, "failed": 0, "unsettled": 0, "quarantined": 0, "reasons": [], "tables": []}


def kept(name: str) -> None:
    from harness.spark.aggregate import Summary

    make_tables(name, TABLES / ahead.FOLDER)
    ahead.keep(TABLES / ahead.FOLDER / name, ahead.fingerprint(RAW / name), Summary(**SUMMARY))


def test_others_are_due_once_their_records_are_all_there(config):
    assert ahead.due(config, RAW / "one") == {RAW / "two": TABLES / "two"}
    assert ahead.due(config, RAW / "two") == {RAW / "one": TABLES / "one"}


def test_tables_that_are_newer_than_their_records_are_not_made_again(config):
    table = make_tables("two") / "throughput.parquet"
    os.utime(table, (2**33, 2**33))
    assert ahead.due(config, RAW / "one") == {}
    os.utime(table, (1, 1))
    assert list(ahead.due(config, RAW / "one")) == [RAW / "two"]


def test_what_was_made_ahead_is_taken_once(config):
    kept("two")
    assert ahead.due(config, RAW / "one") == {}
    assert ahead.take(RAW / "two", TABLES / "two") == SUMMARY
    assert (TABLES / "two/throughput.parquet/part").read_text() == "two"
    assert ahead.take(RAW / "two", TABLES / "two") is None


def test_after_a_kill_while_they_are_moved_the_rest_is_not_taken(config, monkeypatch):
    kept("two")

    def killed(self, target):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(Path, "rename", killed)
        ahead.take(RAW / "two", TABLES / "two")
    assert ahead.take(RAW / "two", TABLES / "two") is None


def test_what_was_made_of_other_records_is_not_taken(config):
    kept("two")
    with next((RAW / "two").glob("*.jsonl")).open("a") as file:
        file.write("\n")
    assert ahead.due(config, RAW / "one") == {RAW / "two": TABLES / "two"}
    assert ahead.take(RAW / "two", TABLES / "two") is None
    assert not (TABLES / "two").exists()


def test_half_of_what_was_made_is_not_taken(config):
    kept("two")
    (TABLES / ahead.FOLDER / "two" / ahead.SUMMARY).unlink()
    assert ahead.take(RAW / "two", TABLES / "two") is None


@pytest.mark.heavy
def test_one_spark_makes_the_tables_of_all_experiments(config, spark, monkeypatch, capsys):
    opened = []

    def open_session(settings):
        opened.append(settings)
        return contextlib.nullcontext(spark)

    monkeypatch.setattr("harness.spark.session.open_session", open_session)
    for name in ("one", "two"):
        words = [
            "--records",
            str(RAW / name),
            "--tables",
            str(TABLES / name),
            "--config",
            "config/quick.yaml",
            "--ahead",
        ]
        assert main(["aggregate", *words]) == 0
        assert capsys.readouterr().out.startswith("records   2 read, 0 failed")
        assert set(pd.read_parquet(TABLES / name / "throughput.parquet")["experiment"]) == {name}
    assert len(opened) == 1
    assert not (TABLES / "three").exists()


def test_without_a_config_there_are_no_others(config, capsys):
    assert (
        main(
            ["aggregate", "--records", str(RAW / "one"), "--tables", str(TABLES / "one"), "--ahead"]
        )
        == 2
    )
    assert "--ahead needs --config: it names the other experiments" in capsys.readouterr().err


@pytest.fixture
def made(tmp_path, spark):
    """Return what is made together of folders of records: experiment -> folder of tables, summary."""

    def make(*names: str):
        from harness.spark.together import aggregate_together

        staging = tmp_path / "staging"
        staging.mkdir()
        found = aggregate_together(spark, {name: RAW / name for name in names}, staging)
        return {name: (folder, summary) for name, folder, summary in found}

    return make


@pytest.mark.heavy
def test_tables_made_together_are_those_made_alone_where_every_line_can_be_used(
    config, make_record, elastic, sample, simulated, write_lines, spark, made
):
    from harness.spark.aggregate import aggregate
    from harness.spark.schemas import TABLES as NAMES
    from harness.spark.storage import table_writer

    runs = [
        make_record(experiment="two", run_id=f"run {n}", repeat=n, arm="dynamic-1", model="dynamic")
        for n in range(5)
    ]
    adapts = {
        "arm": "dynamic-elastic",
        "elastic": elastic(),
        "adaptation": [sample(time_s=0.5), sample(time_s=1.0)],
    }
    adapting = [
        make_record(experiment="two", run_id=f"adapts {n}", repeat=n, model="dynamic", **adapts)
        for n in range(2)
    ]
    broken = make_record(experiment="two", run_id="broken", correct=False, error="a tuple was lost")
    varied = make_record(
        experiment="two", run_id="varied", **simulated(constants={"atomic.fence": 3.0})
    )
    write_lines(RAW / "two/more.jsonl", *runs, *adapting, broken, varied)
    # lines that cannot be used: their own jobs name them
    again = make_record(experiment="four", run_id="again")
    write_lines(RAW / "four/one.jsonl", make_record(experiment="four"), again, again)
    write_lines(RAW / "three/more.jsonl", "{")
    write_lines(
        RAW / "five/one.jsonl",
        make_record(experiment="five"),
        make_record(experiment="one", run_id="astray"),
    )
    together = made("one", "two", "three", "four", "five")
    assert together.keys() == {"one", "two"}
    for folder, _ in together.values():
        assert {table.name for table in folder.iterdir()} == {f"{table}.parquet" for table in NAMES}
    folder, summary = together["two"]
    with table_writer("alone") as writer:
        assert aggregate(spark, str(RAW / "two"), writer) == summary
    for table in NAMES:
        alone = pd.read_parquet(f"alone/{table}.parquet")
        pd.testing.assert_frame_equal(pd.read_parquet(folder / f"{table}.parquet"), alone)
    assert len(pd.read_parquet(folder / "timeline.parquet")) > 0
    folder, summary = together["one"]
    assert (summary.read, summary.failed) == (2, 0)
    assert set(pd.read_parquet(folder / "throughput.parquet")["experiment"]) == {"one"}
    assert len(pd.read_parquet(folder / "timeline.parquet")) == 0
