"""Scenarios of replicas, a graph with costs, a load, bounds and noise; and the library of them.

The library draws graphs from seeds. The constants of our own law may be chosen on the kinds of
graphs in `CHOSEN_ON`; the others are held out and only score. Loads: `full` (sources send all they
can), `paced` (a target), `grows` and `falls` (paced; the target changes by a factor half-way),
`dearer` and `cheaper` (sources send all they can; the cost of the heaviest operator changes).
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from harness.bench import scenario as any_scenario
from harness.bench.replicas.graphs import (
    ReplicaGraphShape,
    chain,
    layout,
    replicated,
    reverse_tree,
    tree,
)
from harness.bench.replicas.oracle import best_of, least_for
from harness.bench.replicas.world import ReplicaWorld
from harness.bench.scenario import Configuration, Least, Observe, cut, noise_of
from harness.elasticity import Bounds, Decides, Layout, Reading

CHOSEN_ON = ("chain", "tree")
HELD_OUT = ("reverse tree", "replicated", "mixed")
LOADS = ("full", "paced", "grows", "falls", "dearer", "cheaper")
PERIOD_S = 10.0  # C-Stream §5.2
PERIODS = 80
CHANGE_AT = 40
SCENARIOS_PER_KIND = 60  # scenarios of a kind
SPARE_RATE = 1.05  # rate that a law may be ready for, as a multiple of the rate of the sources


@dataclass(frozen=True)
class ReplicaScenario(any_scenario.Scenario):
    """Scenario of a graph with a load.

    `phases`: the period in which each world begins, and the world.
    """

    bench: ClassVar[str] = "replicas"
    decides: ClassVar[Decides] = Decides.REPLICAS

    name: str
    kind: str
    event: str  # the load
    phases: tuple[tuple[int, ReplicaWorld], ...]
    bounds: Bounds
    noise: float = 0.0
    drift: float = 0.0
    periods: int = PERIODS
    seed: int = 0

    @property
    def layout(self) -> Layout:
        """The graph, which is the same in all phases."""
        return self.phases[0][1].layout

    def world(self, period: int) -> ReplicaWorld:
        """Return the world of a period."""
        return [world for begin, world in self.phases if begin <= period][-1]

    def segments(self) -> list[tuple[int, int]]:
        """Return the stretches, one for each world."""
        return cut({begin for begin, _ in self.phases}, self.periods)

    @property
    def held_out(self) -> bool:
        """True if its kind only scores."""
        return self.kind in HELD_OUT

    def throughput(self, period: int, configuration: Configuration) -> float:
        """Return tuples/s of each source, without noise."""
        return self.world(period).rate(
            configuration.threads, np.array(configuration.replicas, dtype=float)
        )

    def best(self, period: int) -> Least:
        """Return the highest rate, and the least that brings 99 % of it."""
        return best_of(self.world(period), self.bounds.maximum)

    def needed(self, period: int, throughput: float) -> Least:
        """Return the least with which each source could send 5 % more than it does."""
        return least_for(self.world(period), self.bounds.maximum, SPARE_RATE * throughput)

    def observer(self) -> Observe:
        """Return a function from a period to its reading, with all that an engine would count.

        The sources' rate varies with the noise. Each operator's useful time varies on its own by
        half as much.
        """
        noise, generator = noise_of(self), np.random.default_rng(self.seed)

        def observe(period: int, configuration: Configuration) -> Reading:
            world, layout, level = self.world(period), self.layout, configuration.threads
            state = world.state(level, np.array(configuration.replicas, dtype=float))
            able = state.capacity * next(noise)
            rate = able if world.target is None else min(world.target, able)
            apart = np.maximum(
                0.0, 1.0 + 0.5 * self.noise * generator.standard_normal(layout.operators)
            )
            useful = state.useful * (rate / state.rate) * apart
            return Reading(
                time_s=(period + 1) * PERIOD_S,
                elapsed_s=PERIOD_S,
                threads=level,
                throughput=rate * sum(link.tuples for link in layout.links),
                utilisation=state.utilisation,
                system_cpu=min(1.0, state.utilisation * level / world.cores),
                others_cpu=0.0,
                useful_s=tuple((useful * PERIOD_S).tolist()),
                tuples=tuple((rate * PERIOD_S * np.array(layout.tuples)).tolist()),
                full=tuple(state.full.tolist()),
                replicas=configuration.replicas,
                target=None if world.target is None else world.target * len(layout.sources),
                latency_s=state.latency_s,
            )

        return observe


def scenarios(kinds: tuple[str, ...] = CHOSEN_ON + HELD_OUT) -> Iterator[ReplicaScenario]:
    """Yield the library, kind by kind."""
    for kind in kinds:
        for number in range(SCENARIOS_PER_KIND):
            yield drawn(kind, number)


def some_of(every: int) -> list[ReplicaScenario]:
    """Return one in `every` scenarios of the library."""
    return list(scenarios())[::every]


def drawn(kind: str, number: int) -> ReplicaScenario:
    """Return the scenario of a kind with a number, which is the same each time."""
    dice = random.Random(f"{kind} {number}")
    maximum = dice.choice((4, 8, 12, 12, 24))
    shape = _shape(kind, dice)
    kinds = tuple(
        "stateful" if each == "busy" and dice.random() < 0.2 else each for each in shape.kinds
    )
    shape = replace(shape, kinds=kinds)
    world = ReplicaWorld(
        layout=layout(shape, _selectivity(shape, dice), maximum),
        costs=_costs(shape, dice),
        serial=tuple(
            dice.choice((0.0,) * 7 + (0.02, 0.1, 1.0)) if each == "busy" else 0.0 for each in kinds
        ),
        cores=dice.choice((maximum,) * 5 + (max(1, maximum // 2),)),
        contention=dice.choice((0.0, 0.002, 0.01)),
        ordering_s=dice.choice((0.1e-6, 0.3e-6)),
        scheduling=dice.choice((0.005, 0.01, 0.03)),
        idling=dice.choice((0.0, 0.004, 0.01)),
    )
    load = LOADS[number % len(LOADS)]
    return ReplicaScenario(
        name=f"{kind} {number}, {load}",
        kind=kind,
        event=load,
        phases=_phases(world, load, maximum, dice),
        bounds=Bounds(1, maximum, 1),
        noise=dice.choice((0.0, 0.02, 0.05)),
        seed=number,
    )


def _shape(kind: str, dice: random.Random) -> ReplicaGraphShape:
    if kind == "chain":
        return chain(dice.randint(1, 20))
    if kind == "tree":
        return tree(dice.randint(2, 5), dice.randint(2, 3) if dice.random() < 0.5 else 2)
    if kind == "reverse tree":
        return reverse_tree(dice.randint(2, 5), 2)
    if kind == "replicated":
        return replicated(dice.randint(2, 12))
    return _mixed(dice)


def _mixed(dice: random.Random) -> ReplicaGraphShape:
    """Return a chain with diamonds: in places two or three operators side by side between a split
    and a merge."""
    kinds, streams = ["source"], []

    def add(kind: str, *before: int) -> int:
        kinds.append(kind)
        streams.extend((each, len(kinds) - 1) for each in before)
        return len(kinds) - 1

    tip = 0
    for _ in range(dice.randint(2, 6)):
        if dice.random() < 0.5:
            tip = add("busy", tip)
        else:
            split = add("split", tip)
            lanes = [add("busy", split) for _ in range(dice.randint(2, 3))]
            tip = add("merge", *lanes)
    add("sink", tip)
    return ReplicaGraphShape("mixed", tuple(kinds), tuple(sorted(streams)))


def _selectivity(shape: ReplicaGraphShape, dice: random.Random) -> list[float]:
    return [
        dice.choice((1.0, 1.0, 0.5, 0.9)) if kind in ("busy", "stateful") else 1.0
        for kind in shape.kinds
    ]


def _costs(shape: ReplicaGraphShape, dice: random.Random) -> tuple[float, ...]:
    """Return costs [s].

    Busy operators: all equal, one or two heavy ones, or spread over two decades; the others are
    cheap.
    """
    how = dice.choice(("same", "heavy", "spread"))
    heavy = set(dice.sample(shape.busy, min(len(shape.busy), dice.choice((1, 2)))))
    costs = []
    for operator, kind in enumerate(shape.kinds):
        if kind not in ("busy", "stateful"):
            costs.append(dice.choice((0.5, 1.0, 3.0)) * 1e-6)
        elif how == "same":
            costs.append(50e-6)
        elif how == "heavy":
            costs.append(dice.uniform(50e-6, 200e-6) if operator in heavy else 2e-6)
        else:
            costs.append(2e-6 * 100.0 ** dice.random())
    return tuple(costs)


def _phases(
    world: ReplicaWorld, load: str, maximum: int, dice: random.Random
) -> tuple[tuple[int, ReplicaWorld], ...]:
    if load == "full":
        return ((0, world),)
    if load in ("dearer", "cheaper"):
        work = np.array(world.layout.tuples) * np.array(world.costs)
        heaviest, factor = int(work.argmax()), dice.choice((2.0, 4.0))
        costs = list(world.costs)
        costs[heaviest] *= factor if load == "dearer" else 1.0 / factor
        return ((0, world), (CHANGE_AT, replace(world, costs=tuple(costs))))
    alone = 1.0 / float(world.work(1, np.ones(world.layout.operators)).sum())  # one thread's rate
    paced = replace(world, target=alone * dice.uniform(0.3, 0.7 * maximum))
    if load == "paced":
        return ((0, paced),)
    factor = dice.choice((2.0, 4.0))
    other = replace(world, target=paced.target * (factor if load == "grows" else 1.0 / factor))
    return ((0, paced), (CHANGE_AT, other))
