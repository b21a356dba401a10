"""The intervals that Spark makes are those of `measurement.interval`."""

from __future__ import annotations

import pytest

from harness.measurement.interval import level_interval, mean_interval, t_quantile

pytestmark = pytest.mark.heavy


def test_quantiles_are_those_of_the_table_and_beyond_it_larger_by_little(spark):
    from pyspark.sql import functions as F

    from harness.spark import interval

    events = (2, 11, 110)
    columns = [
        interval.t_quantile(F.col("id"), events, F.lit(which)).alias(str(of))
        for which, of in enumerate(events)
    ]
    none = interval.t_quantile(F.col("id"), events, F.lit(len(events))).alias("none")
    for row in spark.range(0, 400, 1, 2).select("id", *columns, none).collect():
        assert row["none"] is None
        for of in events:
            if row.id == 0:
                assert row[str(of)] is None
            else:
                known = row.id <= 30
                assert (
                    1 - 1e-9
                    <= row[str(of)] / t_quantile(row.id, of)
                    <= (1 + 1e-9 if known else 1.045)
                ), (row.id, of)


def test_the_interval_of_a_mean_is_the_same_in_both_places(spark):
    from pyspark.sql import functions as F

    from harness.spark import interval

    groups = {
        0: [5.0, 7.0],
        1: [1.0, 9.0, 2.0],
        2: [0.0, 3.0],
        3: [4.0] * 4,
        4: [0.0, 0.0],
        5: [6.0],
        6: [2.0, 2.0, 3.0],
    }
    rows = [(group, value) for group, values in groups.items() for value in values]
    moments = (
        spark.createDataFrame(rows, "g int, v double")
        .groupBy("g")
        .agg(
            F.count("v").alias("n"),
            F.avg("v").alias("mean"),
            F.stddev_samp("v").alias("sd"),
            (F.max("v") - F.min("v")).alias("apart"),
            F.count_distinct("v").alias("distinct"),
        )
    )
    low, high = interval.mean_interval(F.col("n"), F.col("mean"), F.col("sd"))
    of_levels = interval.level_interval(
        *(F.col(name) for name in ("n", "mean", "sd", "apart", "distinct"))
    )
    ends = dict(zip(("lo", "hi", "low", "high"), (low, high, *of_levels), strict=True))
    for row in moments.withColumns(ends).collect():
        if row.g == 5:
            assert (row.mean, row.lo, row.hi, row.low, row.high) == (6.0, None, None, None, None)
            continue
        values = groups[row.g]
        assert (row.mean, row.lo, row.hi) == pytest.approx(mean_interval(values), rel=1e-9)
        assert (row.low, row.high) == pytest.approx(level_interval(values)[1:], rel=1e-9)
