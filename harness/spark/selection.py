"""Which runs of an arm count in its mean: the correct ones that became stationary.

A run that never settled is not averaged in silence. Only if no correct run of an arm settled are the unsettled ones used, and
the table then says so (`unsettled_used`).
"""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from harness.spark.schemas import ARM


def mark_used(runs: DataFrame) -> DataFrame:
    """`runs` with two columns more: `unsettled` (correct, but not stationary or too short to have a rate) and `used` (counts in
    the means of its arm).
    """
    has_rate = F.col("sink_tuples_per_s").isNotNull()
    steady = ~F.col("failed") & F.col("settled") & has_rate
    arm_has_steady = F.max("steady").over(Window.partitionBy(*ARM))
    return (
        runs.withColumn("steady", steady)
        .withColumn("unsettled", ~F.col("failed") & ~F.col("steady"))
        .withColumn("used", F.col("steady") | (F.col("unsettled") & has_rate & ~arm_has_steady))
        .drop("steady")
    )
