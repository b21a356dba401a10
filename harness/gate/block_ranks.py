"""The test of a cell: ranks of all processes, added up block by block, under the coin that decided each block's order.

To test "head is slower by at most `shift`", take `shift` off the logs of head's processes and rank all processes of both sides
together (Mann and Whitney, Annals of Mathematical Statistics 18(1), 1947). A block's score is the ranks of its two head
processes less those of its two base processes. If head is base times e^shift, the adjusted times are what they are whichever
way the coin fell; it only decides which of them are called head. So each score's sign is a fair coin (Fisher, The Design of
Experiments, 1935, chapter 3), whatever the host did, and the scores get Wilcoxon's signed-rank test: `Blocks` counts the pairs
of blocks i <= j whose scores add up to more than 0, a sum whose distribution is known (`signed_rank.chance`).

Why ranks and not the blocks' mean log ratios: a virtual machine has times when a process is a fifth slower, here and there.
One such process spoils the mean of its block, but takes one rank. Comparing ranks over the whole call (Hodges and Lehmann,
Annals of Mathematical Statistics 33(2), 1962) finds the rest unspoilt, at the price of a few percent where noise is normal.

Scores that are equal, or 0, are held apart by their blocks' mean log ratios less `shift`, whose signs are the same coins. What
is equal even then counts for neither direction, so p is never too small.

Bounds: every score falls as `shift` grows, so the count does, too, and p grows. A bound is where p passes the level, found by
bisection to a millionth, on the side where the test still rejects: what is beyond the bound, the test rejects.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from harness.gate.order import Block
from harness.gate.pair_counts import pair_counts
from harness.gate.signed_rank import chance

RESOLUTION = 1e-6  # of a bound's log ratio; of differences, this share of the largest value
FIRST_STEP = 0.01  # away from the middle, likewise: where a bound is looked for first


class Blocks:
    """At least one block, and what all of them say of head over base.

    Shifts are on the blocks' scale (`scale`): logs of ratios, or, `by_difference`, differences; positive is worse.
    """

    def __init__(self, blocks: Sequence[Block], by_difference: bool = False) -> None:
        self.n = len(blocks)
        self._base: NDArray[np.float64] = np.array([block.base for block in blocks], dtype=np.float64)
        self._head: NDArray[np.float64] = np.array([block.head for block in blocks], dtype=np.float64)
        self._middle = float(np.median((self._head - self._base).mean(axis=1)))
        largest = max(float(np.abs(side).max()) for side in (self._base, self._head))
        self._unit = (largest or 1.0) if by_difference else 1.0

    def p_greater(self, shift: float) -> float:
        """How likely so many pairs of blocks above 0 are, at most, if head is slower by at most `shift`."""
        return chance(self.n, self._counts(shift)[0])

    def p_less(self, shift: float) -> float:
        """How likely so many pairs of blocks below 0 are, at most, if head is slower by at least `shift`."""
        return chance(self.n, self._counts(shift)[1])

    def low(self, level: float) -> float:
        """Head is slower by more than this, but for a chance of `level`: `p_greater(shift) <= level` up to here.

        -inf if there are too few blocks for any bound at this level.
        """
        return self._last(lambda shift: self.p_greater(shift) <= level)

    def high(self, level: float) -> float:
        """Head is slower by less than this, but for a chance of `level`; inf if there are too few blocks."""
        return self._first(lambda shift: self.p_less(shift) <= level)

    def leans(self, shift: float) -> bool:
        """Whether the estimate is above `shift`, as far as can be told without making it."""
        above, below = self._counts(shift)
        return above > below

    def estimate(self) -> float:
        """The middle of the shifts at which neither direction has more than half of the pairs, as Hodges and Lehmann (1963)."""
        half = self.n * (self.n + 1) / 4
        above = self._last(lambda shift: self._counts(shift)[0] > half)
        below = self._first(lambda shift: self._counts(shift)[1] > half)
        return (above + below) / 2

    def _counts(self, shift: float) -> tuple[int, int]:
        return pair_counts(self._base, self._head, shift)

    def _last(self, holds: Callable[[float], bool]) -> float:
        """The greatest shift at which `holds`, which does up to some shift; -inf if it never does."""
        least = float(self._head.min() - self._base.max()) - FIRST_STEP * self._unit
        return _greatest(holds, self._middle, least, self._unit)

    def _first(self, holds: Callable[[float], bool]) -> float:
        """The least shift at which `holds`, which does from some shift on; inf if it never does."""
        greatest = float(self._head.max() - self._base.min()) + FIRST_STEP * self._unit
        return -_greatest(lambda shift: holds(-shift), -self._middle, -greatest, self._unit)


def _greatest(holds: Callable[[float], bool], near: float, least: float, unit: float) -> float:
    """To `RESOLUTION`, the greatest shift at which `holds`: if it does not at `least`, then nowhere. It is looked for from
    `near` on, in steps that double."""
    if not holds(least):
        return -math.inf
    step = FIRST_STEP * unit
    if holds(near):
        yes, no = near, near + step
        while holds(no):
            step *= 2
            yes, no = no, no + step
    else:
        yes, no = near - step, near
        while yes > least and not holds(yes):
            step *= 2
            yes, no = yes - step, yes
        yes = max(yes, least)
    while no - yes > RESOLUTION * unit and yes < (middle := (yes + no) / 2) < no:
        yes, no = (middle, no) if holds(middle) else (yes, middle)
    return yes
