"""Runs -> latency: the time that tuples take from source to sink."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from harness.spark.interval import mean_interval
from harness.spark.schemas import ARM, conform

PERCENTILES = ("p50", "p90", "p99")
RANGES = ("p50", "p99")  # also their least and greatest run


def latency(runs: DataFrame) -> DataFrame:
    """Return one row per arm that has a run in use: p50, p90, p99 [ns], each the median over the n
    runs that have one, the least and the greatest p50 and p99 of these runs, max [ns], the largest
    of all, and the mean of the runs' means [ns] with its 95 % interval from lo to hi. `runs` as
    from `selection.mark_used`.
    """
    of_runs = F.col("latency_ns.mean")
    table = (
        runs.where("used")
        .groupBy(*ARM)
        .agg(
            F.count("latency_ns.p50").alias("n"),
            *(F.median(f"latency_ns.{name}").alias(name) for name in PERCENTILES),
            *(F.min(f"latency_ns.{name}").alias(f"{name}_least") for name in RANGES),
            *(F.max(f"latency_ns.{name}").alias(f"{name}_greatest") for name in RANGES),
            F.max("latency_ns.max").alias("max"),
            F.avg(of_runs).alias("mean"),
            F.count(of_runs).alias("means"),
            F.stddev_samp(of_runs).alias("sd"),
        )
    )
    low, high = mean_interval(F.col("means"), F.col("mean"), F.col("sd"))
    return conform(table.withColumns({"lo": low, "hi": high}), "latency")
