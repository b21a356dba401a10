"""Graphs whose bottleneck is known, and their runs, explained."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from harness.engine.open import describe, engine_of, lay_out
from harness.explain import RunExplanation, explain
from harness.graph import Graph
from harness.machines.software import DEFAULT_SOFTWARE
from harness.measurement.observe import observe
from harness.measurement.spec import run_of
from harness.measurement.time_use import time_use_entry
from harness.models import Model


def pipeline(costs: Sequence[int], **of_source: Any) -> Graph:
    """A chain of work operators `w0`, `w1` and so on, with these costs [FLOP]."""
    graph = Graph("known")
    before = graph.source("source", **of_source)
    for index, cost in enumerate(costs):
        operator = graph.work(f"w{index}", cost=cost)
        graph.connect(before, operator)
        before = operator
    graph.connect(before, graph.sink("sink"))
    return graph


def shared_sink(sources: int, cost: int) -> Graph:
    """Sources that send through a common operator, which costs so much [FLOP]."""
    graph = Graph("shared")
    shared = graph.work("shared", cost=cost)
    for index in range(sources):
        graph.connect(graph.source(f"source{index}"), shared)
    graph.connect(shared, graph.sink("sink"))
    return graph


def explained(
    graph: Graph, model: Model, machine: str = "xeon", **lengths: float
) -> tuple[RunExplanation, dict[str, Any]]:
    """Run a graph for a while; return the explanation and the record's entry. `machine`: "": real
    threads.
    """
    on = describe(machine, DEFAULT_SOFTWARE, {}) if machine else None
    where = {"machine": machine, "simulated": True} if machine else {}
    run = replace(run_of("pipeline", {}, "manual", **where, **lengths), explained=True)
    layout = lay_out(graph, model, on)
    engine = engine_of(layout, on, explained=True)
    seen = observe(engine, run, graph.flow().copies, lambda phase: None)
    entry = time_use_entry(run, seen, layout)
    elapsed_s = sum(sample.elapsed_s for sample in seen.samples)
    record = {
        "topology": graph.name,
        "parameters": {},
        "arm": model.name,
        "simulated": bool(machine),
        "machine": machine or "local",
        "sink_tuples_per_s": sum(sample.sink_tuples for sample in seen.samples) / elapsed_s,
        "time_use": entry,
    }
    return explain(record), entry
