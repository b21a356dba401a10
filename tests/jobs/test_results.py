"""JobResults of sinks in files: formats, names, and what becomes of a file that is not whole."""

from __future__ import annotations

import csv
import io
import json

import pyarrow.parquet
import pytest

from harness.errors import RunFailed, UserError
from harness.graph.schema import Schema
from harness.jobs.results import PARTIAL, JobResults, ResultStream, files_of, format_of, iso_time

SEEN = ResultStream(
    "seen",
    Schema(
        "seen",
        {
            "at": "time",
            "n": "uint64",
            "x": "float64",
            "on": "boolean",
            "raw": "bytes[2]",
            "who": "string[20]",
        },
    ),
)
OTHER = ResultStream("the other", Schema("other", {"n": "int32"}))
ROWS = [
    {
        "at": 1_700_000_000_000_000_000,
        "n": 2**64 - 1,
        "x": 0.1,
        "on": True,
        "raw": b"\x01\xff",
        "who": 'a, "b"\nc',
    },
    {"at": -1, "n": 0, "x": float("nan"), "on": False, "raw": b"\0\0", "who": ""},
]


def written(path, rows=ROWS, whole=True, streams=(SEEN,)):
    results = JobResults(str(path), streams, io.BytesIO())
    results.open()
    assert results.add(SEEN, rows)
    results.close(whole)
    return results


def test_times_have_as_many_digits_as_they_need():
    assert iso_time(0) == "1970-01-01T00:00:00Z"
    assert iso_time(1_500_000_000) == "1970-01-01T00:00:01.5Z"
    assert iso_time(-1) == "1969-12-31T23:59:59.999999999Z"


@pytest.mark.parametrize("name", ["out.jsonl", "out.ndjson", "out.json"])
def test_lines_of_json_have_plain_values(tmp_path, name):
    written(tmp_path / name)
    first, second = map(json.loads, (tmp_path / name).read_text().splitlines())
    assert first == {
        "at": "2023-11-14T22:13:20Z", "n": 2**64 - 1, "x": 0.1, "on": True, "raw": "01ff", "who": 'a, "b"\nc',
    }  # fmt: skip
    assert second["x"] is None, "JSON has no NaN"


def test_csv_has_a_header_and_can_be_read_again(tmp_path):
    written(tmp_path / "out.csv")
    with (tmp_path / "out.csv").open(newline="") as file:
        rows = list(csv.reader(file))
    assert rows[0] == ["at", "n", "x", "on", "raw", "who"]
    assert rows[1] == ["2023-11-14T22:13:20Z", str(2**64 - 1), "0.1", "True", "01ff", 'a, "b"\nc']
    assert len(rows) == 3


def test_a_table_of_parquet_has_the_types_of_the_schema(tmp_path):
    written(tmp_path / "out.parquet", ROWS * 10_000)
    table = pyarrow.parquet.read_table(tmp_path / "out.parquet")
    assert table.num_rows == 20_000
    assert [str(each.type) for each in table.schema] == [
        "timestamp[ns, tz=UTC]", "uint64", "double", "bool", "fixed_size_binary[2]", "string",
    ]  # fmt: skip
    assert table.column("n")[0].as_py() == 2**64 - 1


def test_several_sinks_have_a_file_each(tmp_path):
    assert files_of("a.b/out.csv", [SEEN, OTHER]) == ["a.b/out.seen.csv", "a.b/out.the-other.csv"]
    results = JobResults(str(tmp_path / "out.csv"), (SEEN, OTHER), io.BytesIO())
    results.open()
    results.add(OTHER, [{"n": 5}])
    results.close(True)
    assert (tmp_path / "out.the-other.csv").read_bytes() == b"n\r\n5\r\n"
    assert (tmp_path / "out.seen.csv").read_bytes() == b"at,n,x,on,raw,who\r\n"


def test_on_standard_output_each_result_of_several_sinks_says_which_one_it_is_of():
    out = io.BytesIO()
    results = JobResults("-", (SEEN, OTHER), out)
    results.open()
    results.add(OTHER, [{"n": 5}])
    results.close(True)
    assert out.getvalue() == b'{"sink":"the other","n":5}\n'


def test_without_a_file_only_the_first_ten_are_shown():
    out = io.BytesIO()
    results = JobResults(None, (OTHER,), out)
    results.open()
    for begin in (0, 7, 14):
        results.add(OTHER, [{"n": n} for n in range(begin, begin + 7)])
    results.close(True)
    assert [json.loads(line)["n"] for line in out.getvalue().splitlines()] == list(range(10))
    assert results.total == 21


@pytest.mark.parametrize("name", ["out.jsonl", "out.csv", "out.parquet"])
def test_a_file_that_is_not_whole_keeps_another_name(tmp_path, name):
    path = tmp_path / name
    path.write_text("of before")
    results = written(path, whole=False)
    assert path.read_text() == "of before"
    partial = tmp_path / (name + PARTIAL)
    assert results.files == [partial] and partial.stat().st_size > 20
    if name.endswith("parquet"):
        assert pyarrow.parquet.read_table(partial).num_rows == 2


def test_a_full_disk_is_told_and_ends_the_results(tmp_path):
    results = JobResults("/dev/full", (OTHER,), io.BytesIO())
    with pytest.raises(UserError, match="must end in"):
        format_of("/dev/full")
    path = tmp_path / "full.jsonl"
    path.symlink_to("/dev/full")
    results = JobResults(str(path), (OTHER,), io.BytesIO())
    results.open()
    results.add(OTHER, [{"n": 1}] * 10_000)
    assert not results.flush()
    assert not results.add(OTHER, [{"n": 1}])
    with pytest.raises(RunFailed, match="cannot write the results: No space left on device"):
        results.close(True)


class Gone(io.BytesIO):
    def flush(self):
        raise BrokenPipeError


def test_a_reader_that_leaves_ends_the_results_and_is_no_error():
    results = JobResults("-", (OTHER,), Gone())
    results.open()
    assert results.add(OTHER, [{"n": 1}])
    assert not results.flush()
    assert not results.add(OTHER, [{"n": 1}]) and results.closed
    results.close(True)
