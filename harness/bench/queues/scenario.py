"""Scenarios of placements, a graph in a world with noise, phases and bounds; and the library of
them.

A phase lasts from a period to the next phase. It changes the costs of the operators (`costs`,
another distribution; `scale`, a factor for all: load up or down), or the CPUs that other processes
have (`others`). The layout, which the law knows, stays.
"""

from __future__ import annotations

import functools
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from harness.bench import scenario as any_scenario
from harness.bench.queues.contestants import contestant
from harness.bench.queues.graphs import COSTS, HELD_OUT, OF_HELD_OUT, TopologyShape, graph_of
from harness.bench.queues.known import best_known
from harness.bench.queues.oracle import BestPlacement, best_of
from harness.bench.queues.surface import Surface
from harness.bench.queues.world import QueueWorld
from harness.bench.scenario import CROWDED_CPU, QUIET_CPU, Configuration, Observe, cut, noise_of
from harness.elasticity import Bounds, Decides, Law, Layout, Reading, layout_of
from harness.models import Dynamic

PERIOD_S = 5.0  # M19 §3.1.1: the adaptation period
# looks of the profiler at a thread, a second, as in IBM Streams (its PEImpl.cpp); M19 names no rate
PROFILER_LOOKS_PER_S = 100
# Changes of throughput in the period after all queues were switched, as shares: up while new ones
# fill, down while old ones drain (M19 Figure 6). A scenario has one of them, by its seed.
SWITCH_SURGES = (0.0, 0.1, 0.3)
PERIODS = 150  # of a phase: IBM Streams needs 100 to settle on 100 operators and 64 CPUs
NOISES = (0.0, 0.02, 0.05, 0.10)
# share of the CPUs that other processes have to use for the CPU limit to refuse more threads
CROWDED_CPU_SHARE = 0.35


@dataclass(frozen=True)
class Phase:
    """Changes from the period `at` on, against the scenario's own costs."""

    at: int
    costs: str = ""  # "": the scenario's
    scale: float = 1.0  # of all operators' FLOP
    others: float = 0.0  # share of the CPUs that other processes have


@dataclass(frozen=True)
class QueueScenario(any_scenario.Scenario):
    """Scenario of a graph in a world."""

    bench: ClassVar[str] = "queues"
    decides: ClassVar[Decides] = Decides.QUEUES

    name: str
    shape: TopologyShape
    costs: str = ""
    payload: int = 0
    world: QueueWorld = field(default_factory=QueueWorld)
    noise: float = 0.0
    phases: Sequence[Phase] = (Phase(0),)
    periods: int = PERIODS
    seed: int = 0
    graph_seed: int = 0
    event: str = ""
    drift: float = 0.0
    held_out: bool = False

    @property
    def bounds(self) -> Bounds:
        """Thread levels that a law may choose."""
        return Bounds(1, self.world.cpus, 1)

    @property
    def layout(self) -> Layout:
        """The graph as a law knows it."""
        known = _layout(self.shape, self.costs, self.payload, self.graph_seed, self.world)
        return (
            replace(known, flop=[0.0] * known.operators)
            if self.shape.topology == "application"
            else known
        )

    def phase(self, period: int) -> Phase:
        """Return the phase that a period belongs to."""
        return [each for each in self.phases if each.at <= period][-1]

    def surface(self, period: int) -> Surface:
        """Return the surface of a period."""
        return _surface(self._ground, self.phase(period))

    def best(self, period: int) -> BestPlacement:
        """Return the oracle's choice for that phase."""
        return _best(self._ground, self.phase(period))

    def crowded(self, period: int) -> bool:
        """Return True if other processes use so much CPU that the limit refuses more threads."""
        return self.phase(period).others > CROWDED_CPU_SHARE

    def segments(self) -> list[tuple[int, int]]:
        """Return the stretches, one for each phase."""
        return cut({phase.at for phase in self.phases}, self.periods)

    @property
    def kind(self) -> str:
        """The topology."""
        return self.shape.topology

    def throughput(self, period: int, configuration: Configuration) -> float:
        """Return tuples/s submitted over all operators, without noise."""
        surface = self.surface(period)
        return (
            surface.dedicated()
            if configuration.dedicated
            else surface.throughput(configuration.queued, configuration.threads)
        )

    def contestant(self, name: str) -> tuple[Law, Configuration]:
        """Return a law or baseline and its first configuration.

        Raise UserError for an unknown name.
        """
        return contestant(name, self.layout, self.bounds, self._hand_placed)

    def _hand_placed(self) -> Configuration:
        best = self.best(0)
        return Configuration(best.threads, best.queued)

    def facts(self) -> dict[str, Any]:
        """Return facts of graph and machine for a row of the bench."""
        return {
            "costs": self.costs,
            "payload": self.layout.payload,
            "software": self.world.software,
        }

    def observer(self) -> Observe:
        """Return a function from a period to its reading.

        A reading has the throughput and the costs that the profiler sees: a multinomial sample of
        the true shares.
        """
        noise, draw = noise_of(self), random.Random(self.seed)
        looks = np.random.default_rng(self.seed)
        before: list[frozenset[int]] = []

        def observe(period: int, configuration: Configuration) -> Reading:
            surface = self.surface(period)
            queued = configuration.queued
            level = configuration.threads
            last = before.pop() if before else queued
            before.append(queued)
            surge = SWITCH_SURGES[self.seed % len(SWITCH_SURGES)]
            switched = surge * (len(queued - last) - len(last - queued)) / max(1, surface.places)
            true = self.throughput(period, configuration)
            seen = true * next(noise) * (1.0 + switched * draw.uniform(0.5, 1.5))
            threads = len(surface.layout.sources) + (level if queued else 0)
            return Reading(
                time_s=(period + 1) * PERIOD_S,
                elapsed_s=PERIOD_S,
                threads=level,
                throughput=max(0.0, seen),
                system_cpu=CROWDED_CPU if self.crowded(period) else QUIET_CPU,
                others_cpu=self.phase(period).others,
                utilisation=surface.busy(queued, level),
                costs=_looked(surface.shares(), min(threads, self.world.cpus), looks),
                queued=queued,
            )

        return observe

    @property
    def _ground(self) -> Ground:
        return (self.shape, self.costs, self.payload, self.graph_seed, self.world)


