"""Loads that were known: what was best under each, and how to tell that one of them is back."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from harness.elasticity.multilevel.evidence import Evidence, Fit, Place
from harness.elasticity.multilevel.options import Placements
from harness.elasticity.multilevel.physics import Hypotheses, bounds_of, log_throughput
from harness.elasticity.multilevel.regions import Vector
from harness.elasticity.multilevel.watch import Watch

LIKELIEST = 24  # hypotheses that are kept of a load
CLOSE, ROUGHLY = 1.05, 1.15  # by how much throughput may be off, where it was measured and where it was not
RECALLS = 16  # loads


@dataclass(frozen=True)
class Load:
    """Where the law settled, what that brought, and what was believed of other configurations."""

    place: Place
    expected: float  # logarithm of throughput
    deviation: float  # its standard deviation from period to period
    seen: Mapping[Place, float]  # what each configuration brought that it has been at
    shares: Vector  # of the work
    hypotheses: Hypotheses
    odds: Vector

    def explains(self, graph: Placements, place: Place, value: float) -> bool:
        """Whether a logarithm of throughput is what it would be under this load."""
        known = self.expected if place == self.place else self.seen.get(place)
        off = CLOSE if known is not None else ROUGHLY
        return abs(value - (self._thought(graph, place) if known is None else known)) < max(math.log(off), 2.5 * self.deviation)

    def _thought(self, graph: Placements, place: Place) -> float:
        bounds = [bounds_of(graph.parts(queued).loads(self.shares)) for queued, _ in (place, self.place)]
        there, here = log_throughput(bounds, [0, 1], [place[1], self.place[1]], self.hypotheses) @ self.odds
        return self.expected + float(there - here)


def load_of(place: Place, watch: Watch, evidence: Evidence, shares: Vector, hypotheses: Hypotheses, fit: Fit) -> Load:
    """What to keep of a load that was settled at `place`."""
    likeliest = np.argsort(-fit.odds, kind="stable")[:LIKELIEST]
    seen = {each: evidence.mean(each) for each in set(evidence.places) - {place}}
    odds = fit.odds[likeliest] / fit.odds[likeliest].sum()
    return Load(place, watch.expected, watch.deviation, seen, shares, hypotheses.take(likeliest), odds)


def remember(loads: list[Load], load: Load) -> list[Load]:
    """The last ones, and among them no two of the same."""
    others = [each for each in loads if each.place != load.place or abs(each.expected - load.expected) > 0.1]
    return [*others[1 - RECALLS :], load]
