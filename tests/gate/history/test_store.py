"""The folder of verdicts: what a row says, that adding twice is adding once, and what cannot be
read.
"""

from __future__ import annotations

import dataclasses
import math

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from harness.errors import RunFailed, UserError
from harness.gate.history import store
from harness.gate.history.row import SCHEMA, entry_of
from harness.gate.host_key import host_key
from harness.gate.verdict import CellDecision, Side, Verdict
from tests.gate.history.made_verdicts import BIG_HOST, HOST, RATE, nights, result, verdict


def test_a_row_a_cell_says_what_was_measured_of_it_and_on_what(tmp_path):
    cells = (
        dataclasses.replace(result("chain"), head=(9.0, 10.0, 11.0), base=(4.0, 6.0)),
        result("rate", metric=RATE, verdict=Verdict.REGRESSED),
    )
    store.add(verdict(*cells, night=3, dirty=True), tmp_path)
    chain, rate = store.read(tmp_path).to_dict("records")
    expected = {
        "schema_version": 1,
        "suite": "nightly",
        "base_commit": "b" * 40,
        "head_commit": "03" * 20,
        "base_dirty": False,
        "head_dirty": True,
        "cell": "chain",
        "metric": "ns_per_hop",
        "unit": "ns",
        "lower_is_better": True,
        "verdict": "ok",
        "ratio": 1.01,
        "low": 0.99,
        "high": 1.03,
        "blocks": 10,
        "factor": 1.02,
        "alpha": 0.01,
        "base_samples": 2,
        "head_samples": 3,
        "base_median": 5.0,
        "head_median": 10.0,
        "head_low": 9.0,
        "head_high": 11.0,
        "interleaved": True,
        "control_failed": False,
        "host_key": host_key(HOST),
        "cpu_model": "AMD EPYC 7763",
        "cpus_allowed": 2,
        "kernel": "Linux 6.8",
        "compiler": None,
        "reason": "",
    }
    assert {name: chain[name] for name in expected} == expected
    assert chain["started_at"].isoformat() == "2026-10-04T03:00:00+00:00"
    assert set(chain) == set(SCHEMA.names)
    assert (rate["cell"], rate["unit"], rate["lower_is_better"], rate["verdict"]) == (
        "rate",
        "tuples/s",
        False,
        "regressed",
    )
    assert rate["verdict_id"] == chain["verdict_id"]


def test_a_cell_without_numbers_is_a_row_with_nulls(tmp_path):
    failed = dataclasses.replace(
        result(),
        head=(),
        base=(),
        decision=CellDecision(Verdict.UNMEASURED, math.nan, 0.0, math.inf, 0),
        reason="hung",
    )
    store.add(verdict(failed), tmp_path)
    (row,) = pq.read_table(next(tmp_path.glob("*.parquet"))).to_pylist()
    assert [
        row[name] for name in ("ratio", "head_median", "head_low", "head_high", "base_median")
    ] == [None] * 5
    assert (row["low"], row["high"], row["verdict"], row["reason"]) == (
        0.0,
        math.inf,
        "not measured",
        "hung",
    )


def test_adding_a_verdict_twice_is_adding_it_once(tmp_path):
    path = store.add(verdict(), tmp_path)
    before = path.read_bytes()
    assert path.name.startswith("20261001T030000Z-")
    assert store.add(verdict(), tmp_path) is None
    assert [each.name for each in tmp_path.iterdir()] == [path.name]
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "other",
    [
        verdict(night=1),
        verdict(commit="c" * 40),
        verdict(host=BIG_HOST),
        verdict(result(seed=9)),
        verdict(dirty=True),
    ],
)
def test_verdicts_that_differ_anywhere_are_two(tmp_path, other):
    store.add(verdict(), tmp_path)
    assert store.add(other, tmp_path) is not None
    assert len(store.read(tmp_path)) == 2


def test_the_oldest_comes_first_in_whatever_order_they_were_added(tmp_path):
    for each in reversed(nights(4)):
        store.add(each, tmp_path)
    assert store.read(tmp_path)["started_at"].is_monotonic_increasing


def test_a_time_without_zone_is_utc_and_others_are_made_so():
    local = dataclasses.replace(verdict(), started_at="2026-10-01T05:00:00+02:00")
    naive = dataclasses.replace(verdict(), started_at="2026-10-01T03:00:00")
    for each in (local, naive):
        assert entry_of(each).name.startswith("20261001T030000Z-")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"started_at": "yesterday"}, "must be in ISO 8601, not 'yesterday'"),
        ({"cells": ()}, "no cells"),
        ({"head": Side(".", None, host={"cpus_allowed": "two"})}, "cannot be kept: .*two"),
        ({"head": Side(".", None, host={"cpus_allowed": 2**40})}, "cannot be kept"),
    ],
)
def test_a_verdict_that_cannot_be_kept_is_refused(change, words):
    with pytest.raises(UserError, match=words):
        entry_of(dataclasses.replace(verdict(), **change))


def test_a_folder_without_verdicts_says_how_to_begin(tmp_path):
    for folder in (tmp_path, tmp_path / "missing"):
        with pytest.raises(UserError, match=r"no verdicts in .*history add"):
            store.read(folder)


def test_a_file_that_is_no_parquet_is_named(tmp_path):
    path = store.add(verdict(), tmp_path)
    path.write_bytes(path.read_bytes()[:200])
    with pytest.raises(UserError, match=rf"{path.name} cannot be read as Parquet: [^\n]*$"):
        store.read(tmp_path)


def test_another_schema_version_is_named(tmp_path):
    path = store.add(verdict(), tmp_path)
    table = pq.read_table(path)
    place = table.column_names.index("schema_version")
    pq.write_table(
        table.set_column(place, SCHEMA.field("schema_version"), pa.array([7], pa.int32())), path
    )
    with pytest.raises(UserError, match=r"schema version 7, this program reads 1"):
        store.read(tmp_path)


def test_a_parquet_file_of_something_else_is_named(tmp_path):
    pq.write_table(pa.table({"rate": [1.0]}), tmp_path / "other.parquet")
    with pytest.raises(UserError, match=r"other.parquet is of schema version unknown"):
        store.read(tmp_path)
    pq.write_table(
        pa.table({"schema_version": pa.array([1], pa.int32())}), tmp_path / "other.parquet"
    )
    with pytest.raises(UserError, match=r"other.parquet is not a file of a history"):
        store.read(tmp_path)


@pytest.mark.parametrize("bad", [b"", b"PAR1", b"no Parquet at all", None])
def test_a_file_that_cannot_be_used_is_left_out_with_a_note(tmp_path, bad):
    for each in nights(3):
        store.add(each, tmp_path)
    if bad is None:
        pq.write_table(
            pa.table({"schema_version": pa.array([7], pa.int32())}), tmp_path / "bad.parquet"
        )
    else:
        (tmp_path / "bad.parquet").write_bytes(bad)
    notes = []
    assert len(store.read(tmp_path, notes.append)) == 3
    (note,) = notes
    assert "bad.parquet" in note and note.endswith(": left out") and "\n" not in note


def test_a_folder_that_cannot_be_written_is_told(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(RunFailed, match="cannot write"):
        store.add(verdict(), tmp_path / "file" / "history")
