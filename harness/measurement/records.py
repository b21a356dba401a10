"""Records in files: one run a line of JSON, checked against the declaration when written and
read.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from harness.errors import RunFailed
from harness.files.given import load_strict_json, read_given
from harness.files.whole import write_whole
from harness.measurement.record.declaration import SCHEMA_VERSION
from harness.measurement.record.json_schema import record_schema

FEW_RESULTS = 1_000
"""Tuples at the sinks in a window, of which fewer may not show a precise rate (a guess)."""


class RecordError(RunFailed):
    """A record that breaks its schema. The message names the field and the rule."""


class Problem(NamedTuple):
    """A line that holds no record of ours."""

    line: int  # from 1
    reason: str


def validate_record(record: object) -> None:
    """Raise RecordError, naming the worst offence, unless `record` fits the schema."""
    if isinstance(record, dict):
        _check_version(record)
    from jsonschema.exceptions import best_match

    error = best_match(_validator().iter_errors(record))
    if error is not None:
        message = error.message if len(error.message) <= 200 else error.message[:200] + "…"
        where = error.json_path.removeprefix("$").removeprefix(".")
        raise RecordError(f"{where}: {message}" if where else message)


def _check_version(record: dict[str, Any]) -> None:
    version = record.get("schema_version")
    if version != SCHEMA_VERSION:
        raise RecordError(f"schema_version is {version!r}; this version reads {SCHEMA_VERSION}")


def rate_of(record: Mapping[str, Any]) -> float | None:
    """Return the throughput of a run [tuples/s]. A simulated window may end before the first lump
    of tuples arrives, so there it is the rate at which tuples pass the operators.
    """
    passed = (record.get("simulation") or {}).get("passed_tuples_per_s")
    return record["sink_tuples_per_s"] if passed is None else passed


def rare_results(record: Mapping[str, Any]) -> str:
    """Return why a simulated run of users' functions cannot become stationary if few tuples reach
    its sinks, in a sentence; "" if that is not so.
    """
    if not (record.get("simulation") or {}).get("profiled"):
        return ""
    arrived = round((record["sink_tuples_per_s"] or 0.0) * record["duration_s"])
    if arrived >= FEW_RESULTS:
        return ""
    count = "no tuple" if arrived == 0 else f"only {arrived:,} tuple{'' if arrived == 1 else 's'}"
    return (
        f"{count} reached its sinks; a simulated source has no end, so results that operators send "
        "at the end of their input never come: run the graph without --machine"
    )


def record_line(record: dict[str, Any]) -> str:
    """Return the record as one line of JSON, without its end. Raises RecordError if it breaks the
    schema.
    """
    validate_record(record)
    try:
        return json.dumps(record, allow_nan=False)
    except ValueError as error:
        raise RecordError(
            f"record {record['run_id']} holds a number that JSON cannot: {error}"
        ) from error


def write_records(path: str | os.PathLike[str], records: Sequence[dict[str, Any]]) -> None:
    """Write the records, all or nothing, as `write_whole`. Raises RecordError before anything is
    written, RunFailed as that.
    """
    write_whole(path, "".join(record_line(record) + "\n" for record in records).encode())


def read_records(
    path: str | os.PathLike[str], only: int | None = None
) -> tuple[list[dict[str, Any]], list[Problem]]:
    """Return the good records of a file, and the lines that hold none, each with the reason. Empty
    lines are passed over.

    `only`: the one line, from 1, that is of interest. Raises UserError as `read_given`.
    """
    data = read_given(path)
    records: list[dict[str, Any]] = []
    problems: list[Problem] = []
    for number, line in enumerate(data.split(b"\n"), start=1):
        if not line.strip() or only not in (None, number):
            continue
        try:
            record = _parse(line)
            validate_record(record)
        except RecordError as error:
            problems.append(Problem(number, str(error)))
        else:
            records.append(record)
    return records, problems


def read_written_records(
    path: str | os.PathLike[str],
) -> tuple[list[dict[str, Any]], Problem | None]:
    """Return the records of a file that `write_records` wrote, and the first line that cannot be
    one of them.

    Such a file was checked against the schema when it was written. That takes many times as long as
    reading it, so here a line must only be whole, and of this version. Raises UserError as
    `read_given`.
    """
    records: list[dict[str, Any]] = []
    for number, line in enumerate(read_given(path).split(b"\n"), start=1):
        if not line.strip():
            continue
        try:
            record = _parse(line)
            if not isinstance(record, dict):
                raise RecordError("not a JSON object")
            _check_version(record)
        except RecordError as error:
            return records, Problem(number, str(error))
        records.append(record)
    return records, None


def _parse(line: bytes) -> Any:
    try:
        return load_strict_json(line.decode())
    except (ValueError, RecursionError) as error:
        raise RecordError(f"not JSON: {error}") from error


@lru_cache
def _validator() -> Any:
    from jsonschema import Draft202012Validator

    return Draft202012Validator(record_schema())
