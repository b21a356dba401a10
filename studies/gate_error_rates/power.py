"""The width of the bounds of `decide`, and the slowdowns they find: computed for processes that
scatter normally.

    python -m studies.gate_error_rates.power

prints the table of docs/explanation/gate-statistics.md.

All widths scale with the standard deviation of the blocks, so one simulation in its units serves
every host.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from harness.gate.block_ranks import Blocks
from harness.gate.order import BlockValues
from harness.gate.sequential import Looks, declare

FACTOR, ALPHA, CELLS = 1.02, 0.01, 8  # of the table
# standard deviations of processes' logs, and so of the mean log ratios of blocks
SCATTERS = (0.005, 0.01, 0.02, 0.04)
LOOKS = 6
TRIALS = 2000
CERTAINTY = 0.95


def shortfalls(n: int, level: float, trials: int = TRIALS, seed: int = 1) -> np.ndarray:
    """Return the distance of the lower bound at `level` below the truth, in standard deviations of
    a block, for each of `trials` rows of n blocks.

    inf where n blocks give no bound.
    """
    rows = np.random.default_rng(seed).standard_normal((trials, n, 4)).tolist()
    return np.array(
        [-Blocks([BlockValues((a, b), (c, d)) for a, b, c, d in row]).low(level) for row in rows]
    )


def found(factor: float, scatter: float, shortfall: float) -> float:
    """Return the slowdown, as a ratio, whose lower bound is just at `factor` if it falls short by
    `shortfall` standard deviations."""
    return factor * math.exp(scatter * shortfall)


def rows(looks: Looks) -> Iterator[list[str]]:
    """Yield a row for each look but the early one: blocks, mean half-width [sd], and for each of
    `SCATTERS` the mean half-width and the slowdown that is found.
    """
    n: int | None = looks.early
    before = looks.number(looks.early)
    for k in range(before + 1, before + LOOKS + 1):
        if (n := looks.next(n)) is None:
            return
        short = shortfalls(n, ALPHA / CELLS / looks.weight(k))
        mean, bad = float(short.mean()), float(np.quantile(short, CERTAINTY))
        yield [
            str(n),
            f"{mean:.2f}",
            *(f"±{mean * sd:.1%}, {found(FACTOR, sd, bad) - 1:.1%}" for sd in SCATTERS),
        ]


def table() -> str:
    """Return the table as Markdown."""
    head = ["blocks", "half-width [sd]", *(f"sd {sd:.1%}" for sd in SCATTERS)]
    lines = [head, ["---:"] * len(head), *rows(declare(CELLS, ALPHA))]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


if __name__ == "__main__":
    print(table())
