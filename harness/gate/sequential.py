"""Looking at the numbers while they come in, without paying for it in false alarms.

Who tests again after each block until something is significant will find it. Here the moments are declared beforehand: `Looks`,
counts of blocks. Look k may spend 3 alpha / ((k + 2) (k + 3)) of the allowed chance of error. These shares add up to alpha over
endlessly many looks, so the chance that any look ever errs is at most alpha (the union bound): measuring may stop at any time,
for any reason, and there is no most number of blocks. It is alpha spending as of Lan and DeMets (Biometrika 70(3), 1983), with
a quarter for the first look.

Turned round: the least over the looks so far of p_k (k + 2) (k + 3) / 3 is a p-value that is valid whenever one stops (an
always-valid p-value, Johari, Koomen, Pekelis and Walsh, Operations Research 70(3), 2022), and the narrowest of the looks'
bounds, each at its share of the level, are confidence bounds that are. `Evidence` has both. They agree: the p-value at a shift
is at most `level` exactly if the bound at `level` is beyond that shift.

The union bound ignores that looks share their blocks, which costs power. A boundary that knows their joint distribution would
suppose a model of it, or a largest number of blocks.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from harness.errors import UserError
from harness.gate.block_ranks import Blocks
from harness.gate.order import Block
from harness.gate.step import EXACT, Slack

GROWTH = 1.2  # closer looks stop sooner, but each spends of the same alpha; of 1.1, 1.2 and 1.41 the best on a recording
LATE = 2  # looks by which the shares fall off later than from the first on, likewise
FEWEST = 10  # blocks of a first look: with fewer, the estimate that is told beside the verdict says little


@dataclass(frozen=True)
class Looks:
    """The counts of blocks at which is looked: `first`, and each time `growth` times as many, rounded up, without end."""

    first: int
    growth: float = GROWTH

    @classmethod
    def fixed(cls, n: int) -> Looks:
        """One look, at n blocks, which spends all."""
        return cls(n, math.inf)

    def next(self, n: int) -> int | None:
        """The first look at more than n blocks; None if there is none."""
        look = self.first
        while look <= n:
            if math.isinf(self.growth):
                return None
            look = max(look + 1, math.ceil(look * self.growth))
        return look

    def is_look(self, n: int) -> bool:
        """Whether the test is made at n blocks."""
        return self.next(n - 1) == n

    def number(self, n: int) -> int:
        """How many looks there have been after n blocks: the number, from 1, of the look if it is one."""
        count, look = 0, self.next(0)
        while look is not None and look <= n:
            count, look = count + 1, self.next(look)
        return count

    def weight(self, k: int) -> float:
        """Look k >= 1 spends 1 / weight of the whole level."""
        return 1.0 if math.isinf(self.growth) else (k + LATE) * (k + LATE + 1.0) / (LATE + 1.0)


def fewest_blocks(level: float) -> int:
    """How many blocks it takes to reject anything at `level`: with n of them, the least p-value is 2^-n."""
    n = 1
    while 2.0**-n > level:
        n += 1
    return n


def declare(cells: int, alpha: float, pairs: int | None = None) -> Looks:
    """The looks of a call over `cells` cells. With `pairs`, one look at that many pairs of each cell.

    The first look is where the first look's share of the strictest level can be reached: of Holm's levels for the cells, and
    of alpha / 2, at which the control is tested to each side. UserError if `pairs` is odd, or too small for that.
    """
    strictest = alpha / max(cells, 2)
    if pairs is None:
        return Looks(max(FEWEST, fewest_blocks(strictest / Looks(FEWEST).weight(1))))
    least = 2 * fewest_blocks(strictest)
    if pairs % 2 or pairs < least:
        raise UserError(f"--pairs must be even and at least {least} to decide {cells} cells at alpha {alpha:g}, not {pairs}")
    return Looks.fixed(pairs // 2)


@dataclass(frozen=True)
class _Seen:
    """A look: what it multiplies p-values by, the blocks at it, and how coarse their values were."""

    weight: float
    blocks: Blocks
    slack: Slack

    def p_greater(self, shift: float) -> float:
        return (
            self.weight * self.blocks.p_greater(shift + self.slack.differs)
            if math.isfinite(self.slack.differs)
            else self.weight
        )

    def p_less(self, shift: float, faster: bool) -> float:
        moved = self.moved(faster)
        return self.weight * self.blocks.p_less(shift - moved) if math.isfinite(moved) else self.weight

    def moved(self, faster: bool) -> float:
        """How far the upper bound is moved: to prove that head is faster, or not slower."""
        return self.slack.differs if faster else self.slack.same


class Evidence:
    """What a growing row of blocks has shown at the looks so far. `slack`: how far bounds are moved at a look, as the values
    until then have it; asked for at looks only."""

    def __init__(self, looks: Looks, slack: Callable[[], Slack] = lambda: EXACT, by_difference: bool = False) -> None:
        self.looks = looks
        self.blocks: list[Block] = []
        self._slack, self._by_difference = slack, by_difference
        self._seen: list[_Seen] = []

    def add(self, block: Block) -> bool:
        """Take in the next block. True if this is a look: what is proven may have changed."""
        self.blocks.append(block)
        if not self.looks.is_look(len(self.blocks)):
            return False
        blocks = Blocks(self.blocks, self._by_difference)
        self._seen.append(_Seen(self.looks.weight(len(self._seen) + 1), blocks, self._slack()))
        return True

    def p_greater(self, shift: float) -> float:
        """Always-valid p-value of "head is slower by at most `shift`"."""
        return min([1.0, *(seen.p_greater(shift) for seen in self._seen)])

    def p_less(self, shift: float, faster: bool = False) -> float:
        """Always-valid p-value of "head is slower by at least `shift`"; `faster`: to prove that head differs, not that it is no
        slower."""
        return min([1.0, *(seen.p_less(shift, faster) for seen in self._seen)])

    def low(self, level: float) -> float:
        """Lower confidence bound, valid at any stop; -inf before the first look."""
        best = -math.inf
        for seen in reversed(self._seen):
            if math.isfinite(seen.slack.differs) and (
                math.isinf(best) or seen.p_greater(best) <= level
            ):  # else this look's bound is no better
                best = max(best, seen.blocks.low(level / seen.weight) - seen.slack.differs)
        return best

    def high(self, level: float, faster: bool = False) -> float:
        """Upper confidence bound, valid at any stop; inf before the first look. `faster` as of `p_less`."""
        best = math.inf
        for seen in reversed(self._seen):
            moved = seen.moved(faster)
            if math.isfinite(moved) and (math.isinf(best) or seen.p_less(best, faster) <= level):
                best = min(best, seen.blocks.high(level / seen.weight) + moved)
        return best

    def steps_hide(self, shift: float, level: float) -> bool:
        """Whether at the last look values were too coarse to reject "head is slower by at least `shift`" ever, or just now: it
        would be rejected if they were exact."""
        if not self._seen or self.p_less(shift) <= level:
            return False
        last = self._seen[-1]
        return last.slack.same >= shift or (last.slack.same > 0.0 and last.weight * last.blocks.p_less(shift) <= level)

    def least_p(self) -> float:
        """The least p-value that the last look could have had: as if all its blocks said the same; 1 before the first look."""
        return self._seen[-1].weight * 2.0 ** -self._seen[-1].blocks.n if self._seen else 1.0

    def leans(self, shift: float) -> bool:
        """Whether the estimate at the last look is above `shift`; not before the first one."""
        return bool(self._seen) and self._seen[-1].blocks.leans(shift)

    def estimate(self) -> float:
        """Of all blocks so far, also those after the last look; nan if there are none."""
        return Blocks(self.blocks, self._by_difference).estimate() if self.blocks else math.nan
