"""Means over all correct runs are not biased by which of them settled."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

pytestmark = pytest.mark.heavy

CELLS = 400


@pytest.mark.parametrize(("repeats", "truly"), [(3, 1 / 8), (5, 6 / 32)])
def test_an_arm_whose_slow_runs_never_settle_does_not_beat_a_steady_one(spark, repeats, truly):
    """Its runs have 100 or 60, the slow ones never settle; the other arm has 90. By chance its mean
    is above 90 in `truly` of the cells; over those that settled it would be in 7 of 8, and 31 of
    32.
    """
    from pyspark.sql import functions as F

    from harness.spark.schemas import ARM, PARAMETERS
    from harness.spark.selection import mark_used

    fast = np.random.default_rng(repeats).random((CELLS, repeats)) < 0.5
    cell, repeat = (index.ravel() for index in np.indices(fast.shape))
    shared = {"cell": cell, "repeat": repeat}
    two_speeds = pd.DataFrame(
        {
            **shared,
            "arm": "two speeds",
            "settled": fast.ravel(),
            "sink_tuples_per_s": 60.0 + 40.0 * fast.ravel(),
        }
    )
    steady = pd.DataFrame({**shared, "arm": "steady", "settled": True, "sink_tuples_per_s": 90.0})
    texts = {name: F.lit("any") for name in ARM if name not in ("cell", "arm", *PARAMETERS)}
    numbers = {
        "queue_capacity": F.lit(8),
        "threads": F.lit(1),
        "hops": F.lit(4.0),
        "ns_per_hop": F.lit(1.0),
    }
    unknown = {**dict.fromkeys(PARAMETERS, F.lit(None)), "variant": F.lit(None).cast("string")}
    unknown["final"] = F.lit(None).cast("boolean")
    simulation = F.lit(None).cast("struct<passed_tuples_per_s: double, reached: boolean>")
    runs = spark.createDataFrame(pd.concat([two_speeds, steady])).withColumns(
        {**texts, **numbers, **unknown, "failed": F.lit(False), "simulation": simulation}
    )
    means = (
        mark_used(runs)
        .where("used")
        .groupBy("cell", "arm")
        .agg(F.avg("throughput").alias("mean"))
        .toPandas()
    )
    by_arm = means.pivot(index="cell", columns="arm", values="mean")
    won = (by_arm["two speeds"] > by_arm["steady"]).mean()
    assert abs(won - truly) <= 4 * (truly * (1 - truly) / CELLS) ** 0.5
    assert by_arm["two speeds"].mean() == pytest.approx(80, abs=2)
