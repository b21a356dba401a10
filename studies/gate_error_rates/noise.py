"""Simulated kinds of noise: effects of a host on a row of processes that all run the same program.

Each kind is a function of a generator and a shape (calls, processes). It returns the log of the
factor on each process's time, in the order in which the processes of a call run. The kinds collect
what a gate must withstand; none of them models a particular machine.

The sizes are guesses about shared runners, not tuned. The sd of `quiet` is the one that CodSpeed
(blog, July 2025) found from run to run on bare metal.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

Shape = tuple[int, int]
Noise = Callable[[np.random.Generator, Shape], NDArray[np.float64]]

QUIET_SPREAD = 0.0056  # standard deviation from process to process, of the log


def quiet(draw: np.random.Generator, shape: Shape) -> NDArray[np.float64]:
    """Noise of small independent differences between processes, nothing else."""
    return draw.normal(0.0, QUIET_SPREAD, shape)


def drift(
    draw: np.random.Generator, shape: Shape, sd: float = 0.05, memory: float = 0.98
) -> NDArray[np.float64]:
    """Noise of `quiet`, and a host whose speed wanders: a first-order autoregression with standard
    deviation `sd`, which keeps the share `memory` from process to process."""
    steps = draw.normal(0.0, sd, shape)
    walk = steps.copy()
    for i in range(1, shape[1]):
        walk[:, i] = memory * walk[:, i - 1] + (1 - memory**2) ** 0.5 * steps[:, i]
    return walk + quiet(draw, shape)


def bursts(
    draw: np.random.Generator,
    shape: Shape,
    chance: float = 0.02,
    length: float = 10.0,
    cost: float = 0.2,
) -> NDArray[np.float64]:
    """Noise of `quiet`, and others that take CPUs now and then: a burst begins with `chance` at
    each process, and lasts `length` processes on average.

    Processes in a burst are slowed by exponentially distributed shares of mean `cost`.
    """
    busy = np.zeros(shape, dtype=bool)
    begin, end = draw.random(shape) < chance, draw.random(shape) < 1 / length
    for i in range(1, shape[1]):
        busy[:, i] = np.where(busy[:, i - 1], ~end[:, i], begin[:, i])
    return busy * np.log1p(draw.exponential(cost, shape)) + quiet(draw, shape)


def bimodal(
    draw: np.random.Generator, shape: Shape, chance: float = 0.3, cost: float = 0.08
) -> NDArray[np.float64]:
    """Noise of `quiet`, and some processes that are slower by `cost` throughout, as the loader's
    placement of code or the choice of CPUs may cause."""
    return (draw.random(shape) < chance) * np.log1p(cost) + quiet(draw, shape)


def heavy_tailed(
    draw: np.random.Generator, shape: Shape, scale: float = 0.01
) -> NDArray[np.float64]:
    """Noise of Student's t with 2 degrees of freedom, which has no variance: a mean never
    settles."""
    return scale * draw.standard_t(2, shape)


def positional(draw: np.random.Generator, shape: Shape, cost: float = 0.03) -> NDArray[np.float64]:
    """Noise of `quiet`, and a second process of each pair that is slower by `cost`, because the
    first has heated the CPU or filled the page cache."""
    return np.arange(shape[1]) % 2 * np.log1p(cost) + quiet(draw, shape)


NOISES: Mapping[str, Noise] = {
    "quiet": quiet,
    "drift": drift,
    "bursts": bursts,
    "bimodal": bimodal,
    "heavy-tailed": heavy_tailed,
    "positional": positional,
}
