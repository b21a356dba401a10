"""A function of a shared library, by ctypes: gate.c."""

from __future__ import annotations

import ctypes
from functools import cache

from examples.building import HERE, shared_library
from examples.pipeline import GateState, show
from harness.graph import Graph, Operator
from harness.graph.functions.compiled import PROTOTYPE


@cache
def library() -> ctypes.CDLL:
    return ctypes.CDLL(str(shared_library(HERE / "gate.c")))


def add_gate(graph: Graph, name: str, threshold: float) -> tuple[Operator, GateState]:
    state = GateState(threshold)
    return graph.native(name, PROTOTYPE(("gate", library())), state=state), state


if __name__ == "__main__":
    show(add_gate)
