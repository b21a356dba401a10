"""Drives a law through a scenario: what it decides is how many threads and replicas there are in the next period.

Noise: the sources' rate varies as on the bench of threads. Each operator's useful time varies by itself, by half as much.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from harness.elasticity import Law, Reading
from harness.saso.closed_loop import noise_of
from harness.saso.replication.scenario import Scenario
from harness.saso.replication.world import World

PERIOD_S = 10.0  # C-Stream §5.2


@dataclass(frozen=True)
class Trace:
    """What happened: one entry a period; levels and replicas are those at which it passed."""

    levels: list[int] = field(default_factory=list)
    replicas: list[tuple[int, ...]] = field(default_factory=list)
    throughputs: list[float] = field(default_factory=list)  # as measured, with noise [tuples/s]
    reasons: list[str] = field(default_factory=list)


def run(law: Law, scenario: Scenario) -> Trace:
    """One run from the first period to the last; the same seed gives the same noise, whatever the law does."""
    level, replicas = law.bounds.start, (1,) * scenario.layout.operators
    trace = Trace()
    noise, generator = noise_of(scenario), np.random.default_rng(scenario.seed)
    for period in range(scenario.periods):
        world = scenario.world(period)
        reading = _reading(world, level, replicas, (period + 1) * PERIOD_S, next(noise), scenario.noise, generator)
        trace.levels.append(level)
        trace.replicas.append(replicas)
        trace.throughputs.append(reading.throughput)
        decision = law.step(reading)
        trace.reasons.append(decision.reason)
        level = decision.threads
        if decision.replicas is not None:
            replicas = tuple(decision.replicas)
    return trace


def _reading(
    world: World,
    level: int,
    replicas: tuple[int, ...],
    time_s: float,
    factor: float,
    noise: float,
    generator: np.random.Generator,
) -> Reading:
    """`factor`: of what the sources could send, this period's noise."""
    state, layout = world.state(level, np.array(replicas, dtype=float)), world.layout
    rate = state.capacity * factor if world.target is None else min(world.target, state.capacity * factor)
    apart = np.maximum(0.0, 1.0 + 0.5 * noise * generator.standard_normal(layout.operators))
    useful = state.useful * (rate / state.rate) * apart
    return Reading(
        time_s=time_s,
        elapsed_s=PERIOD_S,
        threads=level,
        throughput=rate * sum(link.tuples for link in layout.links),
        utilisation=state.utilisation,
        system_cpu=min(1.0, state.utilisation * level / world.cores),
        others_cpu=0.0,
        useful_s=tuple((useful * PERIOD_S).tolist()),
        tuples=tuple((rate * PERIOD_S * np.array(layout.tuples)).tolist()),
        full=tuple(state.full.tolist()),
        replicas=replicas,
        target=None if world.target is None else world.target * len(layout.sources),
        latency_s=state.latency_s,
    )
