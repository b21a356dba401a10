"""Runs -> samples: every run as a time series."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from harness.spark.schemas import SAMPLE, TABLES, conform


def samples(runs: DataFrame) -> DataFrame:
    """Return one row per sample of a run that is no variant: index (from 0), time_s (since the
    run's start, at the sample's end), elapsed_s (the sample's length), rates [tuples/s],
    threads_active. Samples of failed and of unsettled runs are included and marked.
    """
    of_run = [
        name
        for name in TABLES["samples"].names
        if name in runs.columns and name not in SAMPLE.names
    ]
    exploded = runs.where("variant IS NULL").select(
        *of_run, F.posexplode("samples").alias("index", "sample")
    )
    return conform(exploded.select("*", "sample.*"), "samples")
