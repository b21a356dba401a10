"""The amounts to inject for wanted slowdowns: measured twice for each kind of work, at slowdowns
that noise does not hide.

A small slowdown takes more processes to measure than there is time for. So the search finds an
amount that makes `LARGE`, and then measures one that makes about `SMALL`, each with enough
processes to make noise a small part of it. A power law through both gives the other amounts. The
slowdown need not be proportional to the amount, because the core does some of the added work in
parallel. The real slowdown of each amount is measured again, by every block recorded.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from harness.errors import RunFailed

LARGE, SMALL = 0.4, 0.1  # excess over 1
LARGE_TOLERANCE = 0.25  # relative distance from LARGE at which the search stops
MIN_EXCESS = 0.002  # a smaller measured excess, or a negative one, counts as this: noise
MAX_STEP_FACTOR = 30.0  # largest factor on an amount, in one step
LARGE_CLOSE, SMALL_CLOSE = 0.04, 0.01  # half the width of the interval at which measuring stops
STEPS = 8
POWERS = 0.5, 2.0  # plausible exponents of the power law; others are noise
MAX_AMOUNT = 2**53

Measure = Callable[[int, float], float]
"""Function of an amount, and of half the width of the interval within which the result must be
known. Returns head over base; above 1 is worse."""


def amounts(measure: Measure, wanted: Sequence[float], start: float) -> list[int]:
    """Return the amounts, at least 1, that make head over base about `wanted` > 1. The first one
    tried is about `start`.

    Raises RunFailed if no amount makes half of `LARGE`.
    """
    if not all(ratio > 1 for ratio in wanted):
        raise ValueError(f"slowdowns are above 1, not {wanted}")
    much, more = _search(measure, start)
    little = _whole(much * SMALL / more)
    less = max(measure(little, SMALL_CLOSE) - 1, MIN_EXCESS)
    power = (
        min(POWERS[1], max(POWERS[0], math.log(more / less) / math.log(much / little)))
        if little < much
        else 1.0
    )
    return [_whole(little * ((ratio - 1) / less) ** (1 / power)) for ratio in wanted]


def _search(measure: Measure, start: float) -> tuple[int, float]:
    """Return an amount that makes about `LARGE`, and the excess that it makes."""
    tried: dict[int, float] = {}  # excess by amount
    amount = _whole(start)
    for _ in range(STEPS):
        tried[amount] = excess = max(measure(amount, LARGE_CLOSE) - 1, MIN_EXCESS)
        if abs(excess / LARGE - 1) <= LARGE_TOLERANCE:
            return amount, excess
        amount = _whole(amount * min(MAX_STEP_FACTOR, max(1 / MAX_STEP_FACTOR, LARGE / excess)))
        if amount in tried:
            break
    nearest = min(tried, key=lambda one: abs(math.log(tried[one] / LARGE)))
    if tried[nearest] < LARGE / 2:
        raise RunFailed(
            f"no slowdown of {1 + LARGE:g} was found: {nearest} units in a billion tuples made "
            f"{1 + tried[nearest]:.4f}; "
            "does the cell run work operators of this project?"
        )
    return nearest, tried[nearest]


def _whole(amount: float) -> int:
    return max(1, min(MAX_AMOUNT, round(amount)))
