"""A small surface for tests of laws: how fast a graph is with queues and threads, by another
formula than any law assumes.

Threads execute regions (`limits.loads_of`) in turn: work conserving, one thread at a time in each.
An exact answer would be a schedule; list scheduling of the regions, longest first (Graham 1969), is
near enough.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from harness.elasticity.queues.limits import loads_of

from harness.elasticity import Bounds, Decision, Law, Layout, Reading, layout_of
from harness.elasticity.queues.regions import DirectedLayout
from harness.graph import Graph
from harness.models import Dynamic


@dataclass
class Surface:
    """`hop_s`: time of a hop over a queue, `flop_s`: of a FLOP, `call_s`: of a call; `cpus`: that
    threads can use.
    """

    layout: Layout
    cpus: int
    hop_s: float = 50e-9
    flop_s: float = 1e-9
    call_s: float = 5e-9
    flop: Sequence[float] | None = None
    lock_s: float = 20e-9
    flow: DirectedLayout = field(init=False)

    def __post_init__(self) -> None:
        self.flow = DirectedLayout(self.layout)

    def work(self) -> np.ndarray:
        """Of each operator, s for a tuple of each source."""
        flop = np.array(self.layout.flop if self.flop is None else self.flop)
        return np.array(self.layout.tuples) * (flop * self.flop_s + self.call_s)

    def shares(self) -> tuple[float, ...]:
        """Each operator's share of the work."""
        work = self.work()
        return tuple(work / work.sum())

    def throughput(self, queued: frozenset[int], threads: int) -> float:
        """Tuples/s submitted."""
        loads = loads_of(self.flow, self.work(), queued)
        busy = min(loads.own_threads + min(threads, loads.queues), self.cpus)
        regions = loads.contenders <= 1
        hop = self.hop_s * (1.0 + 0.05 * (busy - 1))
        times = loads.work + 0.45 * hop * loads.pushes + 0.55 * hop * loads.pops
        locks = times[~regions] + self.lock_s * (np.minimum(loads.contenders[~regions], busy) - 1)
        threads_free = [0.0] * busy
        for time in sorted(times[regions], reverse=True):
            heapq.heappush(threads_free, heapq.heappop(threads_free) + time)
        balance = 0.5 * (max(threads_free) + times[regions].sum() / busy)
        span = max(balance, times[regions].max(), locks.max(initial=0.0))
        crowded = max(0, loads.own_threads + min(threads, loads.queues) - self.cpus)
        return self.flow.submitted / span / (1.0 + 0.02 * crowded)


def surface_of(graph: Graph, cpus: int, **constants: object) -> Surface:
    """Of a graph whose ports may all have queues."""
    return Surface(layout_of(graph, Dynamic(threads=1), cpus), cpus, **constants)


@dataclass
class Step:
    """A period and what was decided after it."""

    queued: frozenset[int]
    threads: int
    throughput: float
    decision: Decision


def drive(
    law: Law,
    surface: Callable[[int], Surface] | Surface,
    periods: int,
    after: Sequence[Step] = (),
    noise: float = 0.0,
    seed: int = 1,
    looks: int = 0,
    **reading: float,
) -> list[Step]:
    """What a law decides when the throughput of each period is that of its decision; `looks` of the
    profiler, 0: exact.
    """
    generator = np.random.default_rng(seed)
    queued, threads = (frozenset(), law.bounds.start)
    if after:
        queued, threads = after[-1].decision.queued, after[-1].decision.threads
    steps = []
    for period in range(len(after), len(after) + periods):
        now = surface(period) if callable(surface) else surface
        rate = now.throughput(queued, threads) * float(np.exp(noise * generator.standard_normal()))
        shares = now.shares()
        costs = tuple(generator.multinomial(looks, shares) / looks) if looks else shares
        decision = law.step(
            Reading(float(period + 1), 1.0, threads, rate, costs=costs, queued=queued, **reading)
        )
        steps.append(Step(queued, threads, rate, decision))
        queued = queued if decision.queued is None else decision.queued
        threads = decision.threads
    return steps


def levels(maximum: int, start: int = 1) -> Bounds:
    """From 1."""
    return Bounds(1, maximum, start)
