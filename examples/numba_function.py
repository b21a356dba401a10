"""A function compiled by numba, with a numpy record as its state."""

from __future__ import annotations

import numba
import numpy as np

from examples.pipeline import show
from harness.graph import Graph, Operator
from harness.graph.functions.compiled import NUMBA_SIGNATURE

STATE = np.dtype([("threshold", np.float64), ("seen", np.uint64), ("kept", np.uint64)], align=True)


@numba.cfunc(NUMBA_SIGNATURE)
def gate(sequence, value, payload, payload_bytes, control, state):
    own = numba.carray(state, 1, STATE)[0]
    own.seen += 1
    if control > 0:
        own.threshold = control
    if value[0] < 0:
        return -22
    if value[0] < own.threshold:
        return 0
    value[0] *= 2
    own.kept += 1
    return 1


def add_gate(graph: Graph, name: str, threshold: float) -> tuple[Operator, np.record]:
    state = np.zeros(1, STATE).view(np.recarray)
    state.threshold = threshold
    return graph.native(name, gate, state=state), state[0]


if __name__ == "__main__":
    show(add_gate)
