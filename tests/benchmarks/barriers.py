"""Cost of a barrier of two ports, for a pair: `python -m tests.benchmarks.barriers
[ROUNDS]`.

As an operator with a loop of its own, which the coroutine model runs, as the built-in kind, and as
functions that are called for each tuple and wait by a lock and a condition (C-Stream's appendix),
which the dynamic model runs: the same two threads. All take turns in random order; medians of the
rounds, and of the ratios to the loop in the same language within a round.
"""

from __future__ import annotations

import ctypes
import random
import statistics
import sys
import time
from collections.abc import Callable
from functools import cache, partial

from examples.barriers import Barrier, barrier
from examples.building import HERE, shared_library
from examples.cython_function import cython_module
from harness.engine import open_engine
from harness.graph import Graph, Operator
from harness.graph.functions.compiled import PROTOTYPE
from harness.measurement.host import cpu_model
from harness.models import Coroutine, Dynamic

TUPLES = 300_000  # of each source
LONGEST_S = 120
SLOWER = 10  # what is in Python gets so many times fewer


@cache
def compiled_loop() -> object:
    function = ctypes.CDLL(str(shared_library(HERE / "barrier.c"))).barrier
    function.argtypes, function.restype = (ctypes.c_void_p, ctypes.c_void_p), ctypes.c_int32
    return function


@cache
def compiled_events() -> ctypes.CDLL:
    library = ctypes.CDLL(str(shared_library(HERE / "barrier_events.c", "-pthread")))
    library.make.restype = ctypes.c_void_p
    return library


def loop(function: Callable[[], object]) -> Callable[[Graph], list[tuple[object, object]]]:
    def add(graph: Graph) -> list[tuple[object, object]]:
        barrier = graph.loop("barrier", function(), inputs=2)
        return [(barrier.input(0), barrier), (barrier.input(1), barrier)]

    return add


def built_in(graph: Graph) -> list[tuple[object, object]]:
    barrier = graph.barrier("barrier", 2)
    return [(barrier.input(0), barrier), (barrier.input(1), barrier)]


def events_in_c(graph: Graph) -> list[tuple[object, object]]:
    library = compiled_events()
    state = library.make()
    ports: list[Operator] = [
        graph.native(name, PROTOTYPE((name, library)), state=state) for name in ("left", "right")
    ]
    return [(port, port) for port in ports]


def events_in_python(graph: Graph) -> list[tuple[object, object]]:
    events = Barrier()
    ports = [graph.python(f"port{port}", partial(events.process, port)) for port in range(2)]
    return [(port, port) for port in ports]


KINDS = {
    "built in": (built_in, Coroutine(2), "loop in C"),
    "loop in C": (loop(compiled_loop), Coroutine(2), "loop in C"),
    "loop in Cython": (
        loop(lambda: cython_module(HERE / "barrier.pyx").__pyx_capi__["barrier"]),
        Coroutine(2),
        "loop in C",
    ),
    "events in C": (events_in_c, Dynamic(2), "loop in C"),
    "loop in Python": (loop(lambda: barrier), Coroutine(2), "loop in Python"),
    "events in Python": (events_in_python, Dynamic(2), "loop in Python"),
}


def ns_per_pair(kind: str, tuples: int) -> float:
    """From the first tuple to the end, sources and sink included."""
    add, model, _ = KINDS[kind]
    tuples = tuples // SLOWER if "Python" in kind else tuples
    graph = Graph(kind, payload=96)
    sink = graph.sink("sink")
    ends = set()
    for number, (target, end) in enumerate(add(graph)):
        graph.connect(graph.source(f"source{number}"), target)
        ends.add(end)
    for end in ends:
        graph.connect(end, sink)
    engine = open_engine(graph, model, tuples=tuples)
    begin = time.perf_counter()
    engine.start()
    while not engine.finished() and time.perf_counter() < begin + LONGEST_S:
        engine.sample(0.1)
    elapsed = time.perf_counter() - begin
    totals = engine.stop(drain=True, timeout_s=5.0)
    assert totals.correct and totals.received == tuples, totals
    return elapsed * 1e9 / tuples


def main(rounds: int, tuples: int = TUPLES) -> None:
    order = random.Random(1)
    samples: dict[str, list[float]] = {kind: [] for kind in KINDS}
    for _ in range(rounds):
        for kind in order.sample(list(KINDS), len(KINDS)):
            samples[kind].append(ns_per_pair(kind, tuples))
    print(f"{cpu_model() or 'unknown processor'}, Python {sys.version.split()[0]}; {rounds} rounds")
    print("| barrier | ns a pair | of a loop in this language |\n|---|---|---|")
    for kind, (_, _, yardstick) in KINDS.items():
        ratio = statistics.median(
            value / base for value, base in zip(samples[kind], samples[yardstick], strict=True)
        )
        print(f"| {kind} | {statistics.median(samples[kind]):,.0f} | {ratio:.2f} |", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 9)
