"""Costs of the work operators of a graph: all equal (*balanced*), or *skewed* (M19 §4.1).

Skewed: 10 % of the work operators at 10,000 FLOP a tuple, 30 % at 100, the others at 1, placed at
random. The paper says "of the operators"; we take the work operators, since sources, splits and
sinks do not compute.
"""

from __future__ import annotations

import random

from harness.graph.values import MAX_BUSY_US, MAX_COST
from topologies import Parameter

SKEWED = "skewed"
HEAVY, MEDIUM, LIGHT = 10_000, 100, 1  # FLOP a tuple

COST = Parameter(
    name="cost",
    default=100,
    unit="FLOP a tuple",
    low=0,
    high=MAX_COST,
    meaning=f"of each work operator; {SKEWED}: 10 % at 10,000, 30 % at 100, 60 % at 1",
    words=(SKEWED,),
)


BUSY = Parameter(
    name="busy",
    default=100,
    unit="µs a tuple",
    low=1,
    high=int(MAX_BUSY_US),
    meaning="how long a tuple keeps an operator busy, however fast the machine is (C-Stream §5.1)",
)


def work_costs(cost: int | str, count: int, seed: int) -> list[int]:
    """Return the cost of each of `count` work operators, in FLOP a tuple.

    Skewed counts are rounded to the nearest whole operator, halves upwards. The same seed gives the
    same placement.
    """
    if cost != SKEWED:
        return [int(cost)] * count
    return _placed((count + 5) // 10, (3 * count + 5) // 10, count, seed)


def shared_costs(heavy: int, count: int, seed: int) -> list[int]:
    """Return costs like `work_costs`, with `heavy` % of the operators heavy, a third of the others
    medium and two thirds light.

    With the same seed an operator that is heavy in a share is heavy in every larger one.
    """
    many = (heavy * count + 50) // 100
    return _placed(many, (count - many + 1) // 3, count, seed)


def _placed(heavy: int, medium: int, count: int, seed: int) -> list[int]:
    costs = [HEAVY] * heavy + [MEDIUM] * medium + [LIGHT] * (count - heavy - medium)
    generator = random.Random(seed)
    # Python guarantees the same numbers for ever only for random()
    return sorted(costs, key=lambda _: generator.random())
