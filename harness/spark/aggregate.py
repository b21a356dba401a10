"""results/raw/**.jsonl -> results/tables/*.parquet: read the records once, and make all tables of
them.

Run python -m harness aggregate --records results/raw --tables results/tables
"""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from harness.spark.failures import spark_failures
from harness.spark.latency import latency
from harness.spark.quarantine import quarantine
from harness.spark.records import parse, read_lines, runs
from harness.spark.samples import samples
from harness.spark.schemas import ARM, CELL, TABLES
from harness.spark.selection import mark_used
from harness.spark.speedup import speedup
from harness.spark.storage import TableWriter, as_source, local_path
from harness.spark.throughput import throughput
from harness.spark.timeline import timeline

MAX_REASONS_SHOWN = 3


@dataclass(frozen=True)
class Summary:
    """Counts of an aggregation: lines read, and what became of them."""

    read: int  # lines, whether they are records or not
    failed: int  # runs with a wrong result or an error
    unsettled: int  # correct runs that were not stationary
    quarantined: int  # lines that are not usable records
    reasons: tuple[str, ...]  # of the first quarantined lines: "FILE line N: reason"
    tables: tuple[str, ...]  # names, as written


def make_tables(records: DataFrame, root: str) -> dict[str, DataFrame]:
    """Return the tables of parsed `records`, by name, rows in a fixed order. Files in quarantine
    are named relative to `root`.
    """
    usable = runs(records)
    marked = mark_used(usable.drop("samples", "adaptation"))
    # runs are few; each keeps its samples' order
    in_order = usable.orderBy(*ARM, "repeat", "run_id")
    return {
        "throughput": throughput(marked).orderBy(*ARM),
        "samples": samples(in_order),
        "timeline": timeline(in_order),
        "latency": latency(marked).orderBy(
            "experiment", "cell", "arm", "machine", "simulated", "software", "p50", "p99"
        ),
        "speedup": speedup(marked).orderBy(*CELL, "arm", "model", "threads", "against"),
        "quarantine": quarantine(records, root).orderBy("file", "line"),
    }


def aggregate(spark: SparkSession, place: str, writer: TableWriter) -> Summary:
    """Read the records under the directory or URL `place`, and write every table.

    Raises RunFailed if Spark fails on the way.
    """
    root = local_path(place)
    with spark_failures("the aggregation failed"):
        # read once; short plans from here on
        records = parse(read_lines(spark, as_source(place))).localCheckpoint()
        tables = make_tables(records, place if root is None else str(root))
        for name, table in tables.items():
            writer.write(name, table)
        return summarise(records, tables["quarantine"])


def summarise(records: DataFrame, quarantined: DataFrame) -> Summary:
    """Return the counts of parsed `records` and of their table `quarantined`."""
    counts = (
        mark_used(runs(records))
        .agg(
            F.count("*").alias("runs"),
            F.count_if("failed").alias("failed"),
            F.count_if("unsettled").alias("unsettled"),
        )
        .first()
    )
    rejected = quarantined.count()
    first = quarantined.limit(MAX_REASONS_SHOWN).collect()
    return Summary(
        read=counts.runs + rejected,
        failed=counts.failed,
        unsettled=counts.unsettled,
        quarantined=rejected,
        reasons=tuple(f"{row.file} line {row.line}: {row.reason}" for row in first),
        tables=tuple(TABLES),
    )
