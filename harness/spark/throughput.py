"""Runs -> throughput: the rate of each arm of each cell, with its interval."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from harness.spark.interval import level_interval, mean_interval
from harness.spark.schemas import ARM, CELL, conform
from harness.spark.selection import BOTH, HOPS, SINKS

ELASTIC = (
    "elastic IS NOT NULL OR (model IN ('dynamic', 'multilevel', 'coroutine') AND threads IS NULL)"
)
"""Condition that a law chose the level of a run. A run that failed before it recorded its law
counts as well, as it has no fixed level."""

RATES = ("", "submitted_")
COUNTS = ("level", "queued", "replicas")
"""Beginnings of the names of rates, and names of counts, that have a mean and an interval."""

AT_POINTS = "transform(filter(points, p -> p.variant IS NOT NULL), p -> p.variant_mean)"
"""Means of an arm with each variant, in order of the variants' constants."""


def throughput(runs: DataFrame) -> DataFrame:
    """Return one row per arm of a cell, over its repeats.

    mean, sd, lo, hi [tuples/s of the rate that `mean_of` names: "tuples at the sinks", "hops
    executed" over hops per tuple, or "both"] and submitted_* [tuples/s over all operators] with 95
    % intervals (null for fewer than two runs); ns_per_hop_mean [ns]; of the measured window its
    length duration_mean [s], context_switches_mean, cpu_seconds_mean [s], and of that
    kernel_seconds_mean [s], null if one of the n runs lacks it; runnable_mean, threads that ran or
    waited for a CPU (simulated runs only). All means are over the same n runs, the correct ones
    that have a rate; unsettled: of the n, those that never became stationary, and settled_share the
    share of the others (null without a run). failed (wrong or raised) and no_rate (correct, but too
    short to have one) are not among the n.

    final: the n runs are final ones, and the runs that chose the arm are not among them.

    unfit: of the n, those that something disturbed (`host_fit`); hosts: machines that the n ran on,
    as far as records say. variants: number of sets of other constants of a simulated machine that
    were tried, variants_failed those without a mean, and variants_reached those that changed
    anything; from band_lo to band_hi are the means with them and without [tuples/s]. The band is
    null if no variant changed anything, as then the band would have no width; and if one has
    failed, as half a band would look like a whole one. at_points: the means with each variant, in
    an order that all arms of a cell share; null where the band is.

    elastic: a control law chose the number of threads, its name is `law`, and level is the mean of
    the levels that it settled on [threads], with its interval; null for the others. policy: the
    scheduling policy of co-routines. queued: the mean number of ports with their queue, with its
    interval. places: number of ports of the cell that may have a queue, as a law received it;
    without such a law the most that any arm of the cell has. replicas: the mean number of replicas
    of each operator that may have several, as a law left them or as requested, with its interval;
    null under models that have none. settled_mean, settled_lo, settled_hi and so on are the same of
    the settled runs alone, of tuples at the sinks: null if none settled. cpu_model, cpus_allowed
    and commit are those of the earliest run. `runs` as from `selection.mark_used`.
    """
    used, nominal = F.col("used"), F.col("variant").isNull()
    settled = used & ~F.col("unsettled")
    started = F.struct("started_at", "run_id")

    def of_used(name: str) -> Column:
        return F.when(used, F.col(name))

    def of_settled(name: str) -> Column:
        return F.when(settled, F.col(name))

    replicas = F.coalesce("elastic.settled_replicas", "replicas")

    in_kernel = F.avg(of_used("kernel_seconds"))
    table = runs.groupBy(*ARM).agg(
        F.count_if(used).alias("n"),
        F.bool_or("of_finalist").alias("final"),
        F.count_if(nominal & F.col("failed")).alias("failed"),
        F.count_if(nominal & F.col("no_rate")).alias("no_rate"),
        F.count_if(used & F.col("unsettled")).alias("unsettled"),
        F.count_if(used & F.col("by_hops")).alias("by_hops"),
        F.count_if(used & ~F.coalesce("host.host_fit", F.lit(True))).alias("unfit"),
        F.count_distinct(of_used("host.hostname_hash")).alias("hosts"),
        *_moments(of_used("throughput"), ""),
        *_moments(of_used("submitted_tuples_per_s"), "submitted_"),
        *_levels(of_used("elastic.settled_level"), "level_"),
        *_levels(of_used("queued"), "queued_"),
        F.max(F.array_size("elastic.places")).alias("places"),
        *_levels(F.when(used, replicas), "replicas_"),
        *_moments(of_settled("sink_tuples_per_s"), "settled_"),
        *_moments(of_settled("submitted_tuples_per_s"), "settled_submitted_"),
        *_levels(of_settled("elastic.settled_level"), "settled_level_"),
        *_levels(of_settled("queued"), "settled_queued_"),
        *_levels(F.when(settled, replicas), "settled_replicas_"),
        F.bool_or(F.expr(ELASTIC)).alias("elastic"),
        F.max("elastic.law").alias("law"),
        F.max("policy").alias("policy"),
        F.avg(of_used("ns_per_hop")).alias("ns_per_hop_mean"),
        F.avg(of_used("context_switches")).alias("context_switches_mean"),
        F.avg(of_used("cpu_seconds")).alias("cpu_seconds_mean"),
        F.when(F.count(of_used("kernel_seconds")) == F.count_if(used), in_kernel).alias(
            "kernel_seconds_mean"
        ),
        F.avg(of_used("duration_s")).alias("duration_mean"),
        F.avg(of_used("simulation.load")).alias("runnable_mean"),
        F.count_distinct("variant").alias("variants"),
        F.count_distinct(F.when(F.col("variant_mean").isNull(), F.col("variant"))).alias(
            "variants_failed"
        ),
        F.count_distinct(F.when(F.col("reached"), F.col("variant"))).alias("variants_reached"),
        F.min("variant_mean").alias("least"),
        F.max("variant_mean").alias("greatest"),
        F.sort_array(F.collect_set(F.struct("variant", "variant_mean"))).alias("points"),
        F.min_by("host.cpu_model", started).alias("cpu_model"),
        F.min_by("host.cpus_allowed", started).alias("cpus_allowed"),
        F.min_by("commit", started).alias("commit"),
    )
    for prefix in (*RATES, *(f"settled_{name}" for name in RATES)):
        low, high = mean_interval(
            F.col(f"{prefix}count"), F.col(f"{prefix}mean"), F.col(f"{prefix}sd")
        )
        table = table.withColumns({f"{prefix}lo": low, f"{prefix}hi": high})
    counts = [f"{name}_" for name in COUNTS]
    for prefix in (*counts, *(f"settled_{name}" for name in counts)):
        low, high = _level_interval(prefix)
        table = table.withColumns({f"{prefix}lo": low, f"{prefix}hi": high})
    of_cell = Window.partitionBy(*CELL)
    most = [F.max(name).over(of_cell) for name in ("places", "queued_mean")]
    table = table.withColumn("places", F.nullif(F.coalesce(*most), F.lit(0)))
    for high in ("queued_hi", "settled_queued_hi"):
        beyond = F.col(high) > F.col("places")
        table = table.withColumn(high, F.when(beyond, F.col("places")).otherwise(F.col(high)))
    table = table.withColumn(
        "settled_share", F.when(F.col("n") > 0, 1 - F.col("unsettled") / F.col("n"))
    )
    of_hops = (
        F.when(F.col("by_hops") == F.col("n"), HOPS)
        .when(F.col("by_hops") > 0, BOTH)
        .otherwise(SINKS)
    )
    table = table.withColumn("mean_of", F.when(F.col("n") > 0, of_hops))
    varied = (F.col("variants_reached") > 0) & (F.col("variants_failed") == 0)
    table = table.withColumns(
        {
            "band_lo": F.when(varied, F.col("least")),
            "band_hi": F.when(varied, F.col("greatest")),
            "at_points": F.when(varied, F.expr(AT_POINTS)),
        }
    )
    return conform(
        table.withColumnsRenamed(
            {f"{of}{name}_mean": f"{of}{name}" for of in ("", "settled_") for name in COUNTS}
        ),
        "throughput",
    )


