"""Sequential testing: looks at the numbers while they come in, without more false alarms.

If you test after every block until something is significant, you will eventually see a false
positive. Here the moments of the tests, the looks, are declared beforehand as counts of blocks
(`Looks`). Look k may spend 3 alpha / ((k + 2) (k + 3)) of the allowed chance of error. These shares
add up to alpha over infinitely many looks, so the chance that any look ever errs is at most alpha
(the union bound). Measuring may stop at any time, for any reason, and the number of blocks has no
upper limit. This is alpha spending (Lan and DeMets, Biometrika 70(3), 1983), with a quarter of
alpha for the first look.

An *early* look comes before, at the few blocks that can decide anything. It only asks if head is
slower by more than a half (`OBVIOUS_SHIFT`), so that a head that is twice as slow is reported at
once. It spends a sixth of alpha, and the looks after it share the rest. So few processes are not
enough for any other verdict: they may have missed the slow processes of a program with two speeds.

The least over the looks so far of p_k (k + 2) (k + 3) / 3 is an always-valid p-value: it holds at
any stop (Johari, Koomen, Pekelis and Walsh, Operations Research 70(3), 2022). The narrowest of the
looks' bounds, each at its share of the level, are confidence bounds that hold at any stop.
`Evidence` has both. They agree: the p-value at a shift is at most `level` exactly if the bound at
`level` is beyond that shift.

The union bound ignores that looks share their blocks, which costs power. A boundary that uses their
joint distribution would need a model of it, or a largest number of blocks.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from harness.errors import UserError
from harness.gate.block_ranks import Blocks
from harness.gate.order import BlockValues
from harness.gate.step import EXACT, Slack

# closer looks stop sooner, but each spends some of alpha; of 1.1, 1.2 and 1.41 the best on a
# recording
LOOK_GROWTH = 1.2
LOOK_DELAY = 2  # looks by which the decrease of the shares is delayed; chosen as LOOK_GROWTH was
# blocks at a first look: the 24 processes of a side miss all that are slow, if these are a fifth,
# with a chance of 0.5 %
FIRST_LOOK_BLOCKS = 12
EARLY_SHARE = 1 / 6  # of alpha, for the early look: enough for 4 blocks of two cells at 0.01
OBVIOUS_SHIFT = math.log(1.5)  # shift beyond which the early look calls head slower
ORDERS, MIRRORED = 6, 2  # orders that a block may have had: if measured by the gate, and in files


@dataclass(frozen=True)
class Looks:
    """The block counts at which tests are made: `early`, if any, then `first`, then each time
    `growth` times as many, rounded up, without end."""

    first: int
    growth: float = LOOK_GROWTH
    early: int = 0  # 0: there is none
    orders: int = ORDERS

    @classmethod
    def fixed(cls, n: int, orders: int = ORDERS) -> Looks:
        """Return a single look, at n blocks, which spends all of alpha."""
        return cls(n, math.inf, orders=orders)

    @property
    def is_fixed(self) -> bool:
        """True if there is a single look."""
        return math.isinf(self.growth)

    def next(self, n: int) -> int | None:
        """Return the first look at more than n blocks; None if there is none."""
        if self.early and n < self.early:
            return self.early
        look = self.first
        while look <= n:
            if self.is_fixed:
                return None
            look = max(look + 1, math.ceil(look * self.growth))
        return look

    def is_look(self, n: int) -> bool:
        """Return True if the test is made at n blocks."""
        return self.next(n - 1) == n

    def number(self, n: int) -> int:
        """Return the number of looks up to n blocks; if there is a look at n, this is its number,
        from 1."""
        count, look = 0, self.next(0)
        while look is not None and look <= n:
            count, look = count + 1, self.next(look)
        return count

    def weight(self, k: int) -> float:
        """Return the reciprocal of the share of the whole level that look k >= 1 spends."""
        if self.is_fixed:
            return 1.0
        if not self.early:
            return (k + LOOK_DELAY) * (k + LOOK_DELAY + 1.0) / (LOOK_DELAY + 1.0)
        if k == 1:
            return 1.0 / EARLY_SHARE
        return Looks(self.first).weight(k - 1) / (1.0 - EARLY_SHARE)


def fewest_blocks(level: float, orders: int = ORDERS) -> int:
    """Return the least number of blocks that can reject anything at `level`: with n blocks, the
    least p-value is orders^-n."""
    n = 1
    while float(orders) ** -n > level:
        n += 1
    return n


def declare(cells: int, alpha: float, pairs: int | None = None, orders: int = ORDERS) -> Looks:
    """Return the looks of a call over `cells` cells. With `pairs`, one look at that many pairs of
    each cell.

    The first look is at a number of blocks that can reach the first look's share of the strictest
    level: of Holm's levels for the cells, and of alpha / 2, at which the control is tested on each
    side. The early look is at the fewest blocks that can reach its share; there is none if that is
    no earlier, or for files, whose blocks have two orders. Raises UserError if `pairs` is odd, or
    too small to decide anything.
    """
    strictest = alpha / max(cells, 2)
    if pairs is not None:
        # as if a block had two orders: fewer would miss slow processes too often
        least = 2 * fewest_blocks(strictest, MIRRORED)
        if pairs % 2 or pairs < least:
            raise UserError(
                f"--pairs must be even and at least {least} to decide {cells} cells "
                f"at alpha {alpha:g}, not {pairs}"
            )
        return Looks.fixed(pairs // 2, orders)
    share = (1.0 - EARLY_SHARE) / Looks(FIRST_LOOK_BLOCKS).weight(1)
    first = max(FIRST_LOOK_BLOCKS, fewest_blocks(strictest * share, orders))
    early = fewest_blocks(alpha / cells * EARLY_SHARE, orders)
    return Looks(first, early=early if orders == ORDERS and early < first else 0, orders=orders)


@dataclass(frozen=True)
class _Seen:
    """A look: its weight on p-values, its blocks, how coarse their values were, and the least shift
    that it asks for."""

    weight: float
    blocks: Blocks
    slack: Slack
    least: float  # -inf: it asks for any

    def p_greater(self, shift: float) -> float:
        tested = max(shift, self.least) + self.slack.differs
        return self.weight * self.blocks.p_greater(tested) if math.isfinite(tested) else self.weight

    def p_less(self, shift: float, faster: bool) -> float:
        moved = self.moved(faster)
        if self.is_early or not math.isfinite(moved):
            return self.weight
        return self.weight * self.blocks.p_less(shift - moved)

    def low(self, level: float) -> float:
        """Return the lower bound; -inf if it is below the shift that the look asks for."""
        low = self.blocks.low(level / self.weight) - self.slack.differs
        return low if low >= self.least else -math.inf

    @property
    def is_early(self) -> bool:
        return self.least > -math.inf

    def moved(self, faster: bool) -> float:
        """Return the distance by which the upper bound is moved: to prove that head is faster, or
        that it is not slower."""
        return self.slack.differs if faster else self.slack.same


class Evidence:
    """Evidence of a growing row of blocks at the looks so far. `slack` returns the distances by
    which bounds are moved, given the values so far; it is called at looks only."""

    def __init__(
        self, looks: Looks, slack: Callable[[], Slack] = lambda: EXACT, by_difference: bool = False
    ) -> None:
        self.looks = looks
        self.blocks: list[BlockValues] = []
        self._slack, self._by_difference = slack, by_difference
        self._seen: list[_Seen] = []

    def add(self, block: BlockValues) -> bool:
        """Add the next block. Return True if this is a look, so that the evidence may have
        changed."""
        self.blocks.append(block)
        if not self.looks.is_look(len(self.blocks)):
            return False
        weight, least = self.looks.weight(len(self._seen) + 1), -math.inf
        if len(self.blocks) == self.looks.early:
            # differences have no ratio that would be obvious
            least = math.inf if self._by_difference else OBVIOUS_SHIFT
        self._seen.append(_Seen(weight, self._ranked(), self._slack(), least))
        return True

    def _ranked(self) -> Blocks:
        free = len(self.blocks) if self.looks.orders == ORDERS else 0
        return Blocks(self.blocks, self._by_difference, free)

    @property
    def is_seen(self) -> bool:
        """True if there was a look that may give any verdict."""
        return bool(self._seen) and not self._seen[-1].is_early

    @property
    def weight(self) -> float:
        """Weight of the last look on p-values; inf before the first that may give any verdict."""
        return self._seen[-1].weight if self.is_seen else math.inf

    def p_greater(self, shift: float) -> float:
        """Return the always-valid p-value of "head is slower by at most `shift`"."""
        return min([1.0, *(seen.p_greater(shift) for seen in self._seen)])

    def p_less(self, shift: float, faster: bool = False) -> float:
        """Return the always-valid p-value of "head is slower by at least `shift`"; `faster`: to
        prove that head differs, not that it is no slower."""
        return min([1.0, *(seen.p_less(shift, faster) for seen in self._seen)])

    def low(self, level: float) -> float:
        """Return the lower confidence bound, valid at any stop; -inf before the first look."""
        best = -math.inf
        for seen in reversed(self._seen):
            if not math.isfinite(seen.slack.differs):
                continue
            if math.isinf(best) or seen.p_greater(best) <= level:  # else its bound is no better
                best = max(best, seen.low(level))
        return best

    def high(self, level: float, faster: bool = False) -> float:
        """Return the upper confidence bound, valid at any stop; inf before the first look. `faster`
        as in `p_less`."""
        best = math.inf
        for seen in reversed(self._seen):
            moved = seen.moved(faster)
            if (
                not seen.is_early
                and math.isfinite(moved)
                and (math.isinf(best) or seen.p_less(best, faster) <= level)
            ):
                best = min(best, seen.blocks.high(level / seen.weight) + moved)
        return best

    def steps_hide(self, shift: float, level: float) -> bool:
        """Return True if values were too coarse at the last look to reject "head is slower by at
        least `shift`": ever, or at this look, where exact values would have rejected it."""
        if not self.is_seen or self.p_less(shift) <= level:
            return False
        last = self._seen[-1]
        return last.slack.same >= shift or (
            last.slack.same > 0.0 and last.weight * last.blocks.p_less(shift) <= level
        )

    def least_p(self) -> float:
        """Return the least p-value that the last look could have had, if all its blocks agreed; 1
        before the first look."""
        if not self.is_seen:
            return 1.0
        return self._seen[-1].weight * float(self.looks.orders) ** -self._seen[-1].blocks.n

    def leans(self, shift: float) -> bool:
        """Return True if the estimate at the last look is above `shift`; False before the first
        look."""
        return bool(self._seen) and self._seen[-1].blocks.leans(shift)

    def estimate(self) -> float:
        """Return the estimate from all blocks so far, also those after the last look; nan if there
        are none."""
        return self._ranked().estimate() if self.blocks else math.nan
