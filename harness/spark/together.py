"""Tables of several experiments at once: each table is made once, of all their records, and then
divided.

Spark takes longer to plan a query than to execute it on an experiment's few records, so the time
depends on the number of queries. The tables of one experiment never depend on the records of
another: every group and every window has the experiment as a key.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from harness.spark.aggregate import Summary, make_tables
from harness.spark.failures import spark_failures
from harness.spark.quarantine import duplicates, path_of
from harness.spark.records import parse, read_lines, runs
from harness.spark.schemas import TABLES
from harness.spark.selection import mark_used
from harness.spark.storage import TableWriter, as_source

FOLDER = "folder"  # a partition's directory is named folder=EXPERIMENT


def aggregate_together(
    spark: SparkSession, places: Mapping[str, Path], staging: Path
) -> Iterator[tuple[str, Path, Summary]]:
    """Yield experiments with the folder of their tables, below `staging`, and their summary.

    `places`: the local folders of their records, by experiment. An experiment is skipped if one of
    its lines is not usable, or belongs to another experiment: the table of that experiment alone
    names such a line by its own folder. Raises RunFailed if Spark fails on the way.
    """
    with spark_failures("the aggregation failed"):
        sources = [as_source(str(place)) for place in places.values()]
        records = (
            parse(read_lines(spark, sources))
            .withColumn(FOLDER, _experiment_of(places))
            .localCheckpoint()
        )
        strange = _strange(records)
        whole = (
            records.where(~F.col(FOLDER).isin(strange)).drop(FOLDER)
            if strange
            else records.drop(FOLDER)
        )
        summaries = _summaries(whole)
        if not summaries:
            return
        writer = TableWriter(f"file://{staging}")
        tables = make_tables(whole, "")
        for name, table in tables.items():
            if name == "quarantine":  # its rows belong to no experiment
                writer.write(name, table)
            else:
                writer.write(name, table.withColumn(FOLDER, F.col("experiment")), by=FOLDER)
        for experiment, summary in summaries.items():
            for name, table in tables.items():
                _divide(staging, name, experiment, table, writer)
            yield experiment, staging / experiment, summary


def _experiment_of(places: Mapping[str, Path]) -> F.Column:
    """Return the column with the experiment whose folder holds a line's file."""
    path = path_of("file")
    cases = [
        F.when(path.startswith(f"{place.absolute()}/"), F.lit(name))
        for name, place in places.items()
    ]
    return F.coalesce(*cases)


def _strange(records: DataFrame) -> list[str]:
    """Return experiments with a line that is not a usable record, or that belongs to another
    experiment.
    """
    unusable = records.where(f"reason IS NOT NULL OR record.experiment <> {FOLDER}").select(FOLDER)
    repeated = duplicates(records).join(
        records.select("file", "block", "row", FOLDER), on=["file", "block", "row"]
    )
    return [
        row[FOLDER] for row in unusable.unionByName(repeated.select(FOLDER)).distinct().collect()
    ]


def _summaries(records: DataFrame) -> dict[str, Summary]:
    counts = mark_used(runs(records)).groupBy("experiment")
    rows = counts.agg(
        F.count("*").alias("read"),
        F.count_if("failed").alias("failed"),
        F.count_if("unsettled").alias("unsettled"),
    )
    return {
        row.experiment: Summary(
            row.read, row.failed, row.unsettled, quarantined=0, reasons=(), tables=tuple(TABLES)
        )
        for row in sorted(rows.collect(), key=lambda row: row.experiment)
    }


def _divide(
    staging: Path, name: str, experiment: str, table: DataFrame, writer: TableWriter
) -> None:
    """Put one experiment's part of a table into its own folder; an empty table, if it has none."""
    part = staging / f"{name}.parquet" / f"{FOLDER}={experiment}"
    (staging / experiment).mkdir(exist_ok=True)
    if part.is_dir():
        part.rename(staging / experiment / f"{name}.parquet")
        return
    empty = (
        staging / f"{name}.parquet" if name == "quarantine" else staging / f"empty-{name}.parquet"
    )
    if not empty.is_dir():
        writer.write(f"empty-{name}", table.limit(0))
    shutil.copytree(empty, staging / experiment / f"{name}.parquet")
