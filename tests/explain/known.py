"""Graphs whose bottleneck is known, and their runs, explained."""

from __future__ import annotations

import ctypes
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from examples.building import shared_library
from harness.engine.open import describe, engine_of, lay_out
from harness.engine.profiled import Profiled
from harness.explain import RunExplanation, explain
from harness.graph import Graph
from harness.graph.functions.compiled import PROTOTYPE
from harness.machines.software import DEFAULT_SOFTWARE
from harness.measurement.observe import observe
from harness.measurement.simulable import simulable
from harness.measurement.spec import run_of
from harness.measurement.time_use import ExplainedWindow, time_use_entry
from harness.models import Model

LINE = 64  # bytes of a cache line


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


def two_in_python() -> Graph:
    """Two operators in Python, one behind the other."""
    graph = Graph("two")
    source = graph.source("source")
    one, other = (graph.python(name, _sum_up, stateless=True) for name in ("one", "other"))
    graph.chain(source, one, other, graph.sink("sink"))
    return graph


def _sum_up(sequence: int, value: float) -> float:
    return float(sum(range(200)))


TWO_IN_PYTHON = Profiled(
    "a CPU", (10.0, 20_000.0, 10_000.0, 10.0), ((1.0,), (1.0,), (1.0,), ()), (9,) * 4
)
"""Costs of `two_in_python`, with the interpreter's lock."""


COUNT_C = """
#include <stdint.h>

int32_t count(uint64_t n, double* value, char* payload, uint64_t bytes, double c, void* state) {
  volatile uint64_t* counter = state;
  for (int i = 0; i < 1000; ++i) *counter += 1;
  return 1;
}
"""


def false_sharing() -> Graph:
    """Two operators in C that count in one cache line."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "count_in_one_line.c")
        source.write_text(COUNT_C, encoding="utf-8")
        library = ctypes.CDLL(str(shared_library(source)))
    counters = ctypes.create_string_buffer(2 * LINE)
    at = -ctypes.addressof(counters) % LINE
    graph = Graph("false-sharing")
    before = graph.source("source")
    for name, offset in (("one", at), ("other", at + ctypes.sizeof(ctypes.c_uint64))):
        state = ctypes.c_uint64.from_buffer(counters, offset)
        operator = graph.native(name, PROTOTYPE(("count", library)), state=state)
        graph.connect(before, operator)
        before = operator
    graph.connect(before, graph.sink("sink"))
    return graph


def explained(
    graph: Graph,
    model: Model,
    machine: str = "xeon",
    profiled: Profiled | None = None,
    **lengths: float,
) -> tuple[RunExplanation, dict[str, Any]]:
    """Run a graph for a while; return the explanation and the record's entry. `machine`: "": real
    threads; `profiled`: costs of users' functions there.
    """
    on = describe(machine, DEFAULT_SOFTWARE, {}) if machine else None
    where = {"machine": machine, "simulated": True} if machine else {}
    run = run_of("pipeline", {}, "manual", **where, **lengths)
    if profiled is not None:
        graph = simulable(graph, profiled, on.machine)
    layout = lay_out(graph, model, on)
    engine = engine_of(layout, on, explained=True, profiled=profiled)
    seen = observe(engine, run, graph, lambda phase: None, explained=ExplainedWindow(engine, on))
    entry = time_use_entry(
        layout,
        seen.time_use,
        seen.warmup_s,
        seen.processed,
        seen.samples[-1].replicas,
        seen.disturbance,
    )
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
