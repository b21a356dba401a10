"""Records are checked when written and when read, and written whole or not at all."""

from __future__ import annotations

import copy
import errno
import os
from pathlib import Path

import pytest

from harness.errors import RunFailed, UserError
from harness.measurement.record.declaration import (
    BALANCER,
    ELASTIC,
    LATENCY,
    LEFT_OUT,
    OPERATOR_FACTS,
    PART_LATENCY,
    PROFILED,
    RECORD,
    SAMPLE,
    SIMULATION,
    THREAD_TIME,
    TIME_SPENT,
    TIME_USE,
)
from harness.measurement.record.json_schema import record_schema
from harness.measurement.records import (
    RecordError,
    read_records,
    record_line,
    validate_record,
    write_records,
)
from tests.records import example, oldest

SCHEMA_TREE = record_schema()


@pytest.fixture
def record():
    """One that has all objects there are."""
    one, other = (example(SAMPLE, balancers=[example(BALANCER)]) for _ in range(2))
    return example(
        RECORD,
        adaptation=[one],
        samples=[other],
        elastic=example(ELASTIC),
        latency_ns=example(LATENCY, parts=[example(PART_LATENCY)]),
        left_out=[example(LEFT_OUT)],
        time_use=example(
            TIME_USE,
            operators=[example(OPERATOR_FACTS)],
            threads=[example(THREAD_TIME, spent=[example(TIME_SPENT)])],
        ),
        simulation=example(SIMULATION, profiled=example(PROFILED)),
    )


def fields(schema: dict, prefix: tuple = (), required: bool = False) -> list[tuple[tuple, dict]]:
    """Path and schema of every field that a record has; or of every one that it must have."""
    found = []
    for name, field in schema.get("properties", {}).items():
        path = (*prefix, name)
        if not required or name in schema["required"]:
            found.append((path, field))
        found += fields(field, path, required)
        if "items" in field:
            found += fields(field["items"], (*path, 0), required)
    return found


FIELDS = fields(SCHEMA_TREE)


def types(field: dict) -> list[str]:
    return field["type"] if isinstance(field["type"], list) else [field["type"]]


def with_value(record: dict, path: tuple, change) -> dict:
    """A copy of the record in which `change(parent, key)` was done at `path`."""
    changed = copy.deepcopy(record)
    parent = changed
    for key in path[:-1]:
        parent = parent[key]
    change(parent, path[-1])
    return changed


def names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


def test_a_record_passes_and_comes_back_the_same(record, tmp_path):
    path = tmp_path / "deep" / "er" / "records.jsonl"
    write_records(path, [record, record])
    assert read_records(path) == ([record, record], [])
    assert path.read_text().count("\n") == 2
    assert names(path.parent) == ["records.jsonl"]


def test_every_field_is_described():
    assert len(FIELDS) > 70
    for path, field in FIELDS:
        assert len(field["description"]) > 8, path
        assert "type" in field, path


def is_refused(broken: dict, path: tuple) -> bool:
    """Return True for an error that names the field."""
    try:
        validate_record(broken)
    except RecordError as error:
        return str(path[-1]) in str(error)
    return False


def test_a_record_without_one_of_its_fields_is_refused(record):
    paths = [path for path, _ in fields(SCHEMA_TREE, required=True)]
    assert len(paths) > 70
    for path in paths:
        broken = with_value(record, path, lambda parent, key: parent.pop(key))
        assert is_refused(broken, path), path


@pytest.mark.parametrize("value", [-1, "many"])
def test_a_number_that_is_negative_or_none_is_refused(record, value):
    paths = [path for path, field in FIELDS if "minimum" in field]
    assert len(paths) > 70
    for path in paths:
        broken = with_value(record, path, lambda parent, key: parent.__setitem__(key, value))
        assert is_refused(broken, path), path


def test_records_of_before_there_were_laws_are_good(record):
    old = oldest(record)
    assert len(old["samples"][0]) == 8 and "elastic" not in old and "adaptation" not in old
    validate_record(old)


def test_samples_of_the_adaptation_are_checked_like_others(record):
    del record["adaptation"][0]["time_s"]
    with pytest.raises(RecordError, match=r"adaptation\[0\]: 'time_s'"):
        validate_record(record)


