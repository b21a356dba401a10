"""Kinds of values that the gate's rules were not made with: each follows from a thing that a host,
a clock or a program does.

In the `SCALED` ones head is base times a constant. A kind is a function of a generator and the
speeds of processes, in the order in which they run. It returns what they record.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from tests.gate.made_values import Kind, Values


def noise(draw: np.random.Generator, count: int, sd: float = 0.01) -> Values:
    """Factors of independent log-normal noise."""
    return np.exp(draw.normal(0, sd, count))


def wander(draw: np.random.Generator, count: int, sd: float, memory: float) -> Values:
    """Logs of a first-order autoregression."""
    steps = draw.normal(0, sd, count)
    for i in range(1, count):
        steps[i] = memory * steps[i - 1] + (1 - memory**2) ** 0.5 * steps[i]
    return steps


def sticky(draw: np.random.Generator, count: int, share: float, memory: float) -> NDArray[np.bool_]:
    """Processes in a state, in which a share is, and which the next one keeps with a chance."""
    states = draw.random(count) < share
    for i in np.flatnonzero(draw.random(count - 1) < memory) + 1:
        states[i] = states[i - 1]
    return states


def every(draw: np.random.Generator, count: int, period: int) -> NDArray[np.bool_]:
    """Every so many processes, from any of them."""
    return (np.arange(count) + draw.integers(period)) % period == 0


def of_noise(factors) -> Kind:
    """Kind whose processes take their speed times `factors(generator, count)`."""
    return lambda draw, speed: 100 * speed * factors(draw, len(speed))


def two_digits(draw: np.random.Generator, speed: Values) -> Values:
    exact = 95 * speed * noise(draw, len(speed), 0.03)
    return np.array([float(f"{value:.2g}") for value in exact])


def half_whole(draw: np.random.Generator, speed: Values) -> Values:
    values = 20 * speed * noise(draw, len(speed), 0.03)
    return np.where(draw.random(len(speed)) < 0.5, np.floor(values), values)


SCALED: Mapping[str, Kind] = {
    "autocorrelated": of_noise(
        lambda draw, n: np.exp(wander(draw, n, 0.05, 0.9)) * noise(draw, n, 0.003)
    ),
    "random walk": of_noise(
        lambda draw, n: np.exp(np.cumsum(draw.normal(0, 0.01, n))) * noise(draw, n, 0.005)
    ),
    "two speeds, drift": of_noise(
        lambda draw, n: (
            (1 + 0.3 * sticky(draw, n, 0.3, 0.8))
            * np.exp(0.1 * np.arange(n) / n)
            * noise(draw, n, 0.005)
        )
    ),
    "quantised log-normal": lambda draw, speed: np.floor(
        100 * speed * noise(draw, len(speed), 0.2)
    ),
    "coarse log-normal": lambda draw, speed: np.maximum(
        1, np.floor(12 * speed * noise(draw, len(speed), 0.25))
    ),
    "milliseconds": lambda draw, speed: np.round(40 * speed * noise(draw, len(speed), 0.05)),
    "Pareto": of_noise(lambda draw, n: 1 + 0.02 * draw.pareto(1.5, n)),
    "Cauchy": of_noise(lambda draw, n: np.exp(np.clip(0.01 * draw.standard_cauchy(n), -3, 3))),
    "pause every 7": of_noise(lambda draw, n: (1 + 0.3 * every(draw, n, 7)) * noise(draw, n)),
    "pause every 4": of_noise(lambda draw, n: (1 + 0.3 * every(draw, n, 4)) * noise(draw, n)),
    "pause every 2": of_noise(lambda draw, n: (1 + 0.1 * every(draw, n, 2)) * noise(draw, n)),
    "cold first of a block": of_noise(
        lambda draw, n: (1 + 0.05 * (np.arange(n) % 4 == 0)) * noise(draw, n, 0.005)
    ),
    "cold after the other side": lambda draw, speed: (
        100
        * speed
        * (1 + 0.03 * np.append(True, speed[1:] != speed[:-1]))
        * noise(draw, len(speed), 0.005)
    ),
    "fast and slow CPUs": of_noise(
        lambda draw, n: (1 + 0.5 * sticky(draw, n, 0.3, 0.5)) * noise(draw, n)
    ),
    "throttled from some time on": of_noise(
        lambda draw, n: (1 + 0.2 * (np.arange(n) > draw.integers(5, n))) * noise(draw, n)
    ),
    "a job every 40 processes": of_noise(
        lambda draw, n: (
            (1 + 0.4 * ((np.arange(n) + draw.integers(40)) % 40 < 6) * draw.random(n))
            * noise(draw, n, 0.005)
        )
    ),
    "sine": of_noise(
        lambda draw, n: 1 + 0.1 * np.sin(2 * np.pi * (np.arange(n) / 8 + draw.random()))
    ),
    "three speeds": of_noise(
        lambda draw, n: draw.choice([1, 1.07, 1.15], n) * noise(draw, n, 0.002)
    ),
    "uniform": of_noise(lambda draw, n: 1 + 0.1 * draw.random(n)),
    "two digits": two_digits,
    "half of the values are whole": half_whole,
}

COSTS = {
    "fixed": lambda draw, n, mean: np.full(n, mean),
    "exponential": lambda draw, n, mean: draw.exponential(mean, n),
    "uniform": lambda draw, n, mean: 2 * mean * draw.random(n),
    "log-normal": lambda draw, n, mean: mean * np.exp(draw.normal(-0.32, 0.8, n)),
}
"""Extra time of slow processes, as amounts around a mean."""


def shares(
    draw: np.random.Generator,
    is_head: Values,
    before: float,
    after: float,
    cost: str,
    mean: float = 1.2,
    ratio: float | None = None,
) -> Values:
    """Values with a share of slow processes in base and in head. `ratio`: of head's mean to that of
    base; None: fast processes of both are alike."""
    count = len(is_head)
    slow = draw.random(count) < np.where(is_head, after, before)
    values = 1 + slow * COSTS[cost](draw, count, mean)
    if ratio is not None:
        values = values * np.where(is_head, ratio * (1 + before * mean) / (1 + after * mean), 1)
    return 100 * values * noise(draw, count)
