"""Tests of where records come from and how tables take their place. No Spark is started: a table is
a directory here.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.errors import RunFailed, UserError
from harness.spark.storage import STAGING, as_source, check_records, local_path, table_writer


def write_table(writer, tables: Path, name: str, content: str) -> None:
    directory = tables / STAGING / name
    directory.mkdir()
    (directory / "part-0").write_text(content)
    writer.written.append(name)


def test_a_place_is_local_unless_it_is_a_url_of_something_else(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert local_path("results/raw") == tmp_path / "results" / "raw"
    assert local_path("file:///a%20b/c") == Path("/a b/c")
    assert local_path("hdfs://node/raw") is None
    assert as_source("s3a://bucket/raw") == "s3a://bucket/raw"


def test_no_character_of_a_local_path_is_a_pattern():
    assert as_source("/a[1]/{b}*") == r"file:///a\[1\]/\{b\}\*"


def test_tables_take_their_place_together_and_replace_the_old_ones_whole(tmp_path):
    (tmp_path / "a.parquet").mkdir()
    (tmp_path / "a.parquet" / "stale").touch()
    with table_writer(str(tmp_path)) as writer:
        write_table(writer, tmp_path, "a.parquet", "new")
        write_table(writer, tmp_path, "b.parquet", "new")
        assert not (tmp_path / "b.parquet").exists()
    assert sorted(str(file.relative_to(tmp_path)) for file in tmp_path.rglob("*")) == [
        "a.parquet",
        "a.parquet/part-0",
        "b.parquet",
        "b.parquet/part-0",
    ]


def test_a_failure_leaves_the_old_tables_alone(tmp_path):
    (tmp_path / "a.parquet").mkdir()
    (tmp_path / "a.parquet" / "part-0").write_text("old")
    with pytest.raises(ZeroDivisionError), table_writer(str(tmp_path)) as writer:
        write_table(writer, tmp_path, "a.parquet", "new")
        raise ZeroDivisionError
    assert (tmp_path / "a.parquet" / "part-0").read_text() == "old"
    assert [file.name for file in tmp_path.iterdir()] == ["a.parquet"]


def test_what_a_killed_job_left_is_cleared_away(tmp_path):
    (tmp_path / STAGING / "a.parquet").mkdir(parents=True)
    with table_writer(str(tmp_path)) as writer:
        write_table(writer, tmp_path, "a.parquet", "new")
    assert [file.name for file in tmp_path.iterdir()] == ["a.parquet"]


def test_two_aggregations_into_one_place_do_not_mix(tmp_path):
    with (
        table_writer(str(tmp_path)) as writer,
        pytest.raises(RunFailed, match="another aggregation is writing"),
        table_writer(str(tmp_path)),
    ):
        pass
    assert writer.written == []
    with table_writer(str(tmp_path)):
        pass


def test_tables_cannot_be_below_a_file(tmp_path):
    (tmp_path / "file").touch()
    for place in ("file", "file/tables"):
        with (
            pytest.raises(UserError, match=r"--tables .* cannot be a directory"),
            table_writer(str(tmp_path / place)),
        ):
            pass


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda path: None, "there is none at"),
        (lambda path: path.touch(), "not a file"),
        (lambda path: path.mkdir(), "holds no file"),
        (lambda path: (path / "dir.jsonl").mkdir(parents=True), "holds no file"),
        (lambda path: (path.mkdir(), (path / "a.jsonl").touch()), r"holds empty files only \(1\)"),
        (
            lambda path: (path.mkdir(), (path / "a.jsonl").symlink_to("nowhere")),
            "is missing or may not be read",
        ),
        (lambda path: (path.mkdir(), (path / "_a.jsonl").write_text("{}")), "begin with _"),
        (lambda path: (path.mkdir(), (path / "a:b.jsonl").write_text("{}")), "colon"),
    ],
)
def test_records_that_cannot_be_read_are_refused_before_spark_starts(tmp_path, make, told):
    make(tmp_path / "raw")
    with pytest.raises(UserError, match=told):
        check_records(str(tmp_path / "raw"))
