"""results/raw/**.jsonl -> lines -> records with a verdict -> runs.

A *line* keeps its file and place; a *record* is a line that was parsed, with the reason why it
cannot be used (null if it can); a *run* is a usable record, one of each `run_id`.
"""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructField, StructType

from harness.spark.quarantine import KEPT_CHARACTERS, duplicates, why_unusable
from harness.spark.schemas import CELL, PARAMETERS, RECORD

WRAPPED = StructType([StructField("record", RECORD), StructField("misfit", StringType())])
MEDIAN_QUEUED = """IF(size(record.samples) > 0, element_at(
    array_sort(transform(record.samples, sample -> sample.queued_ports)),
    CAST((size(record.samples) + 1) DIV 2 AS INT)
), NULL)"""
JSON_OPTIONS = {
    "mode": "PERMISSIVE",
    "columnNameOfCorruptRecord": "misfit",
    "allowSingleQuotes": "false",
}


def read_lines(spark: SparkSession, path: str | list[str]) -> DataFrame:
    """Return one row per line of the `*.jsonl` files under one or several paths, however deep: file
    (URL), block (first byte of the part of the file that one task reads), row (grows by one from
    line to line within a block), value (the line).

    Files are read in parallel, also parts of one file; a line's number follows from block and row,
    and is computed only for lines that go to quarantine.
    """
    reader = spark.read.options(recursiveFileLookup=True, pathGlobFilter="*.jsonl")
    return reader.text(path, lineSep="\n").selectExpr(
        "_metadata.file_path AS file",
        "_metadata.file_block_start AS block",
        "monotonically_increasing_id() AS row",
        "value",
    )


def parse(lines: DataFrame) -> DataFrame:
    """Return one row per line: file, block, row, record (a struct as `schemas.RECORD`, null inside
    where it did not fit), reason (null if the record can be used), text (the line's beginning).

    The line is parsed as a field of an object around it, because a parser that reads the line
    itself stops after its first object and would drop what follows.
    """
    wrapped = lines.withColumn("wrapped", F.expr("""concat('{"record":', value, '}')"""))
    parsed = wrapped.withColumn("parsed", F.from_json("wrapped", WRAPPED, JSON_OPTIONS)).selectExpr(
        "file",
        "block",
        "row",
        "value",
        "wrapped",
        "parsed.record AS record",
        "parsed.misfit IS NOT NULL AS misfit",
    )
    beginning = f"make_valid_utf8(substring(value, 1, {KEPT_CHARACTERS})) AS text"
    return parsed.withColumn("reason", why_unusable()).selectExpr(
        "file", "block", "row", "record", "reason", beginning
    )


def runs(records: DataFrame) -> DataFrame:
    """Return one row per run: the fields of a record, with each of `schemas.PARAMETERS` as a column
    besides all of them as a line of JSON, and `failed`: its result was wrong or something raised.
    `software`: the profile whose costs a simulated run had; `variant`: the constants of the machine
    that it replaced, as a line of JSON. `queued`: ports with their queue, the median over the
    measured samples (of an even number the lower one). Of several records with one `run_id` the
    first counts.
    """
    place = ["file", "block", "row"]
    repeated = F.broadcast(duplicates(records).select(*place))
    usable = records.where("reason IS NULL").join(repeated, on=place, how="left_anti")
    columns = {name: f"record.{name}" for name in RECORD.names} | {
        "parameters": "to_json(record.parameters)"
    }
    for name, kind in PARAMETERS.items():
        columns[name] = f"try_cast(record.parameters['{name}'] AS {kind.simpleString()})"
    columns["software"] = "record.simulation.software"
    columns["variant"] = (
        "IF(size(record.simulation.constants) > 0, to_json(record.simulation.constants), NULL)"
    )
    columns["queued"] = MEDIAN_QUEUED
    order = [*CELL, *[name for name in columns if name not in CELL]]
    failed = "NOT record.correct OR record.error IS NOT NULL AS failed"
    return usable.selectExpr(*[f"{columns[name]} AS {name}" for name in order], failed)
