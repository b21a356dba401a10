"""Design of a sensitivity study: points that vary all uncertain constants of a place together.

A Latin hypercube (McKay, Beckman and Conover 1979): each constant takes each of as many equal parts
of its range once, in an order of its own. The steps of a table, such as the time of an atomic
operation by contenders, have one order, as what makes one slower makes all slower. Ranges are
divided on a logarithmic scale, as most of them say within which factor a number may be.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence

POINTS = 16
"""Points of a design of which nothing else is said."""


def latin_hypercube(
    ranges: Mapping[str, tuple[float, float]], points: int
) -> Sequence[Mapping[str, float]]:
    """Return values of all constants at each point; `ranges`: constants by path, with the ends of
    their ranges.
    """
    draw = random.Random(0)
    shares: dict[str, list[float]] = {}
    for path in ranges:
        if (together := _table(path)) not in shares:
            parts = draw.sample(range(points), points)
            shares[together] = [(part + draw.random()) / points for part in parts]
    return tuple(
        {path: _between(*ends, shares[_table(path)][point]) for path, ends in ranges.items()}
        for point in range(points)
    )


def _table(path: str) -> str:
    """Return the path of the table that a constant is a step of, or its own."""
    table, _, step = path.rpartition(".")
    return table if step.isdecimal() else path


def _between(low: float, high: float, share: float) -> float:
    if low <= 0.0:
        return low + share * (high - low)
    return math.exp((1 - share) * math.log(low) + share * math.log(high))
