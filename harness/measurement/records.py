"""Records in files: one run a line of JSON, checked against config/schemas/record.schema.json when written and when read."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from harness.errors import RunFailed, UserError
from harness.measurement.assemble import SCHEMA_VERSION
from harness.measurement.source import CHECKOUT

SCHEMA = CHECKOUT / "config" / "schemas" / "record.schema.json"


class RecordError(RunFailed):
    """A record that breaks its schema. The message names the field and the rule."""


class Problem(NamedTuple):
    """A line that holds no record of ours."""

    line: int  # from 1
    reason: str


def validate_record(record: object) -> None:
    """Raise RecordError, naming the worst offence, unless `record` fits the schema."""
    if isinstance(record, dict) and record.get("schema_version") != SCHEMA_VERSION:
        raise RecordError(f"schema_version is {record.get('schema_version')!r}; this version reads {SCHEMA_VERSION}")
    from jsonschema.exceptions import best_match

    error = best_match(_validator().iter_errors(record))
    if error is not None:
        message = error.message if len(error.message) <= 200 else error.message[:200] + "…"
        where = error.json_path.removeprefix("$").removeprefix(".")
        raise RecordError(f"{where}: {message}" if where else message)


def record_line(record: dict[str, Any]) -> str:
    """The record as one line of JSON, without its end. Raises RecordError if it breaks the schema."""
    validate_record(record)
    try:
        return json.dumps(record, allow_nan=False)
    except ValueError as error:
        raise RecordError(f"record {record['run_id']} holds a number that JSON cannot: {error}") from error


def write_records(path: str | os.PathLike[str], records: Sequence[dict[str, Any]]) -> None:
    """Write the records, all or nothing: to a temporary name beside `path`, flushed to the disk, then renamed.

    An existing file is replaced; a link is followed; a device or pipe is written to as it is. Missing directories are made.
    Raises RecordError before anything is written, RunFailed naming `path` if the system refuses (full disk, no permission).
    """
    data = "".join(record_line(record) + "\n" for record in records).encode()
    target = Path(path).resolve()
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        if _is_special(target):
            _write(target, data, os.O_WRONLY)
        else:
            _replace(target, data)
    except OSError as error:
        raise RunFailed(f"cannot write {path}: {error.strerror}") from error


def read_records(path: str | os.PathLike[str]) -> tuple[list[dict[str, Any]], list[Problem]]:
    """The good records of a file, and the lines that hold none, each with the reason. Empty lines are passed over.

    Raises UserError if the file cannot be read.
    """
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise UserError(f"cannot read records from {path}: {error.strerror}") from error
    records: list[dict[str, Any]] = []
    problems: list[Problem] = []
    for number, line in enumerate(data.split(b"\n"), start=1):
        if not line.strip():
            continue
        try:
            record = _parse(line)
            validate_record(record)
        except RecordError as error:
            problems.append(Problem(number, str(error)))
        else:
            records.append(record)
    return records, problems


def _parse(line: bytes) -> Any:
    def refuse(word: str) -> float:
        raise ValueError(f"{word} is not JSON")

    try:
        return json.loads(line.decode(), parse_constant=refuse)
    except (ValueError, RecursionError) as error:
        raise RecordError(f"not JSON: {error}") from error


@lru_cache
def _validator() -> Any:
    from jsonschema import Draft202012Validator

    return Draft202012Validator(json.loads(SCHEMA.read_text(encoding="utf-8")))


def _is_special(path: Path) -> bool:
    """Whether it exists and is neither a file, which is replaced, nor a directory, which nothing can be written to."""
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def _replace(target: Path, data: bytes) -> None:
    temporary = target.with_name(f".{target.name[:100]}.{os.urandom(6).hex()}.tmp")
    try:
        _write(temporary, data, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        temporary.replace(target)
    except BaseException:
        with suppress(FileNotFoundError):
            temporary.unlink()
        raise
    directory = os.open(target.parent, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


def _write(path: Path, data: bytes, flags: int) -> None:
    handle = os.open(path, flags | os.O_CLOEXEC, 0o666)
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(handle, view) :]
        if stat.S_ISREG(os.fstat(handle).st_mode):  # a device or pipe has nothing to flush
            os.fsync(handle)
    finally:
        os.close(handle)
