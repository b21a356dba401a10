"""The sequential test of `compare`: which arms may be the best, and how far the others are from it.

A block holds two runs of each arm, all in one random order. Of any two arms, each order of their
four runs is then equally likely, so the gate's test of a block (`gate.block_ranks`) applies to each
pair of arms, at the looks of `gate.sequential`.

Let b be the arm that is truly best. Each of the k - 1 pairs of b with another arm has a bound on
either side. At a level of alpha / (2 (k - 1)) all of these bounds hold, with a chance of 1 - alpha,
at all looks together. While they hold:

- b is never proven worse than another arm. The *leaders* are the smallest set of arms of which each
  is proven better than each arm outside it. So b is a leader, and what is outside is worse than b.
  This also holds if several arms are equally good: take any of them for b.
- The distance of an arm from the best one lies in its interval from b. Nobody knows which leader b
  is, so the interval that is shown reaches from the lowest to the highest end from any leader.

So nothing has to be corrected for choosing the best arm by its results. This is the multiple
comparison with the best (Hsu, The Annals of Statistics 12(3), 1984) with the gate's bounds, which
hold at any stop. An arm that is no leader is not measured further; its bounds stay as they are.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from itertools import combinations
from typing import NamedTuple

from harness.gate.order import BlockValues, Pair
from harness.gate.sequential import Evidence, Looks, fewest_blocks
from harness.gate.step import EXACT, Slack, slack

ALPHA = 0.05  # chance that anything that a call says about the best arm is wrong
SIDES = 2  # bounds of a pair
LARGEST_EXPONENT = 700.0  # of a float, nearly


class ArmRatio(NamedTuple):
    """Ratio of how good an arm is to how good another is, with the ends of its interval."""

    estimate: float  # nan if nothing is known
    low: float
    high: float

    @property
    def inverse(self) -> ArmRatio:
        """The ratio of the other arm to this one."""
        return ArmRatio(1.0 / self.estimate, _inverse(self.high), _inverse(self.low))


SAME = ArmRatio(1.0, 1.0, 1.0)
UNKNOWN = ArmRatio(math.nan, 0.0, math.inf)


def level_of_pair(arms: int, alpha: float) -> float:
    """Return the level of a bound of a pair, of so many arms."""
    return alpha / (SIDES * max(arms - 1, 1))


def looks_of(arms: int, alpha: float) -> Looks:
    """Return the looks of a comparison; the first one can just prove a difference."""
    return Looks(fewest_blocks(level_of_pair(arms, alpha) / Looks(1).weight(1)))


class Pairing:
    """Evidence about one pair of arms. Costs are logs of values, so that more is worse."""

    def __init__(self, looks: Looks, level: float, sign: float, exact: bool, bucket: float) -> None:
        self._level, self._sign, self._exact = level, sign, exact
        self._bucket = math.log1p(bucket)
        self._one: list[float] = []
        self._other: list[float] = []
        self._evidence = Evidence(looks, self._slack)

    def add(self, one: Pair, other: Pair) -> None:
        """Add both values of each arm in a block."""
        self._one += one
        self._other += other
        self._evidence.add(BlockValues(self._costs(one), self._costs(other)))
        for known in ("estimate", "ratio"):
            self.__dict__.pop(known, None)

    @property
    def other_is_worse(self) -> bool:
        """True if the second arm is proven worse than the first."""
        return self._evidence.p_greater(0.0) <= self._level

    @property
    def one_is_worse(self) -> bool:
        """True if the first arm is proven worse than the second."""
        return self._evidence.p_less(0.0, faster=True) <= self._level

    @cached_property
    def estimate(self) -> float:
        """Estimate of how many times as good the first arm is as the second; nan if nothing is
        known.
        """
        return math.exp(self._evidence.estimate())

    @cached_property
    def ratio(self) -> ArmRatio:
        """Ratio of how good the first arm is to how good the second is."""
        low, high = self._evidence.low(self._level), self._evidence.high(self._level, faster=True)
        unknown = high >= LARGEST_EXPONENT
        return ArmRatio(self.estimate, math.exp(low), math.inf if unknown else math.exp(high))

    def holds(self, ratio: float) -> bool:
        """Return True if the interval holds this ratio of the first arm to the second."""
        shift = math.log(ratio)
        below = self._evidence.p_greater(shift) <= self._level
        return not below and self._evidence.p_less(shift, faster=True) > self._level

    def _costs(self, values: Pair) -> Pair:
        return self._sign * math.log(values[0]), self._sign * math.log(values[1])

    def _slack(self) -> Slack:
        found = EXACT if self._exact else slack(self._one, self._other, by_difference=False)
        return Slack(max(found.differs, self._bucket), max(found.same, self._bucket))


class Standing:
    """Standing of the arms of one comparison. More is better or, with `lower_is_better`, less.
    Values must be above 0.
    """

    def __init__(
        self,
        arms: Sequence[str],
        alpha: float = ALPHA,
        lower_is_better: bool = False,
        exact: bool = False,
        bucket: float = 0.0,
    ) -> None:
        """`exact`: values are not rounded to steps, and may be equal, as those of simulations;
        `bucket`: width of the buckets that they were counted in, as a share of them.
        """
        self.looks = looks_of(len(arms), alpha)
        self.lower_is_better = lower_is_better
        level = level_of_pair(len(arms), alpha)
        sign = 1.0 if lower_is_better else -1.0
        self._pairings = {
            pair: Pairing(self.looks, level, sign, exact, bucket) for pair in combinations(arms, 2)
        }

    def add(self, block: Mapping[str, Pair]) -> None:
        """Add the two values of each arm that was measured in a block."""
        for (one, other), pairing in self._pairings.items():
            if one in block and other in block:
                pairing.add(block[one], block[other])

    def blocks_to_look(self, blocks: int) -> int:
        """Return the blocks until the next look, after so many."""
        following = self.looks.next(blocks)
        assert following is not None  # looks have no end
        return following - blocks

    def is_worse(self, arm: str, than: str) -> bool:
        """Return True if an arm is proven worse than another."""
        if (than, arm) in self._pairings:
            return self._pairings[than, arm].other_is_worse
        return self._pairings[arm, than].one_is_worse

    def leaders(self, arms: Collection[str]) -> list[str]:
        """Return those of some arms of which one is the best: the smallest set of which each is
        proven better than all outside. The one that seems best comes first.
        """
        losses = {
            arm: sum(self.is_worse(arm, other) for other in arms if other != arm) for arm in arms
        }
        ranked = sorted(arms, key=losses.__getitem__)
        count = next(
            count
            for count in range(min(1, len(ranked)), len(ranked) + 1)
            if all(self.is_worse(arm, best) for arm in ranked[count:] for best in ranked[:count])
        )
        return self._by_estimate(ranked[:count])

    def ratio(self, arm: str, to: str) -> ArmRatio:
        """Return how many times as good an arm is as another."""
        if arm == to:
            return SAME
        if (arm, to) in self._pairings:
            return self._pairings[arm, to].ratio
        return self._pairings[to, arm].ratio.inverse

    def to_best(self, arm: str, leaders: Sequence[str]) -> ArmRatio:
        """Return how many times as good an arm is as the best one; `leaders` as they are now. The
        estimate is that to the first leader.
        """
        found = [self.ratio(arm, leader) for leader in leaders]
        return ArmRatio(found[0].estimate, min(e.low for e in found), max(e.high for e in found))

    def holds(self, arm: str, to: str, ratio: float) -> bool:
        """Return True if the interval of a pair holds this ratio."""
        if (arm, to) in self._pairings:
            return self._pairings[arm, to].holds(ratio)
        return self._pairings[to, arm].holds(1.0 / ratio)

    def _by_estimate(self, arms: Sequence[str]) -> list[str]:
        """Return the arms, the one that seems better than most others first."""
        wins = dict.fromkeys(arms, 0)
        for (one, other), pairing in self._pairings.items():
            if one in wins and other in wins:
                wins[one if pairing.estimate > 1.0 else other] += 1
        return sorted(arms, key=lambda arm: -wins[arm])


def _inverse(value: float) -> float:
    return 1.0 / value if value else math.inf
