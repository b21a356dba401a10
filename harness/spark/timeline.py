"""Runs -> timeline: the course of adapted runs, from their beginning."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from harness.spark.schemas import SAMPLE, TABLES, conform


def timeline(runs: DataFrame) -> DataFrame:
    """Return one row per sample of a run whose thread level is elastic, or, of a run with elastic
    balancers, one per sample and balancer. Variants have none.

    phase: "adaptation" before the measured window, "measured" in it. time_s (since the run's start,
    at the sample's end), elapsed_s (the sample's length), throughput_submitted (over all
    operators), throughput_source and throughput_sink [tuples/s], threads_active, threads_requested,
    queued_ports, replicas (of each operator that has more than one, as a line of JSON), system_cpu
    (0 .. 1), law_state, law_reason; of the balancer its name, active_ports, ports, congestion (0 ..
    1) and balancer_reason, null without one; tuples_sent: by the run's sources, in all, which is
    more than the samples saw if tuples were sent before the first of them; parameters: the
    topology's, as a line of JSON, all values as text. Rows of failed runs are included and marked.
    """
    of_run = [
        name
        for name in TABLES["timeline"].names
        if name in runs.columns and name not in SAMPLE.names
    ]
    phases = [
        _phase(series, name)
        for series, name in (("adaptation", "adaptation"), ("samples", "measured"))
    ]
    has_balancers = "exists(samples, sample -> size(sample.balancers) > 0)"
    adapted = runs.where(
        f"variant IS NULL AND (elastic IS NOT NULL OR {has_balancers})"
    ).withColumn("law", F.col("elastic.law"))
    sampled = adapted.select(*of_run, "law", F.explode(F.concat(*phases)).alias("entry"))
    sample = F.col("sample").withField("replicas", F.to_json("sample.replicas"))
    balanced = (
        sampled.select("*", "entry.*")
        .withColumn("sample", sample)
        .select("*", F.explode_outer("sample.balancers").alias("balance"))
    )
    return conform(
        balanced.selectExpr(
            *of_run,
            "law",
            "phase",
            "sample.*",
            "sample.submitted_tuples_per_s AS throughput_submitted",
            "sample.source_tuples_per_s AS throughput_source",
            "sample.sink_tuples_per_s AS throughput_sink",
            "balance.operator AS balancer",
            "balance.active AS active_ports",
            "balance.ports AS ports",
            "balance.congestion AS congestion",
            "balance.reason AS balancer_reason",
        ),
        "timeline",
    )


def _phase(series: str, name: str) -> Column:
    """Return the samples of a series, each with the name of its phase; none if the record has no
    such series.
    """
    return F.expr(
        f"transform(coalesce({series}, array()), sample -> named_struct('phase', '{name}', "
        "'sample', sample))"
    )
