"""What a scenario is, whatever its laws decide about: a world that answers a configuration with a reading.

A configuration is what a law decides about: threads, where queues stand, replicas. Queues and replicas are the *parts* of a
configuration; a scenario has queues or replicas, or neither. The bench knows what each configuration brings, and which is best;
a law only gets to see readings.

A scenario is cut into stretches where its load changes for longer than a period.
"""

from __future__ import annotations

import math
import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple, Protocol

from harness.elasticity import Bounds, Decides, Decision, Law, Layout, Reading, make_law

STILL = 10  # periods without a change after which a law has settled
SHORTEST = 2 * STILL  # of a stretch that is scored, in periods
PERSISTENCE = 0.95  # of drifting noise: what is left of a deviation a period later
OWN = "own"  # the kind of a user's scenario, on benches whose reports name kinds
QUIET_CPU, CROWDED_CPU = 0.5, 1.0  # what the CPU limit sees; how busy a law itself makes the CPUs is not what the bench asks


class Configuration(NamedTuple):
    """`queued`: places whose ports have queues; `replicas` of each operator; `dedicated`: each queue has its own thread."""

    threads: int
    queued: frozenset[int] = frozenset()
    replicas: tuple[int, ...] = ()
    dedicated: bool = False

    @property
    def used(self) -> int:
        """Threads that there are."""
        return len(self.queued) if self.dedicated else self.threads

    @property
    def parts(self) -> int:
        """Queues or replicas that there are."""
        return len(self.queued) + sum(self.replicas)

    def after(self, decision: Decision) -> Configuration:
        """The next period's. What a decision does not name stays."""
        queued = self.queued if decision.queued is None else decision.queued
        replicas = self.replicas if decision.replicas is None else tuple(decision.replicas)
        return Configuration(decision.threads, queued, replicas, self.dedicated)


class Best(Protocol):
    """What an oracle would choose: `throughput` in the unit of `Scenario.throughput`."""

    throughput: float
    threads: int

    @property
    def parts(self) -> int:
        """Queues or replicas."""


class Least(NamedTuple):
    """Threads and parts that are needed for something."""

    throughput: float
    threads: int
    parts: int = 0


Observe = Callable[[int, Configuration], Reading]


class Scenario(ABC):
    """One run of the bench. `noise` (white) and `drift` (wandering slowly): relative standard deviations of a period."""

    bench: ClassVar[str]  # the library that it is of
    decides: ClassVar[Decides]  # what its laws decide about

    name: str
    bounds: Bounds
    noise: float
    drift: float
    periods: int
    seed: int
    event: str  # what happens meanwhile; "": nothing
    kind: str  # kinds weigh the same in means, however many scenarios there are of each
    held_out: bool  # whether no number of our laws was chosen on its kind

    @property
    def layout(self) -> Layout | None:
        """What a law knows of the graph; None: there is none."""
        return None

    @abstractmethod
    def segments(self) -> list[tuple[int, int]]:
        """The stretches (first period, behind the last one)."""

    def crowded(self, period: int) -> bool:
        """Whether others have so many of the CPUs that the CPU limit says no to whoever wants to climb."""
        return False

    @abstractmethod
    def throughput(self, period: int, configuration: Configuration) -> float:
        """What can be sustained in that stretch, without noise [tuples/s]."""

    @abstractmethod
    def best(self, period: int) -> Best:
        """The oracle's choice for that stretch: the fewest threads that bring the most."""

    def needed(self, period: int, throughput: float) -> Best:
        """The fewest threads and parts that a law needed for what it brought. Here: those of the best."""
        return self.best(period)

    @abstractmethod
    def observer(self) -> Observe:
        """Says what a law reads after each period, from the first one on. Each has noise of its own, the same by the seed."""

    def contestant(self, name: str) -> tuple[Law, Configuration]:
        """A law by its name, and what it begins with. Raises UserError for an unknown name."""
        law = make_law(name, self.bounds, layout=self.layout, decides=self.decides)
        replicas = (1,) * self.layout.operators if self.layout and self.decides is Decides.REPLICAS else ()
        return law, Configuration(law.bounds.start, replicas=replicas)

    def scored(self) -> list[tuple[int, int]]:
        """The stretches that count: neither too short to tell, nor idle, nor crowded; all of them if none is such."""
        chosen = [
            (begin, end)
            for begin, end in self.segments()
            if end - begin >= SHORTEST and not self.crowded(begin) and self.best(begin).throughput > 0.0
        ]
        return chosen or self.segments()

    def stakes(self) -> list[tuple[int, int, float]]:
        """The stretches in which throughput can be lost, and how much each weighs: here those that count, alike."""
        return [(begin, end, 1.0) for begin, end in self.scored()]

    def facts(self) -> Mapping[str, Any]:
        """What else a row of the bench says of it."""
        return {}


def cut(marks: set[int], periods: int) -> list[tuple[int, int]]:
    """Stretches between marks, which may lie beyond the last period."""
    return list(pairwise(sorted(mark for mark in marks | {0, periods} if 0 <= mark <= periods)))


def noise_of(scenario: Scenario) -> Iterator[float]:
    """A factor a period, never negative. White noise with heavy tails is Student's t with 2 degrees of freedom."""
    heavy = getattr(scenario, "heavy", False)
    generator = random.Random(scenario.seed)
    fresh = math.sqrt(1.0 - PERSISTENCE**2)
    drift = generator.gauss(0.0, 1.0)
    while True:
        white = generator.gauss(0.0, 1.0)
        if heavy:
            white /= math.sqrt(generator.expovariate(1.0))  # half of chi squared with 2 degrees of freedom is exponential
        drift = PERSISTENCE * drift + fresh * generator.gauss(0.0, 1.0)
        yield max(0.0, 1.0 + scenario.noise * white + scenario.drift * drift)
