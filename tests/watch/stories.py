"""Runs that were never made: records of any length, and graphs for them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from harness.graph import Graph
from harness.measurement.assemble import blank_record
from harness.measurement.spec import run_of

HOST = {
    "cpu_model": "none", "cpus_allowed": 2, "cpus_online": 2, "governor": None, "cgroup_quota_cpus": None, "throttled_us": None,
    "steal_share": None, "load_of_others": None,
}  # fmt: skip


def sample(time_s: float, **changes: Any) -> dict[str, Any]:
    """A period of a second, as records have it."""
    plain = {
        "time_s": time_s, "elapsed_s": 1.0, "sink_tuples_per_s": 1000.0 * time_s, "source_tuples_per_s": 1000.0 * time_s,
        "submitted_tuples_per_s": 12_000.0 * time_s, "threads_active": 2, "cpu_s": 1.0, "context_switches": 3,
        "threads_requested": 2, "threads_unsuspendable": 0, "queued_ports": 0, "system_cpu": 0.9, "others_cpu": 0.1,
        "utilisation": 0.8, "law_state": "searching", "law_reason": f"look {time_s:g} → up", "balancers": [],
    }  # fmt: skip
    return plain | changes


def record(
    adaptation: Sequence[dict[str, Any]] = (),
    samples: Sequence[dict[str, Any]] = (),
    **changes: Any,
) -> dict[str, Any]:
    """The record of a run of the pipeline with 10 operators under dynamic threading with a law, unless said otherwise."""
    spec = run_of("pipeline", {"operators": "10"}, "dynamic", threads=1)
    terms = {
        "law": "millrace", "settings": {}, "period_s": 1.0, "minimum": 1, "maximum": 8, "start": 1, "settled_level": 2,
        "changes": 0, "adaptation_s": 1.0, "settled": True,
    }  # fmt: skip
    made = blank_record(spec, {"operators": 10, "cost": 1, "payload": 128}, spec.model, HOST)
    good = {
        "correct": True,
        "settled": True,
        "sink_tuples_per_s": 9000.0,
        "duration_s": 2.0,
        "threads_total": 3,
    }
    return (
        made
        | good
        | {"elastic": terms, "adaptation": list(adaptation), "samples": list(samples)}
        | changes
    )


def chain(names: Iterable[str]) -> Graph:
    """Operators one behind the other, between a source and a sink."""
    graph = Graph("chain", 8)
    before = graph.source("source")
    for name in (*names, "sink"):
        operator = graph.sink(name) if name == "sink" else graph.work(name, 100)
        graph.connect(before, operator)
        before = operator
    return graph
