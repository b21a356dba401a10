"""Cost of a user's operator for a tuple: `python -m tests.benchmarks.user_operators
[ROUNDS]`.

Chains of 10 operators of each kind, each multiplying the value by 1.0 read from its state: what a
work operator of cost 1 does, which is what they are compared with. Under manual, where one thread
makes every call and no queue blurs what it costs. All kinds take turns in random order; medians of
the rounds' differences.
"""

from __future__ import annotations

import ctypes
import random
import statistics
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numba

from examples.building import shared_library
from examples.cython_function import cython_module
from harness.engine import open_engine
from harness.graph import Graph, Operator
from harness.graph.functions.compiled import NUMBA_SIGNATURE, PROTOTYPE
from harness.measurement.host import cpu_model
from harness.models import Manual

SOURCES = Path(__file__).parent / "user_operators_code"
OPERATORS = 10
TUPLES = 200_000  # of a run of compiled operators: some hundredths of a second
SLOWER = {"ctypes callback": 100, "Python callable": 100}  # these get so many times fewer tuples
YARDSTICK = "work, cost 1"


@numba.cfunc(NUMBA_SIGNATURE)
def multiply_numba(sequence, value, payload, payload_bytes, control, state):
    value[0] *= numba.carray(state, 1, numba.float64)[0]
    return 1


@cache
def multiply_c() -> ctypes._CFuncPtr:
    return PROTOTYPE(("multiply", ctypes.CDLL(str(shared_library(SOURCES / "multiply.c")))))


@cache
def multiply_cython() -> object:
    return cython_module(SOURCES / "multiply.pyx").__pyx_capi__["multiply"]


@PROTOTYPE
def multiply_callback(sequence, value, payload, payload_bytes, control, state):
    value[0] *= ctypes.c_double.from_address(state).value
    return 1


class Multiply:
    def __init__(self) -> None:
        self.factor = 1.0

    def __call__(self, sequence: int, value: float) -> float:
        return value * self.factor


def native(function: Callable[[], object]) -> Callable[[Graph, str], Operator]:
    return lambda graph, name: graph.native(
        name, function(), preserves=True, state=ctypes.c_double(1.0)
    )


KINDS: dict[str, Callable[[Graph, str], Operator]] = {
    YARDSTICK: lambda graph, name: graph.work(name, 1),
    "C by ctypes": native(multiply_c),
    "Cython": native(multiply_cython),
    "numba": native(lambda: multiply_numba),
    "ctypes callback": native(lambda: multiply_callback),
    "Python callable": lambda graph, name: graph.python(name, Multiply(), preserves=True),
}


def ns_per_operator(kind: str, tuples: int) -> float:
    """A tuple and operator, of a whole run from the first tuple to the end of the drain; source's
    and sink's share included.
    """
    tuples = max(100, tuples // SLOWER.get(kind, 1))
    graph = Graph(kind, payload=96)
    last = graph.source("source")
    for index in range(OPERATORS):
        operator = KINDS[kind](graph, f"operator{index}")
        graph.connect(last, operator)
        last = operator
    graph.connect(last, graph.sink("sink"))
    engine = open_engine(graph, Manual(), tuples=tuples)
    engine.start()
    elapsed = 0.0
    while not engine.finished():
        elapsed += engine.sample(60.0).elapsed_s
    totals = engine.stop(drain=True, timeout_s=5.0)
    assert totals.correct and totals.received == tuples, totals
    return elapsed * 1e9 / (tuples * OPERATORS)


def main(rounds: int, tuples: int = TUPLES) -> None:
    order = random.Random(1)
    samples: dict[str, list[float]] = {kind: [] for kind in KINDS}
    for _ in range(rounds):
        for kind in order.sample(list(KINDS), len(KINDS)):
            samples[kind].append(ns_per_operator(kind, tuples))
    print(f"{cpu_model() or 'unknown processor'}, Python {sys.version.split()[0]}; {rounds} rounds")
    print("| operator | ns a tuple | more than work of cost 1 |\n|---|---|---|")
    for kind, values in samples.items():
        more = statistics.median(
            value - base for value, base in zip(values, samples[YARDSTICK], strict=True)
        )
        print(
            f"| {kind} | {statistics.median(values):.1f} | "
            f"{'-' if kind == YARDSTICK else f'{more:.1f} ns'} |",
            flush=True,
        )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 15)
