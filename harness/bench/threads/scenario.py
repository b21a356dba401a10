"""Scenarios of laws that choose threads: a throughput curve with noise, events and bounds; and the
library of them.

Events change what a period shows, from the period `at` on, for `length` periods (or to the end):

  scale   throughput of all levels times `factor`: the cost of tuples changes, the best level stays
  curve   another curve: a phase of the application with a best level of its own
  burst   one period's throughput times `factor`: something shorter than a period
  idle    no tuples
  cpu     other processes use the CPUs: throughput times `factor`, and the CPU limit refuses more
          threads

Laws that cannot search get what they need. `ds2` and `flink` get the highest rate as the
target, `aimd` the latency of the best level as its bound, and `utilisation` the share of its own
throughput that a thread keeps beside the others. No engine knows these.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from harness.bench import scenario as any_scenario
from harness.bench.scenario import (
    CROWDED_CPU,
    PERSISTENCE,
    QUIET_CPU,
    Configuration,
    Least,
    Observe,
    cut,
    least_level,
    noise_of,
)
from harness.bench.threads import measured
from harness.bench.threads.curves import (
    HELD_OUT,
    STARVED,
    Shape,
    compact,
    kind_of,
    library,
    new_shapes,
    offered,
    peak,
    plateau,
    quota,
    rising,
    sampled,
    scattered,
    sharing,
    smt,
    usl,
    wide_library,
)
from harness.bench.threads.states import Pauses, State, Switching, Throttling, WarmingUp
from harness.elasticity import Bounds, Decides, Law, Layout, Link, Reading, law_class, make_law

Curve = tuple[float, ...]

PERIOD_S = 1.0
PERIODS = 100
# throughput of one thread in another phase: a law could not see a phase with unchanged throughput
OTHER_PHASE_UNIT = 0.6
SPARE = 0.02  # share of the best level's latency that its bound leaves more
EVENT_AT = 50  # the period in which the load changes; twice in scenarios that go back


def source_and_work(cpus: int) -> Layout:
    """Return the graph behind a curve: a source, and one operator for all work."""
    links = [Link(0, 1, 1.0, None)]
    return Layout((), (), (0,), links, (1.0, 1.0), (0.0, 0.0), payload=0, cpus=cpus, inputs=1)


@dataclass(frozen=True)
class Event:
    """Event in a scenario. `length` in periods; None: to the end."""

    kind: str
    at: int
    length: int | None = None
    factor: float = 1.0
    curve: Curve = ()

    def covers(self, period: int) -> bool:
        """Return True if the event covers a period."""
        return self.at <= period and (self.length is None or period < self.at + self.length)


@dataclass(frozen=True)
class ThreadScenario(any_scenario.Scenario):
    """Scenario of a curve: its point at a level is the throughput of a period at that level."""

    bench: ClassVar[str] = "threads"
    decides: ClassVar[Decides] = Decides.THREADS

    name: str
    curve: Curve
    bounds: Bounds
    noise: float = 0.0
    drift: float = 0.0
    events: Sequence[Event] = ()
    periods: int = PERIODS
    seed: int = 0
    shape: str = ""  # name of the curve
    event: str = ""  # name of the event
    # True if noise has heavy tails (Student's t with 2 degrees of freedom); drift has none
    heavy: bool = False
    delay: int = 0  # periods until a level takes effect
    held_out: bool = False  # True if no constant of our laws was chosen on curves of its kind
    # threads beyond the best level idle; else they are busy contending (what `utilisation` sees)
    starved: bool = False
    state: State | None = None
    persistence: float = PERSISTENCE  # of drift

    def true(self, period: int, level: int, bursts: bool = True) -> float:
        """Return throughput without noise [tuples/s]; `bursts`: with bursts, which are too short
        for a law to follow."""
        curve, factor = self.curve, 1.0
        for event in self.events:
            if not event.covers(period) or (event.kind == "burst" and not bursts):
                continue
            if event.kind == "curve":
                curve = event.curve
            elif event.kind == "idle":
                return 0.0
            else:
                factor *= event.factor
        return factor * curve[min(level, len(curve)) - 1]

    @property
    def kind(self) -> str:
        """Kind of its event, or else of its curve; for a user's own curve, its name."""
        return self.event or (kind_of(self.shape) if self.shape else self.name)

    @property
    def layout(self) -> Layout:
        """A source, and one operator for all work."""
        return source_and_work(self.bounds.maximum)

    def crowded(self, period: int) -> bool:
        """Return True if other processes have the CPUs."""
        return any(event.kind == "cpu" and event.covers(period) for event in self.events)

    def segments(self) -> list[tuple[int, int]]:
        """Return the stretches between which the load changes for longer than a period."""
        lasting = [event for event in self.events if event.kind != "burst"]
        ends = {
            self.periods if event.length is None else event.at + event.length for event in lasting
        }
        return cut({event.at for event in lasting} | ends, self.periods)

    def throughput(self, period: int, configuration: Configuration) -> float:
        """Return throughput without noise and bursts [tuples/s]."""
        return self.true(period, configuration.threads, bursts=False)

    def best(self, period: int) -> Least:
        """Return the lowest level that brings the most."""
        return least_level(self.bounds, lambda level: self.true(period, level, bursts=False))

    def stakes(self) -> list[tuple[int, int, float]]:
        """Return all stretches, weighted by the tuples that could pass."""
        return [
            (begin, end, self.best(begin).throughput * (end - begin))
            for begin, end in self.segments()
        ]

    def contestant(self, name: str) -> tuple[Law, Configuration]:
        """Return a law and its first configuration.

        A law that goes by latency gets the highest one of the best levels as its bound, with
        `SPARE` of it more.
        """
        settings = {}
        of_law = law_class(name)
        if "latency_s" in of_law.NEEDS and any(each.name == "bound" for each in of_law.SETTINGS):
            bests = [self.best(begin) for begin, _ in self.scored()]
            settings["bound"] = (1.0 + SPARE) * max(
                each.threads / each.throughput if each.throughput > 0.0 else 0.0 for each in bests
            )
        layout = self.layout if "layout" in of_law.NEEDS else None
        law = make_law(name, self.bounds, settings=settings, layout=layout)
        return law, Configuration(law.bounds.start)

    def completed(self, law: Law, period: int, reading: Reading) -> Reading:
        """Return the reading with the fields that a law needs and no curve shows."""
        if "target" in law.NEEDS:
            done, busy = reading.throughput * PERIOD_S, reading.utilisation or 0.0
            return replace(
                reading,
                target=self.best(period).throughput,
                useful_s=(0.0, busy * reading.threads * PERIOD_S),
                tuples=(done, done),
            )
        if "utilisation" in law.NEEDS:
            return replace(reading, utilisation=self._own_share(period, reading.threads))
        return reading

    def observer(self) -> Observe:
        """Return a function from a period to its reading, with all that a curve can show."""
        noise, levels = noise_of(self), [self.bounds.start] * self.delay
        factor = self.state.begin(self.seed) if self.state else lambda period, level: 1.0

        def observe(period: int, configuration: Configuration) -> Reading:
            level, crowded = configuration.threads, self.crowded(period)
            levels.append(level)
            effective = levels[-1 - self.delay]
            true = self.true(period, effective) * factor(period, effective)
            busy = self._own_share(period, level) if self.starved else 1.0
            return Reading(
                time_s=(period + 1) * PERIOD_S,
                elapsed_s=PERIOD_S,
                threads=level,
                throughput=true * next(noise),
                system_cpu=CROWDED_CPU if crowded else QUIET_CPU,
                others_cpu=CROWDED_CPU - 0.1 if crowded else 0.0,
                utilisation=busy if true > 0 else 0.0,
                congestion=1.0 if true > 0 else 0.0,
                # Little's law: each thread holds one tuple
                latency_s=level / true if true > 0 else None,
            )

        return observe

    def _own_share(self, period: int, level: int) -> float:
        """Return the throughput of each thread over that of one alone, at most 1."""
        alone = self.true(period, 1)
        return min(1.0, self.true(period, level) / (level * alone)) if alone > 0.0 else 0.0


