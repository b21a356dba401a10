"""A folder of verdicts, a Parquet file each, named by its time and content: adding one twice is adding it once, and two jobs
that add at the same time are not in each other's way. No file is ever changed: a cache, a bucket or a branch can keep them.
"""

from __future__ import annotations

import io
from collections.abc import Iterable
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from harness.errors import UserError
from harness.gate.history.row import SCHEMA, SCHEMA_VERSION, entry_of
from harness.gate.verdict import Comparison
from harness.whole_file import write_whole


def add(comparison: Comparison, folder: Path) -> Path | None:
    """Keep a verdict; the file, or None if it was there already. Raises UserError, RunFailed if it cannot be written."""
    entry = entry_of(comparison)
    path = folder / entry.name
    if path.exists():
        return None
    buffer = io.BytesIO()
    pq.write_table(entry.rows, buffer)
    write_whole(path, buffer.getvalue())
    return path


def read(folder: Path) -> pd.DataFrame:
    """All rows of a folder, the oldest first, with the columns of `row.SCHEMA`.

    Raises UserError naming the file if there are none, one cannot be read, or one is of another version.
    """
    paths = sorted(folder.glob("*.parquet")) if folder.is_dir() else []
    if not paths:
        raise UserError(f"--history: no verdicts in {folder}; `millrace gate history add VERDICT.json` adds one")
    return _ordered(_read(path) for path in paths)


def _ordered(tables: Iterable[pa.Table]) -> pd.DataFrame:
    frame = pa.concat_tables(tables).to_pandas()
    return frame.sort_values(["started_at", "verdict_id"], kind="stable", ignore_index=True)


def _read(path: Path) -> pa.Table:
    try:
        table = pq.ParquetFile(path).read()
    except (OSError, pa.ArrowException) as error:
        raise UserError(f"--history: {path} cannot be read as Parquet: {str(error).splitlines()[0]}") from error
    versions = set(table["schema_version"].to_pylist()) if "schema_version" in table.column_names else {"unknown"}
    if versions != {SCHEMA_VERSION}:
        found = ", ".join(map(str, sorted(versions, key=str))) or "unknown"
        raise UserError(f"--history: {path} is of schema version {found}, this program reads {SCHEMA_VERSION}")
    if not table.schema.equals(SCHEMA):
        raise UserError(f"--history: {path} is not a file of a history: its columns are others")
    return table
