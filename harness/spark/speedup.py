"""Runs -> speedup: each arm against the manual one and against the best one of its cell.

Repeat k of every arm ran in the same block, interleaved, so repeats are paired: a drift of the host that slows a whole block
falls out of its ratio. Ratios are averaged as logarithms, so that "twice as fast" and "half as fast" cancel.
"""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from harness.spark.interval import half_width
from harness.spark.schemas import ARM, CELL, conform


def speedup(runs: DataFrame) -> DataFrame:
    """One row per arm and what it is compared with (`against`): ratio (geometric mean over n repeats), lo, hi (95 % Student-t
    interval of the mean logarithm; null for one repeat).

    "manual": the arms of the manual model. "best": the arm with the highest mean throughput of the cell (of equals the first by
    name). An arm against itself is 1; a repeat that one of the two lacks, or in which one stood still, does not count. `runs`
    as from `selection.mark_used`.
    """
    rate = F.col("rate")
    arm = F.struct(*[name for name in ARM if name not in CELL])
    by_rank = Window.partitionBy(*CELL).orderBy(F.desc("arm_mean"), "arm", "arm_key")
    rates = (
        runs.where("used")
        .withColumn("arm_key", arm)
        .withColumn("arm_mean", F.avg(rate).over(Window.partitionBy(*ARM)))
        .withColumn("best", F.col("arm_key").eqNullSafe(F.first("arm_key").over(by_rank)))
    )
    log_rates = rates.where(rate > 0).groupBy(*ARM, "best", "repeat").agg(F.avg(F.log(rate)).alias("log_rate"))
    same_block = Window.partitionBy(*CELL, "repeat")
    references = F.array(
        *[
            F.struct(F.lit(name).alias("against"), F.avg(F.when(chosen, F.col("log_rate"))).over(same_block).alias("log_rate"))
            for name, chosen in {"manual": F.col("model") == "manual", "best": F.col("best")}.items()
        ]
    )
    gains = (
        log_rates.withColumn("references", references)
        .withColumn("reference", F.explode("references"))
        .where(F.col("reference.log_rate").isNotNull())
        .withColumn("against", F.col("reference.against"))
        .withColumn("gain", F.col("log_rate") - F.col("reference.log_rate"))
    )
    table = gains.groupBy(*ARM, "against").agg(
        F.count("gain").alias("n"), F.avg("gain").alias("mean"), F.stddev_samp("gain").alias("sd")
    )
    half = half_width(F.col("n"), F.col("sd"))
    return conform(
        table.withColumns({"ratio": F.exp("mean"), "lo": F.exp(F.col("mean") - half), "hi": F.exp(F.col("mean") + half)}),
        "speedup",
    )
