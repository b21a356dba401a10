"""Runs that were never made: records of any length, and graphs for them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from harness.graph import Graph
from harness.measurement.record.declaration import ELASTIC, SAMPLE
from harness.measurement.spec import run_of
from tests.records import example, record_of


def sample(time_s: float, **changes: Any) -> dict[str, Any]:
    """A period of a second, as records have it."""
    plain = {
        "time_s": time_s, "elapsed_s": 1.0, "sink_tuples_per_s": 1000.0 * time_s, "source_tuples_per_s": 1000.0 * time_s,
        "submitted_tuples_per_s": 12_000.0 * time_s, "threads_active": 2, "threads_requested": 2, "system_cpu": 0.9,
        "others_cpu": 0.1, "utilisation": 0.8, "law_state": "searching", "law_reason": f"look {time_s:g} → up",
    }  # fmt: skip
    return example(SAMPLE, **plain | changes)


def record(
    adaptation: Sequence[dict[str, Any]] = (),
    samples: Sequence[dict[str, Any]] = (),
    **changes: Any,
) -> dict[str, Any]:
    """The record of a run of the pipeline with 10 operators under dynamic threading with a law,
    unless said otherwise.
    """
    run = run_of("pipeline", {"operators": 10, "cost": 1, "payload": 128}, "dynamic", threads=1)
    seen = {"adaptation": list(adaptation), "samples": list(samples)}
    law = example(ELASTIC, law="millrace", period_s=1.0, maximum=8, settled=True)
    outcome = {"sink_tuples_per_s": 9000.0, "duration_s": 2.0, "threads_total": 3, "threads": None}
    return record_of(run, **outcome | seen | {"elastic": law} | changes)


def chain(names: Iterable[str]) -> Graph:
    """Operators one behind the other, between a source and a sink."""
    graph = Graph("chain", 8)
    before = graph.source("source")
    for name in (*names, "sink"):
        operator = graph.sink(name) if name == "sink" else graph.work(name, 100)
        graph.connect(before, operator)
        before = operator
    return graph
