"""Arms of the comparison: a cell (a graph of some size and cost) under each model, and plain C++
programs that do the same work.

Every arm gives tuples per second of a steady run.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import NamedTuple

from harness.errors import RunFailed
from harness.graph import Graph
from harness.models import Dedicated, Dynamic, Manual, Model
from tests.benchmarks.fresh import Missing
from tests.benchmarks.steady import Rate, Span, steady_rate
from topologies import build

HERE = Path(__file__).parent
BINARIES = HERE.parents[1] / "build" / "yardsticks"
PAYLOAD = (
    96  # bytes; with the header of 32 a tuple has 128, as those of the yardsticks and of the peers
)
FLOP_NS = 0.75  # of a multiply, about; only to choose how many tuples a yardstick sends
HOP_NS = 2.0  # of a hop besides its multiplies, likewise


class Cell(NamedTuple):
    """A pipeline of `size` operators, `size` operators in parallel, or `size` pipelines of `size`
    operators; cost in FLOP.
    """

    topology: str
    size: int
    cost: int

    @property
    def hops(self) -> int:
        """Work operators that a tuple passes."""
        return 1 if self.topology == "data-parallel" else self.size

    def graph(self) -> Graph:
        sizes = {
            "pipeline": {"operators": self.size},
            "data-parallel": {"width": self.size},
            "mix": {"width": self.size, "depth": self.size},
        }
        return build(
            self.topology, {**sizes[self.topology], "cost": self.cost, "payload": PAYLOAD}, seed=0
        )[0]

    def __str__(self) -> str:
        size = f"{self.size} x {self.size}" if self.topology == "mix" else f"{self.size}"
        return f"{self.topology} {size}, cost {self.cost}"


Arm = Callable[[Cell, Span], Rate]


@cache
def compiled(name: str) -> Path:
    """The compiled yardstick `name`, built with the runtime's optimisation. Raises RunFailed if it
    does not compile.
    """
    from harness.runtime.protocol import build_info

    BINARIES.mkdir(parents=True, exist_ok=True)
    flags = [
        flag
        for flag in build_info()["flags"].split()
        if flag.startswith(("-O", "-m", "-std", "-f"))
    ]
    source, binary = HERE / "yardsticks" / f"{name}.cpp", BINARIES / name
    made_from = [source, *source.parent.glob("*.hpp")]
    words = ["g++", *flags, "-pthread", "-o", str(binary), str(source)]
    recipe, note = " ".join(words), BINARIES / f"{name}.flags"
    fresh = binary.exists() and all(
        path.stat().st_mtime < binary.stat().st_mtime for path in made_from
    )
    if not fresh or not note.exists() or note.read_text() != recipe:
        done = subprocess.run(words, capture_output=True, text=True, timeout=120)
        if done.returncode != 0:
            raise RunFailed(f"the yardstick {name} does not compile: {done.stderr}")
        note.write_text(recipe)
    return binary


def yardstick(name: str, *mode: str) -> Arm:
    """The arm of a C++ program. It takes time at its sink, after a warm-up."""

    def run(cell: Cell, span: Span) -> Rate:
        tuples = max(64, int(span.window_s * 1e9 / (cell.size * (HOP_NS + FLOP_NS * cell.cost))))
        words = [str(compiled(name)), str(cell.size), str(cell.cost), str(tuples), *mode]
        done = subprocess.run(words, capture_output=True, text=True, timeout=120)
        if done.returncode != 0:
            raise RunFailed(f"the yardstick {name} failed: {done.stderr.strip()}")
        return Rate(1e9 / (float(done.stdout) * cell.size))

    return run


def under(model: Callable[[Cell], Model]) -> Arm:
    """The arm of a model."""
    return lambda cell, span: steady_rate(cell.graph(), model(cell), span)


@contextmanager
def one_cpu() -> Iterator[None]:
    """Threads started meanwhile share one CPU."""
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(allowed)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, allowed)


def dynamic_on_one_cpu(cell: Cell, span: Span) -> Rate:
    """A source thread that finds its queue full executes operators too, so one scheduler thread may
    keep two CPUs busy.

    With one CPU for both, the run has as much processor time as a program of one thread.
    """
    if not hasattr(os, "sched_setaffinity"):
        raise Missing("CPU affinity (not on this system)")
    with one_cpu():
        return steady_rate(cell.graph(), Dynamic(1), span)


def capacity(cell: Cell) -> int:
    """Tuples a queue where each has a thread: what the peers were given, fewer where they could not
    fill in time.
    """
    return 64 if cell.size >= 1000 and cell.topology == "pipeline" else 1024


def one_queue(cell: Cell, span: Span) -> Rate:
    """Manual, with one queue of 1,024 tuples and a thread of its own in the middle of the
    pipeline.
    """
    graph = cell.graph()
    if not hasattr(graph, "threaded_port"):
        raise Missing("Graph.threaded_port")
    graph.threaded_port(graph.operators[f"work{cell.size // 2 + 1}"], capacity=1024)
    return steady_rate(graph, Manual(), span, threads=2)


ARMS: dict[str, Arm] = {
    "C++ chain, in place": yardstick("chain"),
    "C++ chain, copy a hop": yardstick("chain", "copy"),
    "C++ breadth-first": yardstick("breadth_first"),
    "C++ two threads": yardstick("two_threads"),
    "manual": under(lambda cell: Manual()),
    "manual, one queue": one_queue,
    "dynamic, 1 thread, 1 CPU": dynamic_on_one_cpu,
    "dynamic, 1 thread": under(lambda cell: Dynamic(1)),
    "dynamic, 2 threads": under(lambda cell: Dynamic(2)),
    "dedicated": under(lambda cell: Dedicated(capacity(cell))),
}


def measure(arm: str, cell: tuple[str, int, int], span: tuple[float, float]) -> tuple[float, bool]:
    """An arm on a cell, by name: what a fresh process is asked for."""
    rate = ARMS[arm](Cell(*cell), Span(*span))
    return rate.tuples_per_s, rate.settled
