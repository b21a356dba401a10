"""The test of a cell: a rank test on blocks, whose null distribution comes from the coin that
decided each block's order.

To test "head is slower by at most `shift`", subtract `shift` from the logs of head's processes and
rank all processes of both sides together (Mann and Whitney, Annals of Mathematical Statistics
18(1), 1947). A block's score is the ranks of its two head processes minus those of its two base
processes. If head is base times e^shift, the adjusted times do not depend on the coin; the coin
only decides which of them are called head. So the sign of each score is a fair coin (Fisher, The
Design of Experiments, 1935, chapter 3), whatever the host did, and Wilcoxon's signed-rank test
applies to the scores: `Blocks` counts the pairs of blocks i <= j whose scores add up to more than
0. The distribution of that count is known (`signed_rank.chance`).

Reason for ranks instead of the blocks' mean log ratios: on a virtual machine, some processes are a
fifth slower for no visible reason. One such process spoils the mean of its block, but changes only
one rank. Comparing ranks over the whole call (Hodges and Lehmann, Annals of Mathematical Statistics
33(2), 1962) uses the other processes of the block at full value, and costs a few percent of power
where noise is normal.

Ties: scores that are equal, or 0, are ordered by their blocks' mean log ratios minus `shift`, whose
signs are the same coins. A tie that remains counts for neither direction, so p is never too small.

Bounds: every score falls as `shift` grows, so the count falls and p grows. A bound is the shift at
which p passes the level. It is found by bisection to a millionth, on the side where the test still
rejects: the test rejects everything beyond the bound.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from harness.gate.order import Block
from harness.gate.pair_counts import pair_counts
from harness.gate.signed_rank import chance

# precision of a bound's log ratio; for differences, as a share of the largest value
RESOLUTION = 1e-6
# first step of the search for a bound, away from the middle; in the unit of RESOLUTION
FIRST_STEP = 0.01


class Blocks:
    """At least one block, and what all blocks together prove about head over base.

    Shifts are on the blocks' scale (`scale`): logs of ratios, or differences if `by_difference`;
    positive is worse.
    """

    def __init__(self, blocks: Sequence[Block], by_difference: bool = False) -> None:
        self.n = len(blocks)
        self._base: NDArray[np.float64] = np.array(
            [block.base for block in blocks], dtype=np.float64
        )
        self._head: NDArray[np.float64] = np.array(
            [block.head for block in blocks], dtype=np.float64
        )
        self._middle = float(np.median((self._head - self._base).mean(axis=1)))
        largest = max(float(np.abs(side).max()) for side in (self._base, self._head))
        self._unit = (largest or 1.0) if by_difference else 1.0

    def p_greater(self, shift: float) -> float:
        """Return the p-value of "head is slower by at most `shift`": the greatest chance of so many
        pairs of blocks above 0."""
        return chance(self.n, self._counts(shift)[0])

    def p_less(self, shift: float) -> float:
        """Return the p-value of "head is slower by at least `shift`": the greatest chance of so
        many pairs of blocks below 0."""
        return chance(self.n, self._counts(shift)[1])

    def low(self, level: float) -> float:
        """Return the lower bound: head is slower by more than this, except with a chance of
        `level`. `p_greater(shift) <= level` holds up to here.

        -inf if there are too few blocks for any bound at this level.
        """
        return self._last(lambda shift: self.p_greater(shift) <= level)

    def high(self, level: float) -> float:
        """Return the upper bound: head is slower by less than this, except with a chance of
        `level`. inf if there are too few blocks."""
        return self._first(lambda shift: self.p_less(shift) <= level)

    def leans(self, shift: float) -> bool:
        """True if the estimate is above `shift`, judged by one count instead of the search that the
        estimate needs."""
        above, below = self._counts(shift)
        return above > below

    def estimate(self) -> float:
        """Return the middle of the shifts at which neither direction has more than half of the
        pairs (Hodges and Lehmann, 1963)."""
        half = self.n * (self.n + 1) / 4
        above = self._last(lambda shift: self._counts(shift)[0] > half)
        below = self._first(lambda shift: self._counts(shift)[1] > half)
        return (above + below) / 2

    def _counts(self, shift: float) -> tuple[int, int]:
        return pair_counts(self._base, self._head, shift)

    def _last(self, holds: Callable[[float], bool]) -> float:
        """Return the greatest shift at which `holds`; it must hold up to some shift. -inf if it
        never does."""
        least = float(self._head.min() - self._base.max()) - FIRST_STEP * self._unit
        return _greatest(holds, self._middle, least, self._unit)

    def _first(self, holds: Callable[[float], bool]) -> float:
        """Return the least shift at which `holds`; it must hold from some shift on. inf if it never
        does."""
        greatest = float(self._head.max() - self._base.min()) + FIRST_STEP * self._unit
        return -_greatest(lambda shift: holds(-shift), -self._middle, -greatest, self._unit)


def _greatest(holds: Callable[[float], bool], near: float, least: float, unit: float) -> float:
    """Return, to within `RESOLUTION`, the greatest shift at which `holds`. If it does not hold at
    `least`, it holds nowhere. The search begins at `near`, in steps that double."""
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
