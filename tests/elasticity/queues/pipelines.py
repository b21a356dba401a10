"""A pipeline as laws that place queues see it, and what it brings: a surface over threads and
queues, for tests.

The source has a thread of its own and executes by calls everything up to the first queue. Each
queue begins a region, which at most one scheduler thread executes at a time and which pays for its
queue; more threads make queues dearer. So throughput is bounded by the slowest region, by the
scheduler threads for all regions together, and by the CPUs for all the work.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from harness import elasticity
from harness.elasticity import Bounds, Decides, Decision, Law, Layout, Link, Reading
from harness.elasticity.cpu_limit import CpuLimit
from harness.graph import PortId

PERIOD_S = 10.0


def make_law(
    name: str,
    bounds: Bounds,
    layout: Layout,
    cpu: CpuLimit | None = None,
    settings: Mapping[str, object] | None = None,
) -> Law:
    """A law that places queues."""
    return elasticity.make_law(name, bounds, cpu, settings, layout, Decides.QUEUES)


def pipeline(operators: int, cpus: int = 8, flop: float = 100.0) -> Layout:
    """A source and so many operators behind it, each with a place: place 0 is that of operator
    1.
    """
    return Layout(
        ports=[PortId(f"work{i}", 0) for i in range(operators)],
        at=list(range(1, operators + 1)),
        sources=[0],
        links=[Link(i, i + 1, 1.0, i) for i in range(operators)],
        tuples=[1.0] * (operators + 1),
        flop=[0.0] + [flop] * operators,
        payload=128,
        cpus=cpus,
    )


@dataclass(frozen=True)
class Pipeline:
    """Costs of its operators without the source, of a queue, and what a thread adds to that share:
    times a tuple.
    """

    costs: Sequence[float]
    queue: float = 0.5
    contention: float = 0.02
    cpus: int = 8

    @property
    def shares(self) -> tuple[float, ...]:
        """The work of each operator, the source's first, as a profiler would see it."""
        total = sum(self.costs) or 1.0
        return (0.0, *(cost / total for cost in self.costs))

    def throughput(self, threads: int, queued: frozenset[int]) -> float:
        """Tuples/s submitted over all operators."""
        price = self.queue * (1.0 + self.contention * threads)
        regions = [0.0]
        for place, cost in enumerate(self.costs):
            if place in queued:
                regions[-1] += price / 2
                regions.append(price / 2)
            regions[-1] += cost
        called, rest = regions[0], sum(regions[1:])
        bounds = [called + 0.01, *regions[1:], rest / threads, (called + rest) / self.cpus]
        return 1000.0 * len(self.costs) / max(bounds)


Surface = Callable[[int, frozenset[int]], float]


def drive(
    law: Law,
    surface: Surface,
    periods: int,
    costs: Sequence[float] = (),
    after: Sequence[Decision] = (),
    system_cpu: float = 0.0,
) -> list[Decision]:
    """Return what a law decides when each period passes with its threads and queues; `after`: what
    it has decided before.
    """
    threads, queued = (
        (after[-1].threads, after[-1].queued) if after else (law.bounds.start, frozenset())
    )
    decisions = []
    for period in range(len(after) + 1, len(after) + 1 + periods):
        reading = Reading(
            PERIOD_S * period,
            PERIOD_S,
            threads,
            surface(threads, queued),
            system_cpu=system_cpu,
            others_cpu=0.0,
            costs=costs,
            queued=queued,
        )
        decisions.append(law.step(reading))
        threads, queued = decisions[-1].threads, decisions[-1].queued
    return decisions


def feed(
    law: Law, throughputs: Sequence[float], costs: Sequence[float] = (), first: int = 1
) -> list[Decision]:
    """Return what a law decides on given throughputs, its queues being as it wants them."""
    given = iter(throughputs)
    threads, queued = law.bounds.start, frozenset()
    decisions = []
    for period in range(first, first + len(throughputs)):
        decisions.append(
            law.step(
                Reading(
                    PERIOD_S * period, PERIOD_S, threads, next(given), costs=costs, queued=queued
                )
            )
        )
        threads, queued = decisions[-1].threads, decisions[-1].queued
    return decisions


def counts(decisions: Sequence[Decision]) -> list[int]:
    """Return how many queues after each period."""
    return [len(decision.queued) for decision in decisions]


def settled_after(decisions: Sequence[Decision]) -> int:
    """Periods until nothing changes any more."""
    last = (decisions[-1].threads, decisions[-1].queued)
    return (
        next(
            i
            for i in range(len(decisions), 0, -1)
            if (decisions[i - 1].threads, decisions[i - 1].queued) != last
        )
        + 1
    )
