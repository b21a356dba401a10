"""Cost of explaining a run: the CPU time of a hop with a sampler and without, in turns.

    python -m tests.benchmarks.explaining [--rounds N] [--seconds S]

A run in this process is made with and without `explained`, one right after the other and in turns,
so that what others do to the machine hits both. The CPU time is that of the whole process, and so
has the sampler's own.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable

from harness.engine.open import open_engine
from harness.graph import Graph
from harness.models import Coroutine, Dedicated, Dynamic, Manual, Model
from topologies import build

CASES: dict[str, tuple[Callable[[], Graph], Model]] = {
    "manual, pipeline of 100, cost 1": (
        lambda: build("pipeline", {"operators": 100, "cost": 1}, 0)[0],
        Manual(),
    ),
    "dynamic-1, pipeline of 10, cost 1": (
        lambda: build("pipeline", {"operators": 10, "cost": 1}, 0)[0],
        Dynamic(threads=1),
    ),
    "dynamic-2, pipeline of 100, cost 100": (
        lambda: build("pipeline", {"operators": 100, "cost": 100}, 0)[0],
        Dynamic(threads=2),
    ),
    "dynamic-1, data-parallel of 10, cost 1": (
        lambda: build("data-parallel", {"width": 10, "cost": 1}, 0)[0],
        Dynamic(threads=1),
    ),
    "dedicated, pipeline of 10, cost 100": (
        lambda: build("pipeline", {"operators": 10, "cost": 100}, 0)[0],
        Dedicated(),
    ),
    "coroutine-1, pipeline of 100, cost 1": (
        lambda: build("pipeline", {"operators": 100, "cost": 1}, 0)[0],
        Coroutine(threads=1),
    ),
}


def hop_ns(graph: Graph, model: Model, explained: bool, seconds: float) -> float:
    """Return the CPU time of a tuple at an operator [ns]."""
    engine = open_engine(graph, model, explained=explained)
    engine.start()
    engine.sample(seconds / 2)
    sample = engine.sample(seconds)
    engine.stop(drain=False, timeout_s=2.0)
    return sample.cpu_s * 1e9 / max(sample.submitted_tuples, 1)


def main() -> None:
    """Print, for each case, the median ratio of the CPU times and how far the ratios scatter."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--seconds", type=float, default=0.5)
    args = parser.parse_args()
    for name, (graph, model) in CASES.items():
        ratios, plain = [], []
        for turn in range(args.rounds):
            order = (False, True) if turn % 2 == 0 else (True, False)
            times = {with_: hop_ns(graph(), model, with_, args.seconds) for with_ in order}
            ratios.append(times[True] / times[False])
            plain.append(times[False])
        low, _, high = statistics.quantiles(ratios, n=4)
        print(
            f"{name}: {statistics.median(plain):.2f} ns a hop without; with/without "
            f"{statistics.median(ratios):.3f} (quartiles {low:.3f} .. {high:.3f})",
            flush=True,
        )


if __name__ == "__main__":
    main()
