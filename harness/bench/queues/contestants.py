"""Who takes part: laws that place queues, and what they must beat.

manual       no queues
dedicated    a queue and a thread for every port
dynamic      a queue before every port, the number of threads by `elasticity.millrace`
hand-placed  what is best for the first phase, to the end, as an expert would place it
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from harness import elasticity
from harness.bench.scenario import Configuration
from harness.elasticity import LAWS, Decides, Decision, Law, Layout, Reading
from harness.elasticity.cpu_limit import CpuLimit, LastPeriod
from harness.elasticity.law import Bounds

FIXED = ("manual", "dedicated", "hand-placed")
DYNAMIC = "dynamic"
BASELINES = ("manual", "dedicated", DYNAMIC)
"""What a law that places queues must never be far behind (M19 §4: a safe default choice)."""


def contestants() -> list[str]:
    """All of them; of the laws those that there are."""
    return [*FIXED[:2], DYNAMIC, FIXED[2], *LAWS[Decides.QUEUES]]


def least_threads(name: str, cpus: int) -> int:
    """The level that a contestant begins at and never goes below.

    IBM Streams has one more than the most input ports of an operator, but no more than there are CPUs (its PEImpl.cpp): two for
    operators of one port, as M19 Figure 5 shows them.
    """
    return min(2, cpus) if name in ("middleware19", "streams") else 1


def contestant(
    name: str, layout: Layout, bounds: Bounds, hand_placed: Callable[[], Configuration]
) -> tuple[Law, Configuration]:
    """Return what decides about a graph, and what it begins with; `hand_placed` finds the best of the first phase.

    Raises UserError for a law that there is not.
    """
    everywhere = frozenset(range(len(layout.ports)))
    if name == "manual":
        return _Stays(bounds), Configuration(1)
    if name == "dedicated":
        return _Stays(bounds), Configuration(1, everywhere, dedicated=True)
    if name == "hand-placed":
        best = hand_placed()
        return _Stays(Bounds(best.threads, best.threads, best.threads)), best
    if name == DYNAMIC:
        return elasticity.make_law("millrace", bounds), Configuration(bounds.start, everywhere)
    least = least_threads(name, bounds.maximum)
    of_law = Bounds(least, bounds.maximum, least)
    return elasticity.make_law(name, of_law, layout=layout, decides=Decides.QUEUES), Configuration(least)


class _Stays(Law):
    """Decides nothing."""

    name: ClassVar[str] = "stays"
    summary: ClassVar[str] = "keeps its level and its placement"

    def cpu_limit(self) -> CpuLimit:
        """Never asked."""
        return LastPeriod(1.0)

    def decide(self, reading: Reading) -> Decision:
        """Its first level for ever."""
        return Decision(self.bounds.start, "fixed → stay", "fixed")
