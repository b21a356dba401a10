"""The least factor that a call can decide in the time that it has, foretold from its first round.

A cell whose head is base is called ok if its upper bound is below the factor. If processes scatter
normally, the bound is `half_width` standard deviations above the truth (`power` computes it
exactly). The first round shows how long a block takes, and so how many blocks there is time for,
and how far the two processes of each side of a cell are apart.

Two processes a side tell little about their scatter. To say what can be decided, its middle
estimate is taken; to choose the factor, an upper bound. The factor is rounded up to one that people
name.

A factor that is chosen from numbers must not be tested on them. So with `--factor auto` the blocks
of the first round do not count.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from scipy.special import chdtri, ndtri

from harness.gate.order import BlockValues
from harness.gate.sequential import Looks

FACTORS = (1.01, 1.02, 1.03, 1.05, 1.075, 1.1, 1.15, 1.2, 1.3, 1.5, 2.0)
MOST_BLOCKS = 10_000  # that are foretold
CERTAINTY = 0.95  # of a decision about a head that is as fast as base
MIDDLE, UPPER = 0.5, 0.8  # chances that the scatter is below its estimate
RANKS = math.pi / 3.0  # numbers that a rank test needs for one of a mean, if they scatter normally


def scatter(blocks: Iterable[BlockValues], chance: float) -> float:
    """Return an estimate of the standard deviation of processes that is too low with this chance,
    from what both processes of a side in each block differ; at least one block."""
    squares = [(side[0] - side[1]) ** 2 / 2 for block in blocks for side in block]
    return math.sqrt(sum(squares) / chdtri(len(squares), chance))


def half_width(blocks: int, level: float) -> float:
    """Return the distance of a bound at `level` from the truth, in standard deviations of a block,
    that is not exceeded with `CERTAINTY`."""
    return float(ndtri(1.0 - level) + ndtri(CERTAINTY)) * math.sqrt(RANKS / blocks)


def least_factor(scatters: Sequence[float], blocks: int, looks: Looks, level: float) -> float:
    """Return the least of `FACTORS` at which `blocks` of each cell decide all cells; inf if none
    does. `scatters` has that of each cell, `level` is alpha over all cells."""
    if looks.next(0) is None or blocks < looks.first:
        return math.inf
    last = max(look for look in _regular(looks, blocks))
    strictest = level / len(scatters) / looks.weight(looks.number(last))
    least = math.exp(max(scatters) * half_width(last, strictest))
    return next((factor for factor in FACTORS if factor >= least), math.inf)


def needed_blocks(
    deviation: float, distance: float, blocks: int, looks: Looks, level: float
) -> int:
    """Return the number of blocks at the first look that probably decides a cell: more than it has,
    at most `MOST_BLOCKS`.

    `deviation` is the standard deviation of its processes, `distance` that of its ratio from the
    factor, both on the scale of logarithms. `level` is that of the cell, over all looks.
    """
    look = max(looks.first, looks.next(blocks) or looks.first)
    while look < MOST_BLOCKS:
        bound = half_width(look, level / looks.weight(looks.number(look)))
        if deviation * bound < distance:
            return look
        look = looks.next(look) or MOST_BLOCKS
    return MOST_BLOCKS


def _regular(looks: Looks, blocks: int) -> Iterable[int]:
    """Yield the looks up to a number of blocks, but the early one."""
    look: int | None = looks.first
    while look is not None and look <= blocks:
        yield look
        look = looks.next(look)
