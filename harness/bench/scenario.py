"""Interface of a scenario for laws of all kinds: it answers a configuration with a reading.

A configuration has threads, places with queues, and replicas. Queues and replicas are its *parts*;
a scenario has queues or replicas, or neither. The bench knows the throughput of each configuration,
and the best one; a law only sees readings.

Changes of load that last longer than a period cut a scenario into stretches.
"""

from __future__ import annotations

import math
import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple, Protocol

from harness.elasticity import Bounds, Decides, Decision, Law, Layout, Reading, make_law

SETTLED_PERIODS = 10  # periods without a change after which a law has settled
MIN_SCORED_PERIODS = 2 * SETTLED_PERIODS  # shortest stretch that is scored, in periods
PERSISTENCE = 0.95  # share of a deviation of drifting noise that is left a period later
OWN_KIND = "own"  # the kind of a user's scenario, on benches whose reports name kinds
# use of the CPUs that the CPU limit sees; the bench does not model the law's own use
QUIET_CPU, CROWDED_CPU = 0.5, 1.0


class Configuration(NamedTuple):
    """Configuration of a period.

    `queued`: places whose ports have queues. `replicas`: of each operator. `dedicated`: True if
    each queue has its own thread.
    """

    threads: int
    queued: frozenset[int] = frozenset()
    replicas: tuple[int, ...] = ()
    dedicated: bool = False

    @property
    def used(self) -> int:
        """Number of threads."""
        return len(self.queued) if self.dedicated else self.threads

    @property
    def parts(self) -> int:
        """Number of queues or replicas."""
        return len(self.queued) + sum(self.replicas)

    def after(self, decision: Decision) -> Configuration:
        """Return the configuration of the next period. Parts that a decision does not name stay."""
        queued = self.queued if decision.queued is None else decision.queued
        replicas = self.replicas if decision.replicas is None else tuple(decision.replicas)
        return Configuration(decision.threads, queued, replicas, self.dedicated)


class OracleChoice(Protocol):
    """Choice of an oracle: `throughput` in the unit of `Scenario.throughput`."""

    throughput: float
    threads: int

    @property
    def parts(self) -> int:
        """Number of queues or replicas."""


class Least(NamedTuple):
    """Fewest threads and parts that bring a throughput."""

    throughput: float
    threads: int
    parts: int = 0


def least_level(bounds: Bounds, throughput: Callable[[int], float]) -> Least:
    """Return the lowest level that brings the most; levels that differ by rounding errors bring the
    same.
    """
    rates = {level: throughput(level) for level in range(bounds.minimum, bounds.maximum + 1)}
    top = max(rates.values())
    return Least(top, next(level for level, rate in rates.items() if rate >= top * (1.0 - 1e-9)))


Observe = Callable[[int, Configuration], Reading]


class Scenario(ABC):
    """Scenario of one run.

    `noise` (white) and `drift` (wandering slowly): relative standard deviations of a period.
    """

    bench: ClassVar[str]  # its library
    decides: ClassVar[Decides]  # kind of its laws

    name: str
    bounds: Bounds
    noise: float
    drift: float
    periods: int
    seed: int
    event: str  # name of the change during the run; "": none
    kind: str  # kinds have the same weight in means
    held_out: bool  # True if no constant of our laws was chosen on its kind

    @property
    def layout(self) -> Layout | None:
        """The graph as a law knows it; None if there is none."""
        return None

    @abstractmethod
    def segments(self) -> list[tuple[int, int]]:
        """Return the stretches (first period, period after the last one)."""

    def crowded(self, period: int) -> bool:
        """Return True if other processes use so much CPU that the limit refuses more threads."""
        return False

    @abstractmethod
    def throughput(self, period: int, configuration: Configuration) -> float:
        """Return the throughput that can be sustained in that stretch, without noise [tuples/s]."""

    @abstractmethod
    def best(self, period: int) -> OracleChoice:
        """Return the oracle's choice for that stretch: the fewest threads that bring the most."""

    def needed(self, period: int, throughput: float) -> OracleChoice:
        """Return the fewest threads and parts that bring a law's throughput; by default those of
        the best."""
        return self.best(period)

    @abstractmethod
    def observer(self) -> Observe:
        """Return a function that gives the reading of each period, from the first one on.

        Each observer has noise of its own, which depends on the seed alone.
        """

    def contestant(self, name: str) -> tuple[Law, Configuration]:
        """Return a law by its name and its first configuration.

        Raise UserError for an unknown name.
        """
        law = make_law(name, self.bounds, layout=self.layout, decides=self.decides)
        replicas = (
            (1,) * self.layout.operators if self.layout and self.decides is Decides.REPLICAS else ()
        )
        return law, Configuration(law.bounds.start, replicas=replicas)

    def completed(self, law: Law, period: int, reading: Reading) -> Reading:
        """Return a reading with further fields that this law needs; by default there are none."""
        return reading

    def scored(self) -> list[tuple[int, int]]:
        """Return the stretches that count: neither too short, nor idle, nor crowded; all of them if
        there are none."""
        chosen = [
            (begin, end)
            for begin, end in self.segments()
            if end - begin >= MIN_SCORED_PERIODS
            and not self.crowded(begin)
            and self.best(begin).throughput > 0.0
        ]
        return chosen or self.segments()

    def stakes(self) -> list[tuple[int, int, float]]:
        """Return the stretches in which throughput can be lost, with weights; by default those that
        count, equally."""
        return [(begin, end, 1.0) for begin, end in self.scored()]

    def facts(self) -> Mapping[str, Any]:
        """Return further facts for a row of the bench."""
        return {}


def cut(marks: set[int], periods: int) -> list[tuple[int, int]]:
    """Return the stretches between marks, which may lie beyond the last period."""
    return list(pairwise(sorted(mark for mark in marks | {0, periods} if 0 <= mark <= periods)))


def noise_of(scenario: Scenario) -> Iterator[float]:
    """Yield a factor for each period, never negative.

    White noise with heavy tails is Student's t with 2 degrees of freedom.
    """
    heavy = getattr(scenario, "heavy", False)
    persistence = getattr(scenario, "persistence", PERSISTENCE)
    generator = random.Random(scenario.seed)
    fresh = math.sqrt(1.0 - persistence**2)
    drift = generator.gauss(0.0, 1.0)
    while True:
        white = generator.gauss(0.0, 1.0)
        if heavy:
            # half of chi squared with 2 degrees of freedom is exponential
            white /= math.sqrt(generator.expovariate(1.0))
        drift = persistence * drift + fresh * generator.gauss(0.0, 1.0)
        yield max(0.0, 1.0 + scenario.noise * white + scenario.drift * drift)
