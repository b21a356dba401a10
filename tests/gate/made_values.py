"""Values of processes as real programs give them: fine, coarse, with two speeds, on hosts that
drift.

Each kind is a function of a generator and the speeds of some processes (their true mean over that
of base, in the order in which they run). It returns what they record.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]
Kind = Callable[[np.random.Generator, Values], Values]


def normal(sd: float) -> Kind:
    return lambda draw, speed: 100 * speed * np.exp(draw.normal(0, sd, speed.shape))


def ticks(count: float, jitter: float, fine: float = 0.0) -> Kind:
    """Times of `count` ticks that begin anywhere between two ticks. Jitter and the fine part are
    shares of a tick."""

    def made(draw: np.random.Generator, speed: Values) -> Values:
        whole = np.floor(count * speed + draw.random(speed.shape))
        return (
            np.maximum(whole, 1)
            + draw.normal(0, jitter, speed.shape)
            + fine * draw.random(speed.shape)
        )

    return made


def digits(level: float, number: int, sd: float) -> Kind:
    """Values that are printed with a number of significant digits."""

    def made(draw: np.random.Generator, speed: Values) -> Values:
        exact = level * speed * np.exp(draw.normal(0, sd, speed.shape))
        return np.array([float(f"{value:.{number}g}") for value in exact.ravel()]).reshape(
            speed.shape
        )

    return made


def drifting(sd: float, memory: float, noise: float) -> Kind:
    """A host whose speed wanders; successive processes are correlated."""

    def made(draw: np.random.Generator, speed: Values) -> Values:
        wander = draw.normal(0, sd, speed.shape)
        for i in range(1, speed.shape[-1]):
            wander[..., i] = memory * wander[..., i - 1] + (1 - memory**2) ** 0.5 * wander[..., i]
        return 100 * speed * np.exp(wander + draw.normal(0, noise, speed.shape))

    return made


def slow_share(
    draw: np.random.Generator, slow: Values, times: float, sd: float = 0.01, tail: bool = False
) -> Values:
    """Processes of which the share `slow` takes `times` as long; `tail`: so much longer on average,
    each by another amount."""
    cost = draw.exponential(times - 1, slow.shape) if tail else times - 1
    return (
        100 * (1 + (draw.random(slow.shape) < slow) * cost) * np.exp(draw.normal(0, sd, slow.shape))
    )


CONTINUOUS: Mapping[str, Kind] = {
    "normal 1 %": normal(0.01),
    "normal 5 %": normal(0.05),
    "drift": drifting(0.05, 0.98, 0.005),
    "correlated": drifting(0.02, 0.7, 0.002),
}
COARSE: Mapping[str, Kind] = {
    "1.5 ticks": ticks(1.5, 0.001),
    "1.2 ticks": ticks(1.2, 0.001),
    "3.3 ticks, more jitter": ticks(3.3, 0.01),
    "ticks with a fine part": ticks(2.5, 0.0, fine=0.02),
    "two digits": digits(9.8, 2, 0.005),
}
