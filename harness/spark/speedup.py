"""Runs -> speedup: each arm against the manual one, against the best of the others, and against the
best of another model.

Repeat k of every arm ran in the same block, interleaved, so repeats are paired: a drift of the host
that slows a whole block cancels in its ratio. Ratios are averaged as logarithms, so that "twice as
fast" and "half as fast" cancel.

**Comparisons with the best** (Hsu, The Annals of Statistics 9(5), 1981, and 12(3), 1984). The arm
that looks best of eleven equal ones is the luckiest, and a paired interval against it finds one of
the others "slower" in most cells. So an arm is compared with *every* rival, each pair with its own
standard deviation (models differ in their noise by a factor of ten, so it is not pooled), and with
quantiles for as many one-sided events as can make the statement wrong (Bonferroni), of k arms:

  ratio   the least over the rivals j of the mean ratio to j: that to the best rival
  lo      the least over j of the lower ends; k events
  hi      the least over j of the upper ends; k (k - 1) events, one for each ordered pair

**Arms with two speeds.** Three runs of an arm that is slow in every third run are alike more often
than not: all fast, or all slow. Their standard deviation is then far too small, and of eleven such
arms one is all slow in 26 % of cells. The other arms of the cell show the two speeds. So the
interval of a pair is at least as wide as with the deviation over all pairs of the cell, which has
(n - 1) (k - 1) degrees of freedom for n repeats (the residuals of arms and blocks). With two
repeats nothing helps against it, and there is no interval.

"No slower than lo" is wrong only if the lower end against the truly best rival is wrong. "The best
of all" (lo > 1) is wrong only if an arm is wrongly above all its rivals, so above one that is named
beforehand. "Slower than the best" (hi < 1) is wrong if any upper end is wrong, even if all arms are
equal. So each interval covers in 95 % of cells at least. In at most 5 % of cells *any* arm is
wrongly said to be slower than the best, and likewise for the best of all.
tests/spark/test_multiple_comparisons.py simulates it.

**Limit.** Among arms of one speed, an arm whose slow runs no repeat has shown looks faster than its
mean. If a share s of its runs is slow, that happens in (1 - s)^n of cells.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from harness.spark.interval import half_width, t_quantile
from harness.spark.schemas import ARM, CELL, conform

MOST_ARMS = 40
"""Number of arms of a cell beyond which there are no intervals against the best."""

LEAST_REPEATS = 3
"""Number of repeats of a pair below which there is no interval: of two arms with two speeds, two
repeats mislead in up to 14 % of cells."""

ONE_PAIR = (2, 2)  # events of lo and hi
# by the number of arms, less 1
EVENTS = [ONE_PAIR, *((arms, arms * (arms - 1)) for arms in range(2, MOST_ARMS + 1))]


def speedup(runs: DataFrame) -> DataFrame:
    """Return one row per arm and comparison (`against`): ratio (geometric mean over n repeats), lo,
    hi (its 95 % interval), and rival, the arm that the ratio is to.

    "manual": the arms of the manual model, themselves among them. "best": the best of the other
    arms of the cell. "other models": the best arm of the cell that is of another model. If several
    arms are rivals, the interval allows for that (see above). A repeat that one of two arms lacks,
    or in which one stood still, does not count for them. lo and hi are null if fewer than
    `LEAST_REPEATS` are left: lo of any pair, hi of all. `runs` as from `selection.mark_used`.
    """
    arm = F.struct(*[name for name in ARM if name not in CELL])
    own = F.map_from_entries(F.collect_list(F.struct("repeat", "log_rate")))
    in_cell = F.collect_list(F.struct("arm_key", "own")).over(Window.partitionBy(*CELL))
    arms = (
        runs.where(F.col("paired") & (F.col("throughput") > 0))
        .groupBy(*ARM, "repeat")
        .agg(F.avg(F.log("throughput")).alias("log_rate"))
        .groupBy(*ARM)
        .agg(own.alias("own"))
        .withColumn("arm_key", arm)
        .withColumn("in_cell", in_cell)
        .withColumn("arms", F.size("in_cell"))
    )
    pairs = arms.withColumn("rival", F.explode("in_cell")).withColumn(
        "gain",
        F.explode_outer(
            F.expr("map_values(map_zip_with(own, rival.own, (repeat, mine, its) -> mine - its))")
        ),
    )
    versus = pairs.groupBy(*ARM, "arm_key", "arms", F.col("rival.arm_key").alias("rival")).agg(
        F.count("gain").alias("n"), F.avg("gain").alias("mean"), F.stddev_samp("gain").alias("sd")
    )
    rival, other = F.col("rival"), ~F.col("rival").eqNullSafe(F.col("arm_key"))
    cells = Window.partitionBy(*CELL)
    freedom = F.when(other & (F.col("n") >= 2), F.col("n") - 1)
    squares = F.sum(freedom * F.col("sd") ** 2).over(cells)
    versus = versus.withColumn("cell_sd", F.sqrt(squares / F.sum(freedom).over(cells)))
    kinds = {
        "manual": (rival["model"] == "manual", F.lit(1)),
        "best": (other, F.col("arms")),
        "other models": (rival["model"] != F.col("model"), F.col("arms")),
    }
    compared = F.array(
        *[
            F.when(of, F.struct(F.lit(name).alias("against"), arms.alias("arms")))
            for name, (of, arms) in kinds.items()
        ]
    )
    below, above = (_half_width(events) for events in zip(*EVENTS, strict=True))
    table = (
        versus.withColumn("compared", F.explode(F.filter(compared, lambda kind: kind.isNotNull())))
        .withColumn("against", F.col("compared.against"))
        .withColumns({"low": F.col("mean") - below, "high": F.col("mean") + above})
        .groupBy(*ARM, "against")
        .agg(*_of_the_best_rival())
        .where("ratio IS NOT NULL")
    )
    return conform(table, "speedup")


def _half_width(events: Sequence[int]) -> Column:
    """Return half of the interval of a pair, null for fewer than `LEAST_REPEATS`: with its own
    deviation, or with that of its cell if there are several rivals.
    """
    n, which = F.col("n"), F.col("compared.arms") - 1
    own = half_width(n, F.col("sd"), events, which)
    freedom = (n - 1) * which
    of_cell = t_quantile(freedom, events, which) * F.col("cell_sd") / F.sqrt(n)
    wide = F.when(which > 0, F.greatest(own, of_cell)).otherwise(own)
    return F.when(n >= LEAST_REPEATS, wide)


def _of_the_best_rival() -> list[Column]:
    """Return the columns over the rivals of an arm; null sorts as unknown, so that the rival is one
    with a ratio.
    """
    known = F.when(F.col("n") > 0, F.col("mean"))
    return [
        F.exp(F.min(known)).alias("ratio"),
        F.exp(F.when(F.min("n") >= LEAST_REPEATS, F.min("low"))).alias("lo"),
        F.exp(F.min("high")).alias("hi"),
        F.min_by("n", known).alias("n"),
        F.min_by(F.col("rival.arm"), known).alias("rival"),
    ]