BASES = {
    "peak": peak(18, 0.5),
    "plateau": plateau(22),
    "usl": usl(0.03, 0.0012),
    "rising": rising(0.8),
}
"""Curves for noise with heavy tails and for delayed effects."""

MOVES = {
    "far": [(100, 40)],
    "back": [(100, 30), (200, 8)],
    "slowly": [(50, 10), (80, 13), (110, 16), (140, 20)],
}
"""Optima that move from level 8: period, and level. Throughput up to the lower one stays."""

NOISES = ((0.0, 0.0), (0.02, 0.0), (0.05, 0.0), (0.10, 0.0), (0.0, 0.02), (0.0, 0.05), (0.0, 0.10))


def scenarios() -> Iterator[ThreadScenario]:
    """Yield the library: every curve with every noise; bounds and events with a selection of
    curves."""
    for number, scenario in enumerate(_all(), start=1):
        yield replace(scenario, seed=number)


def some_of(every: int) -> list[ThreadScenario]:
    """Return one in `every` scenarios of the library."""
    return list(scenarios())[::every]


def _all() -> Iterator[ThreadScenario]:
    curves = library(64)
    wide = wide_library(256)
    for noise, drift in NOISES:
        for name, curve in curves.items():
            yield _plain(name, curve, Bounds(1, 64, 1), noise, drift)
        for name, curve in wide.items():
            yield _plain(name, curve, Bounds(1, 256, 1), noise, drift)
    yield from _bounds(curves)
    yield from _events()
    yield from _sharing()
    yield from _new()
    yield from _worlds()


