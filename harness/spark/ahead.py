"""Tables made ahead: one Spark for all the experiments of a workflow.

Each experiment's tables are a job of their own. Spark takes seventeen seconds for the first job,
and a few seconds for each that follows (2 cores). So the first job also makes the tables of every
other experiment whose records are complete, together with its own (`spark.together`), and keeps
them beside the tables' folders. A later job takes the tables that were made for it, if the records
are still the same.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from harness.experiments.config import Config
from harness.experiments.freshness import of_tables
from harness.files.lock import take_lock

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from harness.spark.aggregate import Summary

FOLDER = ".ahead"  # beside the folders of the experiments' tables
STAGING = ".staging"  # inside FOLDER: no experiment's name begins with a dot
SUMMARY = "summary.json"  # written last: without it, tables made ahead are incomplete and not used


@contextlib.contextmanager
def one_at_a_time(tables: Path) -> Iterator[None]:
    """Hold the lock on tables made ahead beside the folder `tables`; wait for a process that has
    it.
    """
    place = tables.parent / FOLDER
    place.mkdir(parents=True, exist_ok=True)
    handle = os.open(place, os.O_RDONLY)
    try:
        take_lock(handle, lambda: None)
        yield
    finally:
        os.close(handle)  # this releases the lock


def fingerprint(records: Path) -> list[list[str | int]]:
    """Return names, sizes and times of the records under a folder, and of the files that tables
    depend on.
    """
    files = [*sorted(records.rglob("*.jsonl")), *sorted(of_tables())]
    return [[file.name, file.stat().st_size, file.stat().st_mtime_ns] for file in files]


def due(config: Config, records: Path) -> dict[Path, Path]:
    """Return folders of records, with the folders of their tables, of the other experiments whose
    records are complete and newer than their tables.
    """
    found = {}
    for experiment in config.experiments:
        files = [Path(config.records(experiment.name, block.stem)) for block in experiment.blocks()]
        files += map(Path, config.brought(experiment.name))
        tables = Path(config.tables(experiment.name))
        folder = files[0].parent
        if (
            folder != records
            and all(file.exists() for file in files)
            and _is_older(tables, files)
            and not _kept(folder, tables)
        ):
            found[folder] = tables
    return found


def make(spark: SparkSession, due: Mapping[Path, Path]) -> None:
    """Make and keep the tables of these folders of records, where all lines of a folder are usable.

    `due`: folders of records, each named as its experiment, with the folders of their tables.
    Raises RunFailed if Spark fails.
    """
    from harness.spark.together import aggregate_together

    places = {records.name: records for records in due}
    seen = {records.name: fingerprint(records) for records in due}
    kept = {records.name: place_of(tables) for records, tables in due.items()}
    staging = next(iter(kept.values())).parent / STAGING
    shutil.rmtree(staging, ignore_errors=True)  # left by a job that was killed
    staging.mkdir(parents=True)
    try:
        for experiment, made, summary in aggregate_together(spark, places, staging.absolute()):
            shutil.rmtree(kept[experiment], ignore_errors=True)
            made.rename(kept[experiment])
            keep(kept[experiment], seen[experiment], summary)
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def keep(place: Path, seen: list[list[str | int]], summary: Summary) -> None:
    """Write down the records that the tables made ahead in `place` follow from, and the summary."""
    entry = {"records": seen, "summary": asdict(summary)}
    (place / SUMMARY).write_text(json.dumps(entry), encoding="utf-8")


def take(records: Path, tables: Path) -> Mapping | None:
    """Move tables that were made ahead to their place. Return the summary of their aggregation,
    None if there are none.

    Raises OSError if they cannot be moved.
    """
    summary = _kept(records, tables)
    place = place_of(tables)
    if summary is not None:
        # first: a process killed after this leaves nothing that looks complete
        (place / SUMMARY).unlink()
        tables.mkdir(parents=True, exist_ok=True)
        for table in place.glob("*.parquet"):
            shutil.rmtree(tables / table.name, ignore_errors=True)
            table.rename(tables / table.name)
    shutil.rmtree(place, ignore_errors=True)
    return summary


def place_of(tables: Path) -> Path:
    """Return the folder that keeps tables made ahead for the folder `tables`."""
    return tables.parent / FOLDER / tables.name


def _kept(records: Path, tables: Path) -> Mapping | None:
    try:
        entry = json.loads((place_of(tables) / SUMMARY).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return entry["summary"] if entry["records"] == fingerprint(records) else None


def _is_older(tables: Path, files: list[Path]) -> bool:
    """Return True if tables are missing, or older than any of the files or the code that makes
    them.
    """
    made = min((table.stat().st_mtime_ns for table in tables.glob("*.parquet")), default=0)
    return made < max(file.stat().st_mtime_ns for file in [*files, *of_tables()])
