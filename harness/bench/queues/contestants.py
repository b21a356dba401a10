"""Contestants of the bench of placements: laws that place queues, and the baselines.

manual       no queues
dedicated    a queue and a thread for every port
dynamic      a queue before every port, the number of threads by `elasticity.threads.millrace`
hand-placed  the best configuration for the first phase, to the end, as an expert would place it
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
"""Baselines that a law that places queues must never be far below (M19 §4: a safe default
choice).
"""


def contestants() -> list[str]:
    """Return the names of the baselines and the laws."""
    return [*FIXED[:2], DYNAMIC, FIXED[2], *LAWS[Decides.QUEUES]]


def least_threads(name: str, cpus: int) -> int:
    """Return the level at which a contestant begins and below which it never goes.

    IBM Streams has one thread more than the most input ports of an operator, but at most one for
    each CPU (its PEImpl.cpp): two for operators of one port, as M19 Figure 5 shows them.
    """
    return min(2, cpus) if name in ("middleware19", "streams") else 1


def contestant(
    name: str, layout: Layout, bounds: Bounds, hand_placed: Callable[[], Configuration]
) -> tuple[Law, Configuration]:
    """Return a contestant's law and its first configuration.

    `hand_placed` finds the best configuration of the first phase. Raise UserError for an unknown
    law.
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
    return elasticity.make_law(name, of_law, layout=layout, decides=Decides.QUEUES), Configuration(
        least
    )


class _Stays(Law):
    """Law that never changes anything."""

    name: ClassVar[str] = "stays"
    summary: ClassVar[str] = "keeps its level and its placement"

    def cpu_limit(self) -> CpuLimit:
        """Return a limit; the law never asks it."""
        return LastPeriod(1.0)

    def decide(self, reading: Reading) -> Decision:
        """Return the first level."""
        return Decision(self.bounds.start, "fixed → stay", "fixed")