def _plain(
    name: str, curve: Curve, bounds: Bounds, noise: float, drift: float = 0.0
) -> ThreadScenario:
    return ThreadScenario(
        _title(name, noise, drift, bounds),
        curve,
        bounds,
        noise,
        drift,
        shape=name,
        held_out=kind_of(name) in HELD_OUT,
        starved=kind_of(name) in STARVED,
    )


def _title(name: str, noise: float, drift: float, bounds: Bounds, event: str = "") -> str:
    parts = [name, f"drift {drift:.0%}" if drift else f"noise {noise:.0%}"]
    if event:
        parts.append(event)
    return ", ".join([*parts, f"levels {bounds.minimum}-{bounds.maximum} from {bounds.start}"])


def _bounds(curves: dict[str, Curve]) -> Iterator[ThreadScenario]:
    chosen = [
        "rising",
        "flat",
        "falling",
        "peak-6",
        "peak-13",
        "peak-24",
        "peak-37",
        "plateau-5",
        "plateau-20",
        "usl-late",
    ]
    bounds = [
        Bounds(1, 64, 64),
        Bounds(1, 64, 16),
        Bounds(5, 64, 5),
        Bounds(3, 48, 24),
        Bounds(1, 7, 1),
        Bounds(2, 3, 2),
    ]
    for noise in (0.0, 0.02, 0.05):
        for name in chosen:
            for bound in bounds:
                yield _plain(name, curves[name], bound, noise)
    for noise in (0.0, 0.02, 0.05):
        for name, shape in (
            ("rising", rising()),
            ("peak-700", peak(700, 1.0)),
            ("plateau-90", plateau(90)),
        ):
            yield _plain(name, sampled(shape, 1024), Bounds(1, 1024, 1), noise)


def _events() -> Iterator[ThreadScenario]:
    levels, bounds = 64, Bounds(1, 64, 1)
    pairs = {
        "peak-12 to peak-40": (peak(12, 0.5), peak(40, 0.5)),
        "peak-40 to plateau-6": (peak(40, 0.5), plateau(6)),
        "usl to flat": (usl(0.02, 0.0005), lambda n: 1.0),
        "flat to rising": (lambda n: 1.0, rising()),
        "plateau-20 to smt": (plateau(20), smt(32, 2, 0.3)),
    }
    for noise, drift in ((0.0, 0.0), (0.02, 0.0), (0.05, 0.0), (0.0, 0.05), (0.10, 0.0)):
        for name, (before, after) in pairs.items():
            first = sampled(before, levels)
            second = tuple(OTHER_PHASE_UNIT * rate for rate in sampled(after, levels))
            events = {
                "load up": [Event("scale", EVENT_AT, factor=1.6)],
                "load down": [Event("scale", EVENT_AT, factor=0.5)],
                "phase": [Event("curve", EVENT_AT, curve=second)],
                "phase and back": [Event("curve", EVENT_AT, EVENT_AT, curve=second)],
                "burst": [
                    Event("burst", EVENT_AT, 1, factor=0.4),
                    Event("burst", EVENT_AT + 20, 1, factor=2.0),
                ],
                "idle": [Event("idle", EVENT_AT, 20)],
                "crowded": [Event("cpu", EVENT_AT, 20, factor=0.5)],
                "crowded start": [Event("cpu", 0, 20, factor=0.5)],
            }
            for event, list_ in events.items():
                periods = 3 * EVENT_AT if event == "phase and back" else 2 * EVENT_AT
                title = _title(name, noise, drift, bounds, event)
                yield ThreadScenario(
                    title,
                    first,
                    bounds,
                    noise,
                    drift,
                    tuple(list_),
                    periods,
                    shape=name,
                    event=event,
                    starved=kind_of(name) in STARVED,
                )


