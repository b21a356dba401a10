"""A small surface for tests of laws: how fast a graph is with queues and threads, by another
formula than any law assumes.

Threads execute regions in turn: work conserving, one thread at a time in each. An exact answer
would be a schedule; list scheduling of the regions, longest first (Graham 1969), is near enough.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from harness.elasticity import Bounds, Decision, Law, Layout, Reading, layout_of
from harness.elasticity.queues.cuts import DominatorTree
from harness.graph import Graph
from harness.models import Dynamic


@dataclass
class Part:
    """Work that one thread at a time executes: a region, or an operator that several regions call,
    with all that is called behind it.
    """

    contenders: int = 1
    work: float = 0.0
    hops: float = 0.0  # half of a push, half of a pop


def parts_of(tree: DominatorTree, work: Sequence[float], queued: frozenset[int]) -> list[Part]:
    """Return the parts of a graph under a placement of queues."""
    parts: list[Part] = []
    part_at: dict[int, Part] = {}  # by place
    part_of: dict[int, Part] = {}  # of an operator
    begins: dict[int, Part] = {}

    def new(contenders: int = 1) -> Part:
        parts.append(Part(contenders))
        return parts[-1]

    for index in tree.order:
        callers = []
        for link in tree.incoming[index]:
            if link.place in queued:
                part = part_at.setdefault(link.place, None) or new()
                part_at[link.place] = part
            else:
                part = part_of[link.source]
            if all(part is not other for other in callers):
                callers.append(part)
        if len(callers) != 1:
            begins[index] = new(max(1, len(callers)))
        part_of[index] = begins[index] if len(callers) != 1 else callers[0]
    own, hops = list(work), [0.0] * len(work)
    for index in reversed(tree.order):
        got = sum(link.tuples for link in tree.incoming[index])
        if index in begins:
            begins[index].work += own[index]
            begins[index].hops += hops[index]
        for link in tree.incoming[index]:
            share = link.tuples / got if got > 0.0 else 1.0 / len(tree.incoming[index])
            if link.place in queued:
                hops[link.source] += 0.45 * link.tuples
                part_at[link.place].hops += 0.55 * link.tuples + share * hops[index]
                part_at[link.place].work += share * own[index]
            else:
                own[link.source] += share * own[index]
                hops[link.source] += share * hops[index]
    return parts


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
    tree: DominatorTree = field(init=False)

    def __post_init__(self) -> None:
        self.tree = DominatorTree(self.layout)

    def work(self) -> np.ndarray:
        """Return the work of each operator, in s for a tuple of each source."""
        flop = np.array(self.layout.flop if self.flop is None else self.flop)
        return np.array(self.layout.tuples) * (flop * self.flop_s + self.call_s)

    def shares(self) -> tuple[float, ...]:
        """Each operator's share of the work."""
        work = self.work()
        return tuple(work / work.sum())

    def throughput(self, queued: frozenset[int], threads: int) -> float:
        """Tuples/s submitted."""
        parts = parts_of(self.tree, self.work(), queued)
        own_threads = len(self.layout.sources)
        busy = min(own_threads + min(threads, len(queued)), self.cpus)
        hop = self.hop_s * (1.0 + 0.05 * (busy - 1))
        regions = [part.work + hop * part.hops for part in parts if part.contenders == 1]
        locks = [
            part.work + hop * part.hops + self.lock_s * (min(part.contenders, busy) - 1)
            for part in parts
            if part.contenders > 1
        ]
        threads_free = [0.0] * busy
        for time in sorted(regions, reverse=True):
            heapq.heappush(threads_free, heapq.heappop(threads_free) + time)
        balance = 0.5 * (max(threads_free) + sum(regions) / busy)
        span = max(balance, *regions, *locks)
        crowded = max(0, own_threads + min(threads, len(queued)) - self.cpus)
        submitted = sum(self.layout.tuples[each] for each in self.senders())
        return submitted / span / (1.0 + 0.02 * crowded)

    def senders(self) -> set[int]:
        """Operators that send tuples."""
        return {link.source for link in self.layout.links}


def surface_of(graph: Graph, cpus: int, **constants: object) -> Surface:
    """Return the surface of a graph whose ports may all have queues."""
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
    """Return what a law decides when the throughput of each period is that of its decision; `looks`
    of the profiler, 0: exact.
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
