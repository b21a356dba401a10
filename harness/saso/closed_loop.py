"""Drives a law through a scenario: the law's level decides which point of the curve the next period shows."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from dataclasses import dataclass

from harness.elasticity import Law, Reading
from harness.saso.scenario import Scenario

PERIOD_S = 1.0
PERSISTENCE = 0.95  # of drifting noise: what is left of a deviation a period later
QUIET_CPU, CROWDED_CPU = 0.5, 1.0  # what the CPU limit sees; how busy a law itself makes the CPUs is not what the bench asks


@dataclass(frozen=True)
class Trace:
    """What happened: one entry a period. `levels` are those at which the periods passed."""

    levels: list[int]
    throughputs: list[float]  # as measured, with noise [tuples/s]
    reasons: list[str]


def run(law: Law, scenario: Scenario) -> Trace:
    """One run from the first period to the last; the same seed gives the same noise, whatever the law does."""
    level = scenario.bounds.start
    trace = Trace([], [], [])
    noise = noise_of(scenario)
    for period in range(scenario.periods):
        crowded = scenario.crowded(period)
        shown = (
            trace.levels[-scenario.delay]
            if 0 < scenario.delay <= period
            else level
            if not scenario.delay
            else scenario.bounds.start
        )
        true = scenario.true(period, shown)
        seen = true * next(noise)
        reading = Reading(
            time_s=(period + 1) * PERIOD_S,
            elapsed_s=PERIOD_S,
            threads=level,
            throughput=seen,
            system_cpu=CROWDED_CPU if crowded else QUIET_CPU,
            others_cpu=CROWDED_CPU - 0.1 if crowded else 0.0,
            utilisation=_utilisation(scenario, period, level, true),
            congestion=1.0 if true > 0 else 0.0,
            latency_s=level / true if true > 0 else None,  # Little's law: each thread holds one tuple
        )
        trace.levels.append(level)
        trace.throughputs.append(seen)
        decision = law.step(reading)
        trace.reasons.append(decision.reason)
        level = decision.threads
    return trace


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


def _utilisation(scenario: Scenario, period: int, level: int, true: float) -> float:
    """Share of their time that threads execute operators: what one alone could do, over what each of them did."""
    alone = scenario.true(period, 1)
    if alone <= 0.0:
        return 0.0
    return min(1.0, true / (level * alone)) if scenario.starved else 1.0