def _looked(shares: np.ndarray, threads: int, looks: np.random.Generator) -> tuple[float, ...]:
    """Return the shares as the profiler sees them in a period."""
    seen = looks.multinomial(round(PROFILER_LOOKS_PER_S * PERIOD_S * threads), shares)
    return tuple((seen / seen.sum()).tolist())


Ground = tuple[TopologyShape, str, int, int, QueueWorld]


@functools.lru_cache(maxsize=8)
def _layout(shape: TopologyShape, costs: str, payload: int, seed: int, world: QueueWorld) -> Layout:
    model = Dynamic(threads=1, queued="none")
    return layout_of(graph_of(shape, costs, payload, seed), model, world.cpus, batch=world.batch)


@functools.lru_cache(maxsize=16)
def _surface(ground: Ground, phase: Phase) -> Surface:
    shape, costs, payload, seed, world = ground
    layout = _layout(shape, costs, payload, seed, world)
    flop = _layout(shape, phase.costs or costs, payload, seed, world).flop
    return Surface(layout, world, seed, [phase.scale * each for each in flop], phase.others)


@functools.lru_cache(maxsize=64)
def _best(ground: Ground, phase: Phase) -> BestPlacement:
    *_, seed, world = ground
    surface, bounds = _surface(ground, phase), Bounds(1, world.cpus, 1)
    return best_known((ground, replace(phase, at=0)), lambda: best_of(surface, bounds, seed))


# -- the library -----------------------------------------------------------------------------------

SHAPES: dict[str, tuple[TopologyShape, ...]] = {
    "pipeline": tuple(
        TopologyShape("pipeline", (("operators", count),))
        for count in (10, 30, 100, 100, 300, 1000)
    ),
    "data-parallel": tuple(
        TopologyShape("data-parallel", (("width", width),)) for width in (8, 30, 100, 300)
    ),
    "mix": tuple(
        TopologyShape("mix", (("width", wide), ("depth", deep)))
        for wide, deep in ((4, 5), (10, 10), (10, 50), (30, 10))
    ),
    "bushy": tuple(
        TopologyShape("bushy", (("width", wide), ("depth", deep)))
        for wide, deep in ((2, 4), (3, 4), (2, 6))
    ),
    "random": tuple(TopologyShape("random", (("operators", count),)) for count in (8, 20, 60, 150)),
}
WORLDS = (
    QueueWorld("local", "millrace", 2),
    QueueWorld("local", "millrace", 4),
    QueueWorld("xeon", "millrace", 8),
    QueueWorld("xeon", "millrace", 16, 2),
    QueueWorld("xeon", "millrace", 88),
)
PAYLOADS = (1, 128, 1024, 16384)
SCENARIOS_PER_SHAPE = 6  # scenarios a shape and world
FIRST_HELD_OUT = 5001  # seed of a graph
BY_STREAMS = 3  # one in so many scenarios is on the runtime of IBM Streams, whose queues cost more


