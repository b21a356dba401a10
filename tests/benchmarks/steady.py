"""The rate of an engine while it runs steadily: windows after a warm-up, as measuring runs have
them, in this process.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from harness.engine import Sample, open_engine
from harness.errors import RunFailed
from harness.graph import Graph
from harness.measurement.observe import is_warm
from harness.models import Model

WARM_UP_WINDOW_S = 0.1
GRACE_S = 5.0  # for the threads to end
PASSED_ON = (
    "source",
    "split",
    "threaded_split",
    "elastic_load_balance",
    "buffer",
    "sink",
)  # operators that are no hop


@dataclass(frozen=True)
class Span:
    """Length of a measurement."""

    window_s: float = 0.5
    warm_up_s: float = 2.0  # at most


@dataclass(frozen=True)
class Rate:
    """Tuples per second. Not `settled`: queues were still filling when the warm-up was over."""

    tuples_per_s: float
    settled: bool = True


def steady_rate(
    graph: Graph, model: Model, span: Span, threads: int | None = None, **options: Any
) -> Rate:
    """Tuples/s of `graph` under `model`: executions of operators per second over the hops of a
    tuple.

    Once a run is steady that is the rate at the sinks; before, it does not depend on how far the
    queues have filled. Raises RunFailed if the oracle finds a fault, or if not `threads` threads
    (None: any number) execute operators.
    """
    engine = open_engine(graph, model, **options)
    if threads is not None and engine.threads != threads:
        raise RunFailed(f"{engine.threads} threads execute operators, not {threads}")
    flow = graph.flow()
    hops = [
        index
        for index, operator in enumerate(graph.operators.values())
        if operator.kind not in PASSED_ON
    ]
    engine.start()
    engine.sample(WARM_UP_WINDOW_S)  # threads start, pages are touched for the first time
    seen: list[Sample] = []
    settled = False
    while not (settled or engine.finished() or len(seen) * WARM_UP_WINDOW_S >= span.warm_up_s):
        seen.append(engine.sample(WARM_UP_WINDOW_S))
        settled = is_warm(seen, flow.copies)
    measured = engine.sample(span.window_s)
    totals = engine.stop(drain=False, timeout_s=GRACE_S)
    if not totals.correct:
        raise RunFailed(f"the run was wrong: {totals}")
    executed = sum(measured.processed[index] for index in hops)
    return Rate(executed / flow.hops / measured.elapsed_s, settled)
