"""Selection of the runs that the means of an arm are over, and the rate of a run.

Means are over *all* correct runs that have a rate. Whether a run becomes stationary depends on its
speed: if unsettled runs were left out of an arm whose fast runs settle and whose slow ones do not,
its mean would be that of the fast runs. Each mean comes with the number of runs that did not settle
and the share of those that did (`unsettled`, `settled_share`), and figures mark it; `stationary`
says which simulated ones they leave out. Runs with other constants, the variants of a sensitivity
study, are compared with the mean and never enter it.

The rate of a run is that of the tuples at its sinks. In the short windows that can be simulated, a
deep pipeline may not bring a single lump of tuples to its end, which does not mean a throughput of
0. So if one run of a simulated arm never settled, the rate of *all* its runs is that of the graph:
hops executed over hops per tuple. Both rates are equal in a stationary run. They are never averaged
with each other, unless a record does not know the second. `mean_of` names the rate.
"""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from harness.spark.schemas import ARM

SINKS, HOPS, BOTH = "tuples at the sinks", "hops executed", "both"
"""Rates that a mean can be of; `BOTH`: some of its runs know only the first."""


def mark_used(runs: DataFrame) -> DataFrame:
    """Return `runs` with more columns: `throughput` [tuples/s] and `ns_per_hop` by it, `by_hops`
    (True if the rate is of hops executed), `unsettled` (correct, but not stationary), `no_rate`
    (correct, but too short to have one), `used` (counts in the means of its arm), `variant_mean`
    [tuples/s], `reached` (True if any run of the same arm and the same constants differs from
    the nominal run with the same random numbers), `of_finalist` (True if its arm has final runs,
    which alone count in its means), and `paired` (counts in ratios of pairs of runs: as `used`, and
    the runs that chose finalists, too).

    `variant_mean` is the arm's mean times the effect of these constants: the mean of their runs
    over the mean of the nominal ones with the same random numbers. A failed run that does not know
    the length of its queues takes that of its arm.
    """
    of_arm = F.max("queue_capacity").over(
        Window.partitionBy(*[name for name in ARM if name != "queue_capacity"])
    )
    unsaid = F.col("failed") & (F.col("queue_capacity") == 0)
    passed, correct = F.col("simulation.passed_tuples_per_s"), ~F.col("failed")
    of_hops = (
        F.max(F.col("unsettled") & passed.isNotNull()).over(Window.partitionBy(*ARM))
        & passed.isNotNull()
    )
    rate = F.when(F.col("by_hops"), passed).otherwise(F.col("sink_tuples_per_s"))
    by_rate = F.when(
        F.col("by_hops"), 1e9 / F.nullif(passed * F.col("hops"), F.lit(0.0))
    ).otherwise(F.col("ns_per_hop"))
    counts = correct & F.col("throughput").isNotNull()
    nominal, of_variant = F.col("variant").isNull(), Window.partitionBy(*ARM, "variant")
    beside = F.max(F.when(counts & nominal, F.col("throughput"))).over(
        Window.partitionBy(*ARM, "repeat")
    )
    own_mean = F.avg(F.when(counts & nominal, F.col("throughput"))).over(Window.partitionBy(*ARM))
    paired = counts & (beside > 0)
    factor = F.avg(F.when(paired, F.col("throughput"))).over(of_variant) / F.avg(
        F.when(paired, beside)
    ).over(of_variant)
    alone = F.avg(F.when(counts, F.col("throughput"))).over(of_variant)
    final = F.coalesce("final", F.lit(False))
    return (
        runs.withColumn("queue_capacity", F.when(unsaid, of_arm).otherwise(F.col("queue_capacity")))
        .withColumn("unsettled", correct & ~F.col("settled"))
        .withColumn("by_hops", of_hops)
        .withColumn("throughput", rate)
        .withColumn("ns_per_hop", by_rate)
        .withColumn("no_rate", correct & F.col("throughput").isNull())
        .withColumn("variant_mean", F.coalesce(own_mean * factor, alone))
        .withColumn(
            "reached", F.max(F.coalesce("simulation.reached", F.lit(True))).over(of_variant)
        )
        .withColumn("of_finalist", F.bool_or(final).over(Window.partitionBy(*ARM)))
        .withColumn("paired", counts & nominal)
        .withColumn("used", F.col("paired") & (final == F.col("of_finalist")))
    )
