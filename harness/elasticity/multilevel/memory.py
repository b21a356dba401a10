"""Loads that were known: what was best under each, and how to tell that one of them is back."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from harness.elasticity.multilevel.evidence import Evidence, Place
from harness.elasticity.multilevel.limits import Limits
from harness.elasticity.multilevel.options import Placements
from harness.elasticity.multilevel.regions import Vector

LIKELIEST = 24  # hypotheses that are asked what a load brings where the law has not been
CLOSE, ROUGHLY = 1.05, 1.15  # by how much throughput may be off, where it was measured and where it was not
RECALLS = 16  # loads


@dataclass(frozen=True)
class Load:
    """Where the law settled, what that brought, and what it knew: all that it needs to go on from there."""

    place: Place
    expected: float  # logarithm of throughput
    deviation: float  # its standard deviation from period to period
    evidence: Evidence
    shares: Vector  # of the work, by which the graph was divided
    work_s: float  # of all work, for a tuple of each source
    hypotheses: Vector
    odds: Vector
    looks: int

    def explains(self, graph: Placements, place: Place, value: float) -> bool:
        """Whether a logarithm of throughput is what it would be under this load."""
        known, off = self.expected, CLOSE
        if place != self.place and place in self.evidence.places:
            known = self.evidence.mean(place)
        elif place != self.place:
            known, off = self._thought(graph, place), ROUGHLY
        return abs(value - known) < max(math.log(off), 2.5 * self.deviation)

    def _thought(self, graph: Placements, place: Place) -> float:
        likeliest = np.argsort(-self.odds, kind="stable")[:LIKELIEST]
        limits = Limits(graph.flow, self.shares)
        numbers = np.array([limits.add(queued) for queued, _ in (place, self.place)])
        said = limits.log_throughput(numbers, np.array([place[1], self.place[1]]), self.hypotheses[likeliest])
        there, here = said @ self.odds[likeliest] / self.odds[likeliest].sum()
        return self.expected + float(there - here)


def remember(loads: list[Load], load: Load) -> list[Load]:
    """The last ones, and among them no two of the same."""
    others = [each for each in loads if each.place != load.place or abs(each.expected - load.expected) > 0.1]
    return [*others[1 - RECALLS :], load]
