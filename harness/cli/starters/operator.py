"""An operator of one's own, in Python, in a graph that uses it. Try:

    millrace run operator.py --model dynamic

docs/how-to/operators.md shows operators in C, Cython and numba, which are far faster, and typed
ones.
"""

from harness.graph import Graph


class Smooth:
    """Moving average of the values. One thread at a time calls it, so it may keep state."""

    def __init__(self, share: float) -> None:
        self.share = share
        self.mean = 0.0

    def __call__(self, sequence: int, value: float) -> float | None:
        """Return the tuple's new value, or None to drop it."""
        self.mean += self.share * (value - self.mean)
        return self.mean


def graph(share: float = 0.1) -> Graph:
    """Return the graph. `--set share=0.5` sets a parameter."""
    made = Graph("my operator")
    smooth = made.python("smooth", Smooth(share))
    made.chain(made.source("source"), smooth, made.sink("sink"))
    return made
