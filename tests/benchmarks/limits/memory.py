"""Resident memory of a process while a pipeline runs whose queues are all full, beside the sum of
its queues (BOUND).
"""

from __future__ import annotations

from collections.abc import Iterator

from harness.engine import open_engine
from harness.graph import Graph
from harness.models import make_model
from tests.benchmarks.arms import PAYLOAD
from tests.benchmarks.fresh import call

TITLE = (
    "Memory: resident size of a process, beside ports x capacity x slot + 60 MiB; it should "
    "stay below 1.2 times that"
)
HEADINGS = (
    "pipeline",
    "model",
    "queues filled",
    "resident",
    "ports x capacity x slot + 60 MiB",
    "ratio",
)
SLOT = 128  # bytes of a tuple with that payload: whole cache lines
BASE = 60 * 2**20  # bytes for the interpreter, the modules and the plan
SLOW = 1_000_000  # FLOP of the last operator: the queues before it fill up
WINDOWS, WINDOW_S = 16, 0.25  # long enough for all the queues to have been full

CELLS = [
    ("dynamic", 10, 1000),
    ("dynamic", 100, 20_000),
    ("dynamic", 1000, 1000),
    ("dedicated", 100, 1000),
]


def rows() -> Iterator[tuple[str, ...]]:
    for model, operators, capacity in CELLS:
        filled, resident = call(resident_bytes, model, operators, capacity)
        bound = (operators + 1) * capacity * SLOT + BASE  # the sink has a queue, too
        size = f"{operators} operators, queues of {capacity} tuples"
        yield (
            size,
            model,
            f"{filled:.0%}",
            mebibytes(resident),
            mebibytes(bound),
            f"{resident / bound:.2f}",
        )


def resident_bytes(model: str, operators: int, capacity: int) -> tuple[float, int]:
    """Greatest mean fill of the queues up to the slow operator, and greatest resident size seen
    [bytes].
    """
    import psutil

    graph = Graph("filling", PAYLOAD)
    last = graph.source("source")
    for number in range(1, operators + 1):
        work = graph.work(f"work{number}", SLOW if number == operators else 1)
        graph.connect(last, work)
        last = work
    graph.connect(last, graph.sink("sink"))
    threads = 2 if model == "dynamic" else None
    engine = open_engine(graph, make_model(model, threads=threads, queue_capacity=capacity))
    engine.start()
    process, resident, filled = psutil.Process(), 0, 0.0
    for _ in range(WINDOWS):
        seen = engine.sample(WINDOW_S)
        filled = max(filled, sum(seen.queue_fill[:operators]) / operators)
        resident = max(resident, process.memory_info().rss)
    engine.stop(drain=False, timeout_s=5.0)
    return filled, resident


def mebibytes(size: int) -> str:
    return f"{size / 2**20:.0f} MiB"
