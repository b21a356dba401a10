"""The cost of an operator beside what it says: the work kernel on batches, beside dependent
multiplies in plain C++.
"""

from __future__ import annotations

from collections.abc import Iterator

import harness.runtime.engine as runtime

from tests.benchmarks.arms import ARMS, Cell
from tests.benchmarks.fresh import Missing, call
from tests.benchmarks.steady import Span

TITLE = (
    "Work kernel: time on batches of 32 tuples, beside multiplies that wait for each other; "
    "the ratio should be near 1"
)
HEADINGS = ("cost", "ns a tuple", "ns a FLOP", "cost x multiply", "ratio")
COSTS = (1, 10, 100, 1000, 10_000)
CHAIN = 100_000  # FLOP of the one operator of the yardstick
FLOP = 20_000_000  # of a measurement: 15 ms


def rows() -> Iterator[tuple[str, ...]]:
    for cost in COSTS:
        tuple_ns, multiply_ns = call(kernel, cost)
        alone = cost * multiply_ns
        yield (
            f"{cost} FLOP",
            f"{tuple_ns:.1f}",
            f"{tuple_ns / cost:.3f}",
            f"{alone:.1f} ns",
            f"{tuple_ns / alone:.3f}",
        )


def kernel(cost: int) -> tuple[float, float]:
    """ns a tuple of the kernel, and ns of one multiply in a long chain of the yardstick."""
    if not hasattr(runtime, "kernel_ns"):
        raise Missing("kernel_ns(cost, tuples)")
    tuples = max(320, FLOP // cost // 32 * 32)
    alone = ARMS["C++ chain, in place"](Cell("pipeline", 1, CHAIN), Span(0.1))
    return runtime.kernel_ns(cost, tuples=min(tuples, 10**6)), 1e9 / (alone.tuples_per_s * CHAIN)
