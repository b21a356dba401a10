"""Costs of simulating: tuples executed per second of one core, memory, and how both grow
with threads and operators.

Each row is the median of three fresh processes. A run begins with its queues half full and takes so
many events; times are those in which it simulates, without building the graph. An *execution* is a
tuple that an operator processes.
"""

from __future__ import annotations

import resource
import statistics
from collections.abc import Iterator

from harness.engine import open_engine
from harness.models import make_model
from tests.benchmarks.fresh import call
from tests.benchmarks.limits.memory import mebibytes
from topologies import build

TITLE = (
    "The simulator: 5 M executions/s or more in the first rows, 1 GiB or less, a time per "
    "event that hardly grows"
)
HEADINGS = ("simulated on xeon", "software", "events", "executions/s", "µs an event", "resident")
ROUNDS = 3
EVENTS = 4_000_000
MODELS = [("dynamic", 176), ("dedicated", None), ("manual", None)]
GROWS_WITH_THREADS = (64, 512, 4096)  # threads, each with a port of its own
GROWS_WITH_OPERATORS = (1000, 10_000, 100_000)


def rows() -> Iterator[tuple[str, ...]]:
    for software in ("millrace", "streams-4.2"):
        for model, threads in MODELS:
            name = model if threads is None else f"{model}, {threads} threads"
            yield row(f"pipeline of 1,000, cost 1, {name}", software, 1000, model, threads, EVENTS)
    for ports in GROWS_WITH_THREADS:
        yield row(
            f"pipeline of {ports:,}, cost 1, dedicated",
            "millrace",
            ports - 1,
            "dedicated",
            None,
            EVENTS // 4,
        )
    for operators in GROWS_WITH_OPERATORS:
        name = f"pipeline of {operators:,}, cost 1, dynamic, 176 threads"
        yield row(name, "millrace", operators, "dynamic", 176, EVENTS // 4)


def row(
    name: str, software: str, operators: int, model: str, threads: int | None, events: int
) -> tuple[str, ...]:
    """A line of the table."""
    found = [call(simulate, software, operators, model, threads, events) for _ in range(ROUNDS)]
    executions, wall_s, taken, resident = (
        statistics.median(values) for values in zip(*found, strict=True)
    )
    rates = f"{executions / wall_s / 1e6:.1f} M", f"{1e6 * wall_s / taken:.2f}"
    return name, software, f"{taken:,.0f}", *rates, mebibytes(int(resident))


def simulate(
    software: str, operators: int, model: str, threads: int | None, events: int
) -> tuple[float, float, float, float]:
    """Executions, seconds in which they were simulated, events, and greatest resident size
    [bytes].
    """
    graph, _ = build("pipeline", {"operators": operators, "cost": 1, "payload": 128}, 0)
    engine = open_engine(
        graph, make_model(model, threads=threads), "xeon", simulated=True, software=software
    )
    engine.start()
    sample = engine.sample_events(events)
    simulation = engine.simulation
    kibibytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return (
        float(sum(sample.processed)),
        simulation["wall_s"],
        float(simulation["events"]),
        1024.0 * kibibytes,
    )
