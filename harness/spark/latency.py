"""Runs -> latency: the time that tuples take from source to sink."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from harness.spark.schemas import ARM, conform


def latency(runs: DataFrame) -> DataFrame:
    """Return one row per arm that has a run in use: p50, p90, p99 [ns], each the median over the n
    runs that have one, and max [ns], the largest of all. `runs` as from `selection.mark_used`.
    """
    quantiles = [F.median(f"latency_ns.{name}").alias(name) for name in ("p50", "p90", "p99")]
    table = (
        runs.where("used")
        .groupBy(*ARM)
        .agg(F.count("latency_ns.p50").alias("n"), *quantiles, F.max("latency_ns.max").alias("max"))
    )
    return conform(table, "latency")
