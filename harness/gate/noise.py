"""Kinds of noise, simulated: what a host may do to a row of processes that all run the same program.

Each kind is a function of a generator and a shape (calls, processes): the log of what each process's time is multiplied by, in
the order in which the processes of a call run. What a gate must withstand, in one place; no kind claims to be some machine.

The sizes are guesses at what shared runners do, not tuned; the sd of `quiet` is what CodSpeed (blog, July 2025) found from run
to run on bare metal.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

Shape = tuple[int, int]
Noise = Callable[[np.random.Generator, Shape], NDArray[np.float64]]

QUIET = 0.0056  # sd from process to process


def quiet(draw: np.random.Generator, shape: Shape) -> NDArray[np.float64]:
    """Nothing but small differences from process to process."""
    return draw.normal(0.0, QUIET, shape)


def drift(draw: np.random.Generator, shape: Shape, sd: float = 0.05, memory: float = 0.98) -> NDArray[np.float64]:
    """And the host's speed wanders: a first-order autoregression of standard deviation `sd`, which keeps `memory` a process."""
    steps = draw.normal(0.0, sd, shape)
    walk = steps.copy()
    for i in range(1, shape[1]):
        walk[:, i] = memory * walk[:, i - 1] + (1 - memory**2) ** 0.5 * steps[:, i]
    return walk + quiet(draw, shape)


def bursts(
    draw: np.random.Generator, shape: Shape, chance: float = 0.02, length: float = 10.0, cost: float = 0.2
) -> NDArray[np.float64]:
    """And now and then somebody else takes CPUs: with `chance` a process a burst begins, of `length` processes on average.

    Processes in a burst are slowed by exponentially distributed shares of mean `cost`.
    """
    busy = np.zeros(shape, dtype=bool)
    begin, end = draw.random(shape) < chance, draw.random(shape) < 1 / length
    for i in range(1, shape[1]):
        busy[:, i] = np.where(busy[:, i - 1], ~end[:, i], begin[:, i])
    return busy * np.log1p(draw.exponential(cost, shape)) + quiet(draw, shape)


def bimodal(draw: np.random.Generator, shape: Shape, chance: float = 0.3, cost: float = 0.08) -> NDArray[np.float64]:
    """And some processes are slower by `cost` all along: where the loader put their code, which CPUs they were given."""
    return (draw.random(shape) < chance) * np.log1p(cost) + quiet(draw, shape)


def heavy_tailed(draw: np.random.Generator, shape: Shape, scale: float = 0.01) -> NDArray[np.float64]:
    """Student's t with 2 degrees of freedom, which has no variance: a mean never settles."""
    return scale * draw.standard_t(2, shape)


def positional(draw: np.random.Generator, shape: Shape, cost: float = 0.03) -> NDArray[np.float64]:
    """And the second process of each pair is slower by `cost`: the first has heated the CPU, or filled the page cache."""
    return np.arange(shape[1]) % 2 * np.log1p(cost) + quiet(draw, shape)


NOISES: Mapping[str, Noise] = {
    "quiet": quiet,
    "drift": drift,
    "bursts": bursts,
    "bimodal": bimodal,
    "heavy-tailed": heavy_tailed,
    "positional": positional,
}
