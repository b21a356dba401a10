"""States of a system: throughput depends on the past, not on the present level alone.

A state gives each period a factor on the throughput of its level. The best level is the one that
brings the most in the long run, when the factor is that of a level that stays.

  WarmingUp   caches fill and code is compiled: little at first, whatever the level
  Switching   after a change of the level throughput is off for some periods: caches are cold, or
              queues drain
  Throttling  many threads are faster until the processor is hot
  Pauses      some periods bring little, as with a collector of garbage
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

Factor = Callable[[int, int], float]  # of a period and its level


class State(Protocol):
    """State that a scenario's system has."""

    def begin(self, seed: int) -> Factor:
        """Return the factor on throughput in each period, which is asked in their order."""


@dataclass(frozen=True)
class WarmingUp:
    """Loss of `loss` in the first period, of which each period leaves `left`."""

    loss: float
    left: float

    def begin(self, seed: int) -> Factor:
        """Return the factor, which grows to 1."""
        return lambda period, level: 1.0 - self.loss * self.left**period


@dataclass(frozen=True)
class Switching:
    """Throughput off by `off` in the period after a change, of which each period leaves `left`."""

    off: float
    left: float

    def begin(self, seed: int) -> Factor:
        """Return the factor; it is 1 before the first change."""
        last, off = 0, 0.0

        def factor(period: int, level: int) -> float:
            nonlocal last, off
            off = self.off if last not in (0, level) else off * self.left
            last = level
            return 1.0 + off

        return factor


@dataclass(frozen=True)
class Throttling:
    """Heat that follows the level, of which each period leaves `left`.

    A processor can cool `cooled` threads at full speed. While it is colder than they make it, more
    threads have full speed, too: (n / cooled)^`power` times the speed that they have in the end.
    """

    cooled: int
    power: float
    left: float

    def begin(self, seed: int) -> Factor:
        """Return the factor; the processor is cold at first."""
        heat = 0.0

        def factor(period: int, level: int) -> float:
            nonlocal heat
            cold = heat < self.cooled < level
            heat = self.left * heat + (1.0 - self.left) * level
            return (level / self.cooled) ** self.power if cold else 1.0

        return factor


@dataclass(frozen=True)
class Pauses:
    """A share of the periods in which `left` of the throughput is left."""

    share: float
    left: float

    def begin(self, seed: int) -> Factor:
        """Return the factor; pauses follow from the seed."""
        generator = random.Random(~seed)
        return lambda period, level: self.left if generator.random() < self.share else 1.0