def _sharing() -> Iterator[ThreadScenario]:
    """Yield curves of sharing. They come after those above, because a scenario's seed is its
    place.
    """
    for noise, drift in NOISES:
        for share in (0.5, 0.6):
            for levels in (64, 256):
                curve = sampled(sharing(share), levels)
                yield _plain(f"sharing-{share}", curve, Bounds(1, levels, 1), noise, drift)


def _new() -> Iterator[ThreadScenario]:
    """Yield shapes that our law was not made for, noise with heavy tails, and effects that are two
    periods late.

    They come last, because a scenario's seed is its place.
    """
    bounds = Bounds(1, 64, 1)
    for noise, drift in NOISES:
        for name, curve in new_shapes(64).items():
            yield _plain(name, curve, bounds, noise, drift)
        for name, shape in BASES.items():
            curve = sampled(shape, 64)
            if noise:
                yield replace(_plain(f"heavy-{name}", curve, bounds, noise), heavy=True)
            yield replace(_plain(f"delayed-{name}", curve, bounds, noise, drift), delay=2)


def _worlds() -> Iterator[ThreadScenario]:
    """Yield states, optima that move, loads that limit, and further machines and noise."""
    bounds, levels = Bounds(1, 64, 1), 64
    shapes: dict[str, Shape] = {
        "compact-6": compact(16, 6),
        "compact-3": compact(8, 3),
        "compact-20": compact(32, 20),
        "scattered-4": scattered(4, 6, 0.3, 0.01),
        "scattered-2": scattered(2, 8, 0.5, 0.03),
        "scattered-8": scattered(8, 5, 0.2, 0.005),
        "quota-2.5": quota(2.5, 0.2),
        "quota-6": quota(6.0, 0.05),
        "quota-12": quota(12.0, 0.4),
        "offered-5": offered(5.0, rising()),
        "offered-9": offered(9.0, usl(0.02, 0.0005)),
        "offered-14": offered(14.0, peak(20, 0.5)),
    }
    states: dict[str, State] = {
        "warm-fast": WarmingUp(0.8, 0.7),
        "warm-slow": WarmingUp(0.5, 0.9),
        "switch-cold": Switching(-0.3, 0.5),
        "switch-surge": Switching(0.25, 0.5),
        "switch-long": Switching(-0.15, 0.8),
        "pauses-short": Pauses(0.05, 0.3),
        "pauses-slight": Pauses(0.15, 0.8),
        "throttled-slow": Throttling(16, 0.4, 0.95),
        "throttled-fast": Throttling(10, 0.6, 0.8),
    }
    for noise in (0.0, 0.02, 0.05, 0.10):
        for name, shape in shapes.items():
            yield _plain(name, sampled(shape, levels), bounds, noise)
        for name, curve in measured.curves().items():
            yield _plain(f"measured-{name}", curve, Bounds(1, len(curve), 1), noise)
        for name, shape in BASES.items():
            curve = sampled(shape, levels)
            for start in (64, 40):
                yield _plain(f"high-{name}", curve, Bounds(1, 64, start), noise)
            for state, of_levels in states.items():
                cold = _plain(f"{state}-{name}", curve, bounds, noise)
                yield replace(cold, state=of_levels)
            if noise:
                correlated = _plain(f"correlated-{name}", curve, bounds, 0.0, noise)
                yield replace(correlated, persistence=0.7)
        for name, moves in MOVES.items():
            events = [
                Event("curve", at, curve=sampled(peak(best, 0.5), levels)) for at, best in moves
            ]
            moving = _plain(f"moving-{name}", sampled(peak(8, 0.5), levels), bounds, noise)
            yield replace(moving, events=events, periods=moves[-1][0] + 2 * EVENT_AT)
