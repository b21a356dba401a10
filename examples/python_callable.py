"""A Python callable: nothing to compile, and it may raise."""

from __future__ import annotations

from examples.pipeline import show
from harness.graph import Graph, Operator


class Gate:
    """The gate with its state in attributes."""

    def __init__(self, threshold: float) -> None:
        self.threshold = threshold
        self.seen = self.kept = 0

    def __call__(self, sequence: int, value: float, control: float = 0.0) -> float | None:
        """`control` comes only if the operator has a control port."""
        self.seen += 1
        if control > 0:
            self.threshold = control
        if value < 0:
            raise ValueError(f"value {value} is negative")
        if value < self.threshold:
            return None
        self.kept += 1
        return value * 2


def add_gate(graph: Graph, name: str, threshold: float) -> tuple[Operator, Gate]:
    gate = Gate(threshold)
    return graph.python(name, gate), gate


if __name__ == "__main__":
    show(add_gate)
