"""Which runs of an arm count in its mean: the correct ones that became stationary, of the machine as its profile describes it.

A run that never settled is not averaged in silence. Only if no correct run of an arm settled are the unsettled ones used, and
the table then says so (`unsettled_used`). Runs with other constants, the variants of a sensitivity study, are compared with the
mean and never enter it.

The rate of a run is that at its sinks; of a simulated one that never settled, what the graph got through: in the short windows
that can be simulated a deep pipeline may not have brought a single lump of tuples to its end, which is no throughput of 0.
"""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from harness.spark.schemas import ARM


def mark_used(runs: DataFrame) -> DataFrame:
    """`runs` with more columns: `rate` [tuples/s] and `ns_per_hop` by it, `unsettled` (correct, but not stationary or too short
    to have a rate), `used` (counts in the means of its arm), and `variant_mean` [tuples/s], the mean over the runs of the same
    arm and the same constants that would. A failed run that never got to say how long its queues are has those of its arm.
    """
    of_arm = F.max("queue_capacity").over(Window.partitionBy(*[name for name in ARM if name != "queue_capacity"]))
    unsaid = F.col("failed") & (F.col("queue_capacity") == 0)
    got_through = F.when(~F.col("settled"), F.col("simulation.passed_tuples_per_s"))
    rate = F.coalesce(got_through, "sink_tuples_per_s")
    steady = ~F.col("failed") & F.col("settled") & rate.isNotNull()
    alike = Window.partitionBy(*ARM, "variant")
    usable = F.col("steady") | (F.col("unsettled") & rate.isNotNull() & ~F.max("steady").over(alike))
    return (
        runs.withColumn("queue_capacity", F.when(unsaid, of_arm).otherwise(F.col("queue_capacity")))
        .withColumn("rate", rate)
        .withColumn("ns_per_hop", F.coalesce(1e9 / F.nullif(got_through * F.col("hops"), F.lit(0.0)), "ns_per_hop"))
        .withColumn("steady", steady)
        .withColumn("unsettled", ~F.col("failed") & ~F.col("steady"))
        .withColumn("usable", usable)
        .withColumn("variant_mean", F.avg(F.when(F.col("usable"), rate)).over(alike))
        .withColumn("used", F.col("usable") & F.col("variant").isNull())
        .drop("steady", "usable")
    )
