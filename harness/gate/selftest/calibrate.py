"""How much must be injected for a wanted slowdown: a search over amounts, each tried by measuring.

What work adds grows with its amount, nearly in proportion. So the search is a secant on logarithms, of (ratio - 1) over amount,
between the nearest amounts that made too little and too much; with one side only, a step in proportion. Noise may turn a step
wrong, so steps are few and bounded, and the last is taken as it is: what it makes is measured again, by every block recorded.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from harness.errors import RunFailed

STEPS = 8
TOLERANCE = 0.15  # of the wanted excess over 1: a guess; 1.05 may be 1.0425 to 1.0575
SMALLEST_EXCESS = 0.002  # a measured one below this, or below 1, is taken for this: noise
FURTHEST = 8.0  # times an amount, in one step
NO_STEP = 0.05  # between amounts (of their logarithms): closer ones noise cannot tell apart
MOST = 2**53


def search(measure: Callable[[int], float], wanted: float, start: float, steps: int = STEPS) -> int:
    """The amount, at least 1, that makes head over base about `wanted` > 1; the first one tried is about `start`.

    `measure(amount)` gives head over base, above 1 being worse. Raises RunFailed if no amount makes half of what is wanted.
    """
    if not wanted > 1:
        raise ValueError(f"a slowdown is above 1, not {wanted:g}")
    target = math.log(wanted - 1)
    tried: dict[int, float] = {}  # log excess by amount
    amount = max(1, round(start))
    for _ in range(steps):
        tried[amount] = math.log(max(measure(amount) - 1, SMALLEST_EXCESS))
        if abs(math.expm1(tried[amount] - target)) <= TOLERANCE:
            return amount
        amount = _next(tried, target)
        if any(abs(math.log(amount / one)) < NO_STEP for one in tried):
            break
    most = max(tried, key=lambda one: tried[one])
    if tried[most] < target + math.log(0.5):
        raise RunFailed(
            f"no slowdown of {wanted:g} was found: {most} units in a billion tuples made {1 + math.exp(tried[most]):.4f}; "
            "does the cell run work operators of this project?"
        )
    return amount


def _next(tried: dict[int, float], target: float) -> int:
    """The amount to try next."""
    less = max((amount for amount, found in tried.items() if found < target), default=None)
    more = min((amount for amount, found in tried.items() if found >= target), default=None)
    if less is None or more is None:
        amount = more if less is None else less
        factor = math.exp(target - tried[amount])
        return _whole(amount * min(FURTHEST, max(1 / FURTHEST, factor)))
    if less > more:  # noise: more work made less
        return _whole(math.sqrt(less * more))
    share = (target - tried[less]) / (tried[more] - tried[less])
    return _whole(less * (more / less) ** min(0.9, max(0.1, share)))


def _whole(amount: float) -> int:
    return max(1, min(MOST, round(amount)))
