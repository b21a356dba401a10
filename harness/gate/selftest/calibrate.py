"""How much must be injected for a wanted slowdown: measured once for each kind of work, at a large one, and then in proportion.

Of a few dozen processes noise leaves one or two percent, as much as a small slowdown has and little of a large one. What work
adds grows nearly in proportion with its amount, so the amount that makes `REFERENCE` tells the others. What they really make is
measured again, by every block recorded.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from harness.errors import RunFailed

REFERENCE = 0.4  # excess over 1
NEAR = 0.25  # of it: such an excess is close enough to go by
SMALLEST_EXCESS = 0.002  # a measured one below this, or below 0, is taken for this: noise
FURTHEST = 30.0  # times an amount, in one step
STEPS = 8
MOST = 2**53


def units_for_twice(measure: Callable[[int], float], start: float) -> float:
    """The amount that would make head over base 2, in proportion to one that made about 1 + `REFERENCE`.

    `measure(amount)` gives head over base, above 1 being worse; the first amount tried is about `start`. Raises RunFailed if no
    amount makes half of what is wanted.
    """
    tried: dict[int, float] = {}  # excess by amount
    amount = _whole(start)
    for _ in range(STEPS):
        tried[amount] = excess = max(measure(amount) - 1, SMALLEST_EXCESS)
        if abs(excess / REFERENCE - 1) <= NEAR:
            return amount / excess
        amount = _whole(amount * min(FURTHEST, max(1 / FURTHEST, REFERENCE / excess)))
        if amount in tried:
            break
    nearest = min(tried, key=lambda one: abs(math.log(tried[one] / REFERENCE)))
    if tried[nearest] < REFERENCE / 2:
        raise RunFailed(
            f"no slowdown of {1 + REFERENCE:g} was found: {nearest} units in a billion tuples made {1 + tried[nearest]:.4f}; "
            "does the cell run work operators of this project?"
        )
    return nearest / tried[nearest]


def amount_for(wanted: float, for_twice: float) -> int:
    """For head over base `wanted` > 1: at least 1."""
    if not wanted > 1:
        raise ValueError(f"a slowdown is above 1, not {wanted:g}")
    return _whole((wanted - 1) * for_twice)


def _whole(amount: float) -> int:
    return max(1, min(MOST, round(amount)))
