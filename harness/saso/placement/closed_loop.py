"""Drives a contestant through a scenario: what it decides is where queues stand and how many threads run in the next period.

The profiler looks at each thread a hundred times a second, as that of IBM Streams does, and sees an operator as often as it
works: a multinomial sample of the true shares. In the period after queues have come or gone throughput is a bit off, up while
new ones fill and down while old ones are emptied (M19 Figure 6).
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import numpy as np

from harness.elasticity import Decision, Law, Reading
from harness.saso.closed_loop import CROWDED_CPU, QUIET_CPU, noise_of
from harness.saso.placement.scenario import Scenario

PERIOD_S = 5.0  # M19 §3.1.1: the adaptation period
LOOKS = 100  # of the profiler at a thread, a second: IBM Streams' (its PEImpl.cpp); M19 names no rate
# Throughput more or less in the period after all queues were switched. The law `millrace` expects a surge of this form and size
# (`multilevel/evidence.py`); what it makes of others stands in docs/laws-bench.md.
SURGE = 0.15


@dataclass(frozen=True)
class Trace:
    """What happened: one entry a period; levels and placements are those at which it passed."""

    dedicated: bool = False  # each queue has a thread of its own
    levels: list[int] = field(default_factory=list)
    placements: list[frozenset[int]] = field(default_factory=list)
    throughputs: list[float] = field(default_factory=list)  # as measured, with noise [tuples/s]
    decisions: list[Decision] = field(default_factory=list)


def run(law: Law, scenario: Scenario, begin: frozenset[int] = frozenset(), dedicated: bool = False) -> Trace:
    """One run from the first period to the last.

    `begin`: where queues stand at first, and with a law of threads alone, always; `dedicated`: each has a thread of its own.
    """
    level, queued, switched = law.bounds.start, begin, 0.0
    trace = Trace(dedicated)
    noise, draw = noise_of(scenario), random.Random(scenario.seed)
    looks = np.random.default_rng(scenario.seed)
    for period in range(scenario.periods):
        surface = scenario.surface(period)
        true = surface.dedicated() if dedicated else surface.throughput(queued, level)
        seen = true * next(noise) * (1.0 + switched * draw.uniform(0.5, 1.5))
        crowded = scenario.crowded(period)
        others = scenario.phase(period).others
        threads = len(surface.layout.sources) + (level if queued else 0)
        reading = Reading(
            time_s=(period + 1) * PERIOD_S,
            elapsed_s=PERIOD_S,
            threads=level,
            throughput=max(0.0, seen),
            system_cpu=CROWDED_CPU if crowded else QUIET_CPU,
            others_cpu=others,
            utilisation=surface.busy(queued, level),
            costs=_looked(surface.shares(), min(threads, scenario.world.cpus), looks),
            queued=queued,
        )
        decision = law.step(reading)
        trace.levels.append(level)
        trace.placements.append(queued)
        trace.throughputs.append(seen)
        trace.decisions.append(decision)
        before, level = queued, decision.threads
        if decision.queued is not None:
            queued = decision.queued
        switched = SURGE * (len(queued - before) - len(before - queued)) / max(1, surface.places)
    return trace


def _looked(shares: np.ndarray, threads: int, looks: np.random.Generator) -> tuple[float, ...]:
    """The shares as the profiler sees them in a period."""
    seen = looks.multinomial(round(LOOKS * PERIOD_S * threads), shares)
    return tuple((seen / seen.sum()).tolist())