def test_every_number_has_a_lower_limit():
    numeric = {path for path, field in FIELDS if {"integer", "number"} & {*types(field)}}
    limited = {path for path, field in FIELDS if {"minimum", "exclusiveMinimum"} & field.keys()}
    assert numeric - limited == set()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"schema_version": 0}, "schema_version is 0; this version reads 1"),
        ({"schema_version": "1"}, "schema_version is '1'"),
        ({"colour": "red"}, "colour"),
        ({"cell": "a/b"}, "cell"),
        ({"run_id": "1"}, "run_id"),
        ({"commit": "main"}, "commit"),
        ({"started_at": "yesterday"}, "started_at"),
        ({"settled": 1}, "settled"),
    ],
)
def test_what_is_not_a_record_of_this_version_is_refused_by_name(record, changes, words):
    with pytest.raises(RecordError, match=words):
        validate_record(record | changes)


def test_a_number_that_json_cannot_hold_is_refused(record):
    with pytest.raises(RecordError, match="record"):
        record_line(record | {"duration_s": float("inf")})


def test_bad_lines_are_returned_with_their_number_and_the_reason(record, tmp_path):
    good = record_line(record)
    nan = good.replace('"warmup_s": ', '"warmup_s": NaN, "x": ')
    lines = [
        good,
        good[:100],
        "",
        "[1, 2]",
        "null",
        nan,
        record_line(record).replace('"seed": 0', '"seed": -5'),
        "[" * 100_000,
        good,
    ]
    path = tmp_path / "mixed.jsonl"
    path.write_bytes("\n".join(lines).encode() + b"\n\xff\xfe\n")
    records, problems = read_records(path)
    assert records == [record, record]
    assert [problem.line for problem in problems] == [2, 4, 5, 6, 7, 8, 10]
    reasons = [problem.reason for problem in problems]
    assert all(reasons)
    assert "not JSON" in reasons[0]
    assert "object" in reasons[1]
    assert "NaN" in reasons[3]
    assert "seed" in reasons[4]


def test_a_file_that_cannot_be_read_is_the_users_mistake(tmp_path):
    for path in (tmp_path / "none.jsonl", tmp_path):
        with pytest.raises(UserError, match=f"{path}: cannot be read"):
            read_records(path)


@pytest.mark.parametrize("call", ["write", "fsync"])
def test_a_full_disk_names_the_path_and_leaves_what_was_there(record, tmp_path, monkeypatch, call):
    path = tmp_path / "records.jsonl"
    path.write_text("before\n")

    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, call, full)
        with pytest.raises(RunFailed, match=f"cannot write {path}: No space left"):
            write_records(path, [record])
    assert path.read_text() == "before\n"
    assert names(tmp_path) == ["records.jsonl"]


def test_a_disk_that_fills_while_writing_leaves_nothing_half_written(record, tmp_path, monkeypatch):
    really_write, calls = os.write, []

    def fills_up(handle, data):
        calls.append(len(data))
        if len(calls) > 2:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return really_write(handle, bytes(data[:100]))

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", fills_up)
        with pytest.raises(RunFailed, match="No space left"):
            write_records(tmp_path / "records.jsonl", [record])
    assert len(calls) == 3
    assert names(tmp_path) == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_device_is_written_to_and_never_replaced(record):
    before = Path("/dev/full").stat().st_rdev
    with pytest.raises(RunFailed, match="cannot write /dev/full: No space left"):
        write_records("/dev/full", [record])
    assert Path("/dev/full").stat().st_rdev == before
    write_records(os.devnull, [record])


def test_a_link_is_followed(record, tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "real.jsonl")
    write_records(tmp_path / "link", [record])
    assert (tmp_path / "link").is_symlink()
    assert read_records(tmp_path / "real.jsonl")[0] == [record]


def test_an_invalid_record_keeps_the_others_from_being_written(record, tmp_path):
    with pytest.raises(RecordError):
        write_records(tmp_path / "records.jsonl", [record, record | {"seed": -1}])
    assert names(tmp_path) == []


def test_a_number_too_large_for_a_float_is_no_record(tmp_path):
    """Python reads it as infinity, which the schema takes for a number."""
    path = tmp_path / "huge.jsonl"
    path.write_text('{"schema_version": 1, "duration_s": 1e400}\n')
    records, problems = read_records(path)
    assert (records, [problem.line for problem in problems]) == ([], [1])
    assert "must hold finite numbers, not 1e400" in problems[0].reason
