"""A Python function as a C callback, by ctypes: each call takes the interpreter's lock by
itself.
"""

from __future__ import annotations

import ctypes

from examples.pipeline import GateState, show
from harness.graph import Graph, Operator
from harness.graph.functions.compiled import PROTOTYPE


def add_gate(graph: Graph, name: str, threshold: float) -> tuple[Operator, GateState]:
    @PROTOTYPE
    def gate(sequence, value, payload, payload_bytes, control, address):
        state = GateState.from_address(address)
        state.seen += 1
        if control > 0:
            state.threshold = control
        if value[0] < 0:
            return -22
        if value[0] < state.threshold:
            return 0
        value[0] *= 2
        state.kept += 1
        return 1

    state = GateState(threshold)
    return graph.native(name, gate, state=ctypes.pointer(state)), state


if __name__ == "__main__":
    show(add_gate)