def _moments(number: Column, prefix: str) -> list[Column]:
    """Return columns of the numbers that are not null: their count, mean and sample standard
    deviation (null for one).
    """
    return [
        F.count(number).alias(f"{prefix}count"),
        F.avg(number).alias(f"{prefix}mean"),
        F.stddev_samp(number).alias(f"{prefix}sd"),
    ]


def _levels(number: Column, prefix: str) -> list[Column]:
    """Return columns of the levels or counts that are not null: as `_moments`, how far the greatest
    is above the least, and how many differ.
    """
    return [
        *_moments(number, prefix),
        (F.max(number) - F.min(number)).alias(f"{prefix}apart"),
        F.size(F.collect_set(number)).alias(f"{prefix}distinct"),
    ]


def _level_interval(prefix: str) -> tuple[Column, Column]:
    """Return both ends of the interval of the columns of `_levels`. A level that no law chose is a
    setting, and equal in all runs.
    """
    n, mean, *others = (
        F.col(f"{prefix}{name}") for name in ("count", "mean", "sd", "apart", "distinct")
    )
    chosen, setting = F.col("elastic"), F.when(n >= 2, mean)
    low, high = level_interval(n, mean, *others)
    return F.when(chosen, low).otherwise(setting), F.when(chosen, high).otherwise(setting)
