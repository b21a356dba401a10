"""Results of sinks, as lines of JSON, CSV or Parquet: written while the run goes on, in little
memory.

WHOLE  A file gets its name when the run has ended well. Until then, and for ever if it does not end
       well, its name ends in `.partial`.
SINKS  Of several sinks each has a file: `out.csv` becomes `out.SINK.csv`. On standard output the
       first member of each object, `sink`, says which one it is of.
"""

from __future__ import annotations

import csv
import io
import json
import math
import os
import re
import sys
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, BinaryIO

from harness.errors import RunFailed, UserError
from harness.files.whole import is_special, open_for_writing
from harness.graph.schema import Attribute, Schema

STANDARD = "-"
PARTIAL = ".partial"
FLUSH_S = 0.5  # for which a result waits for others, at most
FIRST = 10  # results that are shown where none are kept
ROWS = 2**14  # of a group of a Parquet file, which lies in memory

Values = Mapping[str, Any]


@dataclass(frozen=True)
class ResultStream:
    """JobResults of one kind: of a sink, or of one of its input ports where these differ."""

    name: str
    schema: Schema


# -- values ----------------------------------------------------------------------------------------

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
SECOND = 10**9  # ns


def iso_time(time: int) -> str:
    """Return a time [ns since 1970] in ISO 8601, UTC, with as many digits as it needs."""
    seconds, part = divmod(time, SECOND)
    text = (EPOCH + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%S")
    digits = f".{part:09d}".rstrip("0") if part else ""
    return f"{text.rjust(19, '0')}{digits}Z"


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None  # JSON has no others


def plain(attribute: Attribute) -> Callable[[Any], Any] | None:
    """Return the function that makes a value of an attribute one of JSON; None: it is one."""
    made: dict[str, Callable[[Any], Any]] = {
        "time": iso_time,
        "bytes": lambda value: value.hex(),
        "float32": _number,
        "float64": _number,
        "boolean": bool,
    }
    return made.get(attribute.kind)


def plain_values(schema: Schema) -> Callable[[Values], dict[str, Any]]:
    """Return the function that makes a tuple an object of JSON."""
    made = [(each.name, plain(each)) for each in schema.attributes]
    return lambda values: {
        name: values[name] if change is None else change(values[name]) for name, change in made
    }


# -- formats ---------------------------------------------------------------------------------------


class Format(ABC):
    """Writer of the results of one stream in a format. Raises OSError."""

    def __init__(self, stream: ResultStream, file: BinaryIO) -> None:
        self.stream, self.file = stream, file

    @abstractmethod
    def write(self, rows: Sequence[Values]) -> None:
        """Write results."""

    def flush(self) -> None:
        """Pass to the system what has been written."""
        self.file.flush()

    def close(self) -> None:
        """Write the rest, and close the file."""
        self.file.close()


class JsonLines(Format):
    """A line of JSON for each result."""

    def __init__(self, stream: ResultStream, file: BinaryIO, named: bool = False) -> None:
        super().__init__(stream, file)
        self._plain = plain_values(stream.schema)
        self._before = {"sink": stream.name} if named else {}

    def write(self, rows: Sequence[Values]) -> None:
        text = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
        lines = [text(self._before | self._plain(values)) + "\n" for values in rows]
        self.file.write("".join(lines).encode())


class Csv(Format):
    """A header, and a record for each result (RFC 4180)."""

    def __init__(self, stream: ResultStream, file: BinaryIO) -> None:
        super().__init__(stream, file)
        self._plain = plain_values(stream.schema)
        self._record([each.name for each in stream.schema.attributes])

    def _record(self, *records: Iterable[Any]) -> None:
        text = io.StringIO()
        csv.writer(text).writerows(records)
        self.file.write(text.getvalue().encode())

    def write(self, rows: Sequence[Values]) -> None:
        self._record(*(self._plain(values).values() for values in rows))


class Parquet(Format):
    """A table whose columns have the types of the schema."""

    def __init__(self, stream: ResultStream, file: BinaryIO) -> None:
        import pyarrow as arrow
        from pyarrow.parquet import ParquetWriter

        super().__init__(stream, file)
        types = {"string": arrow.string(), "boolean": arrow.bool_()}
        types |= {"float32": arrow.float32(), "float64": arrow.float64()}
        types["time"] = arrow.timestamp("ns", tz="UTC")
        self._schema = arrow.schema(
            [
                (each.name, arrow.binary(each.bound) if each.kind == "bytes" else types[each.kind])
                if each.kind == "bytes" or each.kind in types
                else (each.name, getattr(arrow, each.kind)())
                for each in stream.schema.attributes
            ]
        )
        self._table = arrow.Table
        self._writer = ParquetWriter(file, self._schema)
        self._rows: list[Values] = []

    def write(self, rows: Sequence[Values]) -> None:
        self._rows += rows
        if len(self._rows) >= ROWS:
            self._group()

    def _group(self) -> None:
        rows, self._rows = self._rows, []
        self._writer.write_table(self._table.from_pylist(rows, self._schema))

    def close(self) -> None:
        if self._rows:
            self._group()
        self._writer.close()  # without its footer a file cannot be read
        super().close()


FORMATS: dict[str, type[Format]] = {
    ".jsonl": JsonLines,
    ".ndjson": JsonLines,
    ".json": JsonLines,
    ".csv": Csv,
    ".parquet": Parquet,
}
"""Formats by the ending of a file's name."""


def format_of(path: str) -> type[Format]:
    """Return the format of a file by its name. Raises UserError for an unknown ending."""
    ending = Path(path).suffix.lower()
    if ending not in FORMATS:
        raise UserError(
            f"--output must end in {', '.join(FORMATS)}, or be - for standard output, not {path!r}"
        )
    return FORMATS[ending]


def files_of(path: str, streams: Sequence[ResultStream]) -> list[str]:
    """Return the file of each stream."""
    if len(streams) == 1:
        return [path]
    ending = Path(path).suffix
    stem = path.removesuffix(ending)
    return [f"{stem}.{re.sub('[^A-Za-z0-9_-]+', '-', each.name)}{ending}" for each in streams]


# -- results ---------------------------------------------------------------------------------------


class JobResults:
    """All that the sinks of a run deliver. Any thread may add to it.

    `path`: a file, `-` for standard output, or None: only the first ten are shown. `out`: standard
    output.
    """

    def __init__(self, path: str | None, streams: Sequence[ResultStream], out: BinaryIO) -> None:
        self.path, self.streams, self._out = path, streams, out
        self.counts = dict.fromkeys((each.name for each in streams), 0)
        self.closed = False  # True: nobody reads them any more
        self._problem: OSError | None = None
        self._turn = threading.Lock()
        self._formats: dict[str, Format] = {}
        self._partial: dict[Path, Path] = {}  # by the file: its name until the end

    @property
    def files(self) -> list[Path]:
        """Files that are written, by the names that they have now."""
        return [partial if partial.exists() else file for file, partial in self._partial.items()]

    def open(self) -> None:
        """Create the files. Raises RunFailed if the system refuses."""
        if self.path in (None, STANDARD):
            for each in self.streams:
                self._formats[each.name] = JsonLines(each, self._out, len(self.streams) > 1)
            return
        made = format_of(self.path)
        for stream, name in zip(self.streams, files_of(self.path, self.streams), strict=True):
            path = Path(name)
            whole = not is_special(path)
            written = path.with_name(path.name + PARTIAL) if whole else path
            try:
                file = os.fdopen(
                    open_for_writing(written, os.O_CREAT | os.O_TRUNC if whole else 0), "wb"
                )
                self._formats[stream.name] = made(stream, file)
            except OSError as problem:
                raise RunFailed(f"cannot write {written}: {problem.strerror}") from None
            if whole:
                self._partial[path] = written

    def add(self, stream: ResultStream, rows: Sequence[Values]) -> bool:
        """Take results. Return False if they cannot be written, or nobody reads them: the run is
        to end.
        """
        with self._turn:
            if self.closed or self._problem is not None:
                return False
            shown = len(rows) if self.path is not None else max(0, FIRST - self.total)
            self.counts[stream.name] += len(rows)
            if shown == 0:
                return True
            return self._do(lambda: self._write(stream, rows[:shown]))

    @property
    def total(self) -> int:
        """Number of results so far."""
        return sum(self.counts.values())

    def flush(self) -> bool:
        """Pass to the system what has been written; False as of `add`."""
        with self._turn:
            return self._do(lambda: [each.flush() for each in self._formats.values()])

    def close(self, whole: bool) -> None:
        """Write the rest. `whole`: the run has ended well, so files get their names. Raises
        RunFailed if the system refuses.
        """
        with self._turn:
            standard = self.path in (None, STANDARD)
            for each in self._formats.values():
                self._do(each.flush if standard else each.close)
            if self._problem is not None:
                raise RunFailed(f"cannot write the results: {self._problem.strerror}")
            if whole and not self.closed:
                for file, partial in self._partial.items():
                    partial.replace(file)

    def _write(self, stream: ResultStream, rows: Sequence[Values]) -> None:
        self._formats[stream.name].write(rows)
        if self.path is None:
            self._out.flush()  # they are few, and somebody watches

    def _do(self, what: Callable[[], object]) -> bool:
        try:
            what()
        except BrokenPipeError:
            self.closed = True
        except OSError as problem:
            self._problem = problem
        return not self.closed and self._problem is None


def standard_output() -> BinaryIO:
    """Return standard output for results; all else that is printed goes to standard error from now
    on.
    """
    sys.stdout.flush()
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    return out
