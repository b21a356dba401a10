"""Cost of a pool of threads that sleep by request (ASLEEP): CPU time beside that of the same run
without them.
"""

from __future__ import annotations

from collections.abc import Iterator

from harness.engine import open_engine
from harness.models import Dynamic
from tests.benchmarks.fresh import Missing, call
from tests.benchmarks.limits.paced import paced_pipeline

TITLE = (
    "Suspended threads: CPU use of a pipeline at 10 tuples/s; 64 threads, all but a few "
    "asleep, should use no more than a few"
)
HEADINGS = ("pool", "level", "threads active", "unsuspendable", "CPU use", "context switches/s")
FEW, MANY = 2, 64
WARM_UP_S, WINDOW_S = 0.5, 3.0


def rows() -> Iterator[tuple[str, ...]]:
    for pool, level in ((FEW, None), (MANY, FEW), (MANY, None)):
        active, stuck, cpu, switches = call(cpu_use, pool, level)
        yield (
            f"{pool} threads",
            f"{level or pool}",
            f"{active}",
            f"{stuck}",
            f"{cpu:.2%}",
            f"{switches:.0f}",
        )


def cpu_use(pool: int, level: int | None) -> tuple[int, int, float, float]:
    """Threads active, threads that would not sleep, CPUs used, context switches a second; `level`
    None: nobody is suspended.
    """
    engine = open_engine(paced_pipeline(10, 10.0), Dynamic(pool))
    if not hasattr(engine, "set_threads"):
        raise Missing("Engine.set_threads(level)")
    engine.start()
    engine.sample(WARM_UP_S)
    if level is not None:
        engine.set_threads(level)
    engine.sample(WARM_UP_S)
    seen = engine.sample(WINDOW_S)
    engine.stop(drain=True, timeout_s=5.0)
    return (
        seen.threads_active,
        seen.threads_unsuspendable,
        seen.cpu_s / seen.elapsed_s,
        seen.context_switches / seen.elapsed_s,
    )