def scenarios() -> Iterator[QueueScenario]:
    """Yield the library: for each shape and world some draws of size, costs and payload with each
    noise; some with phases."""
    seed = 0
    for base in _bases():
        for noise in NOISES if base.event == "" else (0.0, 0.02, 0.05):
            seed += 1
            yield replace(base, name=f"{base.name}, noise {noise:.0%}", noise=noise, seed=seed)
    yield from held_out()


def held_out() -> Iterator[QueueScenario]:
    """Yield graphs of held-out kinds, in all worlds, with noise up to 5 %; the load of a third
    changes and comes back."""
    for number in range(SCENARIOS_PER_SHAPE * len(WORLDS) * len(HELD_OUT)):
        seed = FIRST_HELD_OUT + number
        draw = random.Random(seed)
        kind = list(HELD_OUT)[number % len(HELD_OUT)]
        world = WORLDS[number // len(HELD_OUT) % len(WORLDS)]
        drawn = number // (len(HELD_OUT) * len(WORLDS))
        noise = NOISES[drawn % 3]
        event, phases = "", (Phase(0),)
        if drawn >= 4:  # each kind gets all changes in turn
            event, phases = _phases(draw, SCENARIOS_PER_SHAPE * (number + number // len(HELD_OUT)))
            phases = (*phases[:2], Phase(2 * PERIODS))
        scenario = QueueScenario(
            name="",
            shape=TopologyShape(kind, (("number", draw.choice(HELD_OUT[kind])),)),
            costs="hot" if kind == "hot" else draw.choice(list(OF_HELD_OUT)),
            payload=draw.choice(PAYLOADS),
            world=replace(
                world, software="streams-4.2" if number % BY_STREAMS == 0 else world.software
            ),
            noise=noise,
            phases=phases,
            periods=len(phases) * PERIODS,
            event=event,
            seed=seed,
            graph_seed=seed,
            held_out=True,
        )
        yield replace(scenario, name=f"{_title(scenario)}, noise {noise:.0%}")


def some_of(every: int) -> list[QueueScenario]:
    """Return one in `every` scenarios of the library, in its order.

    They are drawn at random, because every N-th one would be of the same world or noise.
    """
    library = [each for each in scenarios() if not each.held_out]
    chosen = random.Random(every).sample(library, -(-len(library) // every))
    return [*sorted(chosen, key=lambda each: each.seed), *list(held_out())[every - 1 :: every]]


def _bases() -> Iterator[QueueScenario]:
    number = 0
    for shapes in SHAPES.values():
        for world in WORLDS:
            for drawn in range(SCENARIOS_PER_SHAPE):
                number += 1
                draw = random.Random(number)
                software = "streams-4.2" if number % BY_STREAMS == 0 else world.software
                base = QueueScenario(
                    name="",
                    shape=draw.choice(shapes),
                    costs=draw.choice(list(COSTS)),
                    payload=draw.choice(PAYLOADS),
                    world=replace(world, software=software),
                    graph_seed=number,
                )
                yield replace(base, name=_title(base))
                if drawn == 0:
                    event, phases = _phases(draw, number)
                    changing = replace(
                        base, phases=phases, periods=len(phases) * PERIODS, event=event
                    )
                    yield replace(changing, name=_title(changing))


def _phases(draw: random.Random, number: int) -> tuple[str, tuple[Phase, ...]]:
    """Return the name and the phases of one of the kinds of change, in turn."""
    events = {
        "costs": (
            Phase(0),
            Phase(PERIODS, costs=draw.choice(list(COSTS)), scale=draw.choice((0.3, 3.0))),
        ),
        "load up": (Phase(0), Phase(PERIODS, scale=10.0)),
        "load down": (Phase(0), Phase(PERIODS, scale=0.1)),
        "CPUs taken": (Phase(0), Phase(PERIODS, others=0.5), Phase(2 * PERIODS)),
        "costs and back": (
            Phase(0),
            Phase(PERIODS, costs=draw.choice(list(COSTS)), scale=5.0),
            Phase(2 * PERIODS),
        ),
    }
    event = list(events)[number // SCENARIOS_PER_SHAPE % len(events)]
    return event, events[event]


def _title(scenario: QueueScenario) -> str:
    world = scenario.world
    where = f"{world.cpus} CPUs ({world.machine}, {world.software})"
    parts = [
        f"{scenario.shape.name} #{scenario.graph_seed}",
        scenario.costs,
        f"{scenario.payload} B",
        where,
    ]
    return ", ".join([*parts, scenario.event] if scenario.event else parts)
