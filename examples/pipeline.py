"""source -> gate -> sink: a graph around the examples' operator, and one way to run it."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Protocol

from harness.engine import Totals, open_engine
from harness.graph import Graph, Operator
from harness.models import Dynamic, Model


class Counts(Protocol):
    """State of a gate, to be read."""

    threshold: float
    seen: int
    kept: int


class GateState(ctypes.Structure):
    """The gate's state as C lays it out: `struct Gate` of gate.c and gate.pyx."""

    _fields_ = (
        ("threshold", ctypes.c_double),
        ("seen", ctypes.c_uint64),
        ("kept", ctypes.c_uint64),
    )


AddGate = Callable[[Graph, str, float], tuple[Operator, Counts]]
"""Adds a gate of a name and a threshold to a graph; returns it, and its state to read after the
run.
"""


def run(graph: Graph, tuples: int, model: Model | None = None) -> Totals:
    """Send so many tuples from each source, let them drain, return the account. Without a model:
    dynamic with two threads.
    """
    engine = open_engine(graph, model or Dynamic(threads=2), tuples=tuples)
    engine.start()
    while not engine.finished():
        engine.sample(0.1)
    return engine.stop(drain=True, timeout_s=5.0)


def show(add_gate: AddGate, tuples: int = 100_000) -> None:
    """Run `tuples` through a gate and print what became of them."""
    graph = Graph("gate")
    gate, state = add_gate(graph, "gate", 1.25)
    graph.connect(graph.source("source"), gate)
    graph.connect(gate, graph.sink("sink"))
    totals = run(graph, tuples)
    print(
        f"seen {state.seen}, kept {state.kept}, received {totals.received}: "
        f"{'correct' if totals.correct else totals}"
    )
