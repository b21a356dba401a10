"""A folder of verdicts, one Parquet file each, named by its time and content. Adding a verdict
twice adds it once, and two jobs may add at the same time. No file is ever changed, so a cache, a
bucket or a branch can keep them."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from harness.errors import UserError
from harness.files.given import read_given
from harness.files.whole import write_whole
from harness.gate.history.row import SCHEMA, SCHEMA_VERSION, entry_of
from harness.gate.verdict import Comparison
from harness.measurement.lock import say_on_stderr


def add(comparison: Comparison, folder: Path) -> Path | None:
    """Store a verdict. Return its file, or None if it was there already. Raises UserError;
    RunFailed if the file cannot be written."""
    entry = entry_of(comparison)
    path = folder / entry.name
    if path.exists():
        return None
    buffer = io.BytesIO()
    pq.write_table(entry.rows, buffer)
    write_whole(path, buffer.getvalue())
    return path


def read(folder: Path, notify: Callable[[str], None] = say_on_stderr) -> pd.DataFrame:
    """Return all rows of a folder, the oldest first, with the columns of `row.SCHEMA`.

    A file that cannot be read, or has another version, is left out, and `notify` receives its name
    and the reason. Raises UserError if there is no file, or none that can be used.
    """
    paths = sorted(folder.glob("*.parquet")) if folder.is_dir() else []
    if not paths:
        raise UserError(
            f"--history: no verdicts in {folder}; `millrace gate history add VERDICT.json` adds one"
        )
    tables, problems = [], []
    for path in paths:
        try:
            tables.append(_read(path))
        except UserError as problem:
            problems.append(str(problem))
    if not tables:
        raise UserError(f"{problems[0]}; none of {len(paths)} file(s) can be used")
    for problem in problems:
        notify(f"{problem}: left out")
    frame = pa.concat_tables(tables).to_pandas()
    return frame.sort_values(["started_at", "verdict_id"], kind="stable", ignore_index=True)


def _read(path: Path) -> pa.Table:
    try:
        table = pq.ParquetFile(io.BytesIO(read_given(path))).read()
    except (OSError, pa.ArrowException) as error:
        said = str(error).strip().splitlines() or [type(error).__name__]
        raise UserError(f"--history: {path} cannot be read as Parquet: {said[0]}") from error
    versions = (
        set(table["schema_version"].to_pylist())
        if "schema_version" in table.column_names
        else {"unknown"}
    )
    if versions != {SCHEMA_VERSION}:
        found = ", ".join(map(str, sorted(versions, key=str))) or "unknown"
        raise UserError(
            f"--history: {path} is of schema version {found}, this program reads {SCHEMA_VERSION}"
        )
    if not table.schema.equals(SCHEMA):
        raise UserError(f"--history: {path} is not a file of a history: its columns are others")
    return table
