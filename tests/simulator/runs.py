"""Simulated runs to their end, and the places where graphs of all shapes are simulated."""

from __future__ import annotations

from harness.engine import Engine, Totals, open_engine
from harness.graph import Graph
from harness.machines.machine import load_machine
from harness.models import Model, pool_of

PLACES = [
    ("local", "millrace"),
    ("local", "streams-4.2"),
    ("xeon", "millrace"),
    ("xeon", "streams-4.2"),
    ("xeon", "p17-printed"),
    ("power8", "millrace"),
]
"""Machine and software: two CPUs, so that threads take turns, and so many that each thread has its
own.
"""

ENOUGH = 5_000_000
"""Events: several times what any run of these tests takes."""


def simulated(graph: Graph, model: Model, machine: str = "xeon", **options: object) -> Engine:
    """An engine that simulates, not started."""
    return open_engine(graph, model, machine, simulated=True, **options)


def has_cpus(machine: str, graph: Graph, model: Model) -> bool:
    """Return True if the machine has a CPU for each scheduler thread that the graph's annotations
    and the model ask for.
    """
    cpus = load_machine(machine).cpus
    return pool_of(graph, model, cpus).threads <= cpus


def run_to_end(engine: Engine, events: int = ENOUGH) -> Totals:
    """Start the engine, let it run until it is over or has taken so many events, and end it."""
    engine.start()
    if not engine.finished():
        engine.sample_events(events)
    return engine.stop(drain=engine.finished(), timeout_s=0.0)
