"""Time that a tuple takes through a pipeline that has nothing else to do: mostly how fast
sleeping threads wake up.
"""

from __future__ import annotations

from collections.abc import Iterator

from harness.engine import open_engine
from harness.errors import RunFailed
from harness.measurement.latency import latency_summary
from harness.models import make_model
from tests.benchmarks.fresh import call
from tests.benchmarks.limits.paced import paced_pipeline

TITLE = "Latency of a pipeline of 10 operators at 1,000 tuples/s"
HEADINGS = ("model", "tuples timed", "p50", "p90", "p99", "longest bucket", "CPU use")
WARM_UP_S, WINDOW_S = 0.5, 3.0

MODELS = [
    ("manual", {}),
    ("dedicated", {}),
    ("dynamic", {"threads": 1}),
    ("dynamic", {"threads": 2}),
]


def rows() -> Iterator[tuple[str, ...]]:
    for model, options in MODELS:
        summary, cpu = call(latency, model, options)
        times = (f"{summary[part] / 1000:.0f} µs" for part in ("p50", "p90", "p99", "max"))
        threads = f", threads: {options['threads']}" if options else ""
        yield model + threads, f"{summary['count']}", *times, f"{cpu:.1%}"


def latency(model: str, options: dict[str, int]) -> tuple[dict[str, int | None], float]:
    """Percentiles [ns] of the time from source to sink, and the CPUs that the process used."""
    from harness.runtime.protocol import latency_bounds_ns

    engine = open_engine(paced_pipeline(10, 1000.0), make_model(model, **options))
    engine.start()
    engine.sample(WARM_UP_S)
    seen = engine.sample(WINDOW_S)
    totals = engine.stop(drain=True, timeout_s=5.0)
    if not totals.correct:
        raise RunFailed(f"the run was wrong: {totals}")
    if sum(seen.latency_counts) == 0:
        raise RunFailed("no tuple was timed")
    return latency_summary(seen.latency_counts, latency_bounds_ns(), 0), seen.cpu_s / seen.elapsed_s
