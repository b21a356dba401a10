"""The test of a cell: a rank test on blocks, whose null distribution comes from the random order of
each block.

To test "head is slower by at most `shift`", subtract `shift` from the logs of head's processes and
rank all processes of both sides together (Mann and Whitney, Annals of Mathematical Statistics
18(1), 1947). The statistic is the sum of head's ranks. If head is base times e^shift, the adjusted
times do not depend on the orders; an order only decides which two of a block's four processes are
called head. So each of the six choices in each block was equally likely (Fisher, The Design of
Experiments, 1935, chapter 3), whatever the host did, and the distribution of the sum over all
choices is computed exactly (`rank_sums.tails`). Four blocks have 1,296 outcomes.

Files of results were not measured in a random order. For them, `free` is 0: only the exchange of
both sides of a block counts as equally likely, which also holds if the host drifts steadily and
base and head were measured in turns and mirrored order.

Reason for ranks instead of the blocks' mean log ratios: on a virtual machine, some processes are a
fifth slower for no visible reason. One such process spoils the mean of its block, but changes only
one rank. Comparing ranks over the whole call (Hodges and Lehmann, Annals of Mathematical Statistics
33(2), 1962) uses the other processes of the block at full value, and costs a few percent of power
where noise is normal.

Ties share the mean of their ranks, so that p is exact for them too.

Bounds: as `shift` grows, each of head's ranks falls or stays, and each of base's rises or stays.
The sum for another choice minus the observed sum is made of ranks of base minus ranks of head, so
it grows or stays: p grows. A bound is the shift at which p passes the level. It is found by
bisection to a millionth, on the side where the test still rejects: the test rejects everything
beyond the bound.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from harness.gate.order import BlockValues
from harness.gate.rank_sums import excess, tails

# precision of a bound's log ratio; for differences, as a share of the largest value
RESOLUTION = 1e-6
# first step of the search for a bound, away from the middle; in the unit of RESOLUTION
FIRST_STEP = 0.01


class Blocks:
    """At least one block, and what all blocks together prove about head over base.

    Shifts are on the blocks' scale (`scale`): logs of ratios, or differences if `by_difference`;
    positive is worse.
    """

    def __init__(
        self, blocks: Sequence[BlockValues], by_difference: bool = False, free: int | None = None
    ) -> None:
        """`free`: the number of first blocks whose order was one of six; None: all."""
        self.n = len(blocks)
        self._free = self.n if free is None else free
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
        """Return the p-value of "head is slower by at most `shift`": the greatest chance of so
        large a sum of head's ranks."""
        return tails(self._base, self._head, shift, self._free)[0]

    def p_less(self, shift: float) -> float:
        """Return the p-value of "head is slower by at least `shift`": the greatest chance of so
        small a sum of head's ranks."""
        return tails(self._base, self._head, shift, self._free)[1]

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
        """Return True if the estimate is above `shift`, judged by one sum of ranks instead of the
        search that the estimate needs."""
        return self._excess(shift) > 0

    def estimate(self) -> float:
        """Return the middle of the shifts at which both sides have the same sum of ranks (Hodges
        and Lehmann, 1963)."""
        above = self._last(lambda shift: self._excess(shift) > 0)
        below = self._first(lambda shift: self._excess(shift) < 0)
        return (above + below) / 2

    def _excess(self, shift: float) -> int:
        return excess(self._base, self._head, shift)

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
