"""Scenarios with a second objective: keep up with a paced source, within a bound on latency, with
the fewest threads.

A curve gives the tuples/s that the threads of a level can do. The source sends a *target* rate.
Tuples beyond the curve wait; once `MAX_BACKLOG_S` seconds' worth wait, the source is held back.
Each of n threads takes s = n / curve(n) a tuple, or as long as one alone if threads beyond the best
level idle. With utilisation u = target s / n a tuple takes, on average,

  s + s u^(sqrt(2 (n + 1)) - 1) / (n (1 - u))
      (Sakasegawa, Ann. Inst. Stat. Math. 29, 1977: M/M/n)

and, while tuples wait, the time of the tuples before it. The score uses *useful* throughput: tuples
that are late by a factor count less by that factor. So the best level is the lowest one that keeps
the target within the bound.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

from harness.bench import scenario as any_scenario
from harness.bench.scenario import (
    QUIET_CPU,
    Configuration,
    Least,
    Observe,
    cut,
    least_level,
    noise_of,
)
from harness.bench.threads.curves import HELD_OUT, kind_of, library, new_shapes
from harness.bench.threads.scenario import PERIOD_S, Curve, source_and_work
from harness.elasticity import Bounds, Decides, Law, Layout, Reading, law_class, make_law

LEVELS, PERIODS, CHANGE_AT = 64, 120, 60
MAX_BACKLOG_S = 5.0  # seconds' worth of the target that may wait; a guess
SHARES = (0.3, 0.6, 0.85)  # targets, as shares of the highest throughput of the curve
# bounds on latency, as multiples of the least latency of any level at the highest target
BOUNDS = (1.2, 2.0, 5.0)
NOISES = (0.0, 0.02, 0.05)
LOADS = {"steady": (1.0,), "grows": (0.4, 1.0), "falls": (1.0, 0.4), "surges": (0.5, 1.0, 0.5)}
"""Shares of the target, one a phase."""

CURVES = (
    "rising",
    "rising-0.9",
    "rising-0.7",
    "plateau-20",
    "plateau-40",
    "usl-late",
    "usl-contended",
    "usl-wide",
    "smt-2",
)
CURVES += ("smt-4", "peak-24", "peak-48", "shares-24", "humps-near")
HELD_OUT_CURVES = (
    "staircase-1",
    "staircase-2",
    "staircase-3",
    "teeth-4",
    "teeth-8",
    "teeth-16",
    "slow-0.25",
    "late-3",
)


@dataclass(frozen=True)
class Paced(any_scenario.Scenario):
    """Scenario of a curve beside a paced source.

    `targets` [tuples/s]: one for each phase; phases are equally long. `bound_s`: bound on mean
    latency; inf: none.
    """

    bench: ClassVar[str] = "paced"
    decides: ClassVar[Decides] = Decides.THREADS

    name: str
    kind: str
    curve: Curve
    targets: tuple[float, ...]
    bound_s: float
    bounds: Bounds
    noise: float = 0.0
    drift: float = 0.0
    periods: int = PERIODS
    seed: int = 0
    event: str = ""
    held_out: bool = False

    @property
    def layout(self) -> Layout:
        """A source, and one operator for all work."""
        return source_and_work(self.bounds.maximum)

    def segments(self) -> list[tuple[int, int]]:
        """Return the stretches, one for each target."""
        count = len(self.targets)
        # rounded up, as in `target`
        return cut({-(-phase * self.periods // count) for phase in range(count)}, self.periods)

    def target(self, period: int) -> float:
        """Return the target of a period [tuples/s]."""
        return self.targets[min(len(self.targets) - 1, period * len(self.targets) // self.periods)]

    def needs_s(self, level: int) -> float:
        """Return the time of a thread for a tuple [s].

        It grows if threads hinder each other, but not if they idle.
        """
        alone = 1.0 / self.curve[0]
        return max(alone, min(level, self._knee) / self.curve[level - 1])

    @property
    def _knee(self) -> int:
        """Lowest level with the highest throughput; threads beyond it that bring nothing idle."""
        return 1 + self.curve.index(max(self.curve))

    def latency_s(self, level: int, target: float, able: float) -> float:
        """Return the mean time of a tuple in the system without a backlog [s]; infinite if threads
        cannot keep up."""
        if able <= target:
            return math.inf
        need, used = self.needs_s(level), target / able
        return need + need * used ** (math.sqrt(2.0 * (level + 1)) - 1.0) / (level * (1.0 - used))

    def throughput(self, period: int, configuration: Configuration) -> float:
        """Return useful tuples/s, in the long run."""
        target, able = self.target(period), self.curve[configuration.threads - 1]
        latency = self.latency_s(configuration.threads, target, able)
        if latency == math.inf:  # the latency of the longest backlog
            latency = MAX_BACKLOG_S * target / able
        return min(target, able) * min(1.0, self.bound_s / latency)

    def best(self, period: int) -> Least:
        """Return the fewest threads that bring the most useful tuples."""
        return least_level(self.bounds, lambda level: self.throughput(period, Configuration(level)))

    def contestant(self, name: str) -> tuple[Law, Configuration]:
        """Return a law and its first configuration.

        A law with the setting `bound` gets the bound on latency, if there is one.
        """
        has_bound = self.bound_s < math.inf and any(
            setting.name == "bound" for setting in law_class(name).SETTINGS
        )
        law = make_law(
            name,
            self.bounds,
            settings={"bound": self.bound_s} if has_bound else None,
            layout=self.layout,
        )
        return law, Configuration(law.bounds.start)

    def observer(self) -> Observe:
        """Return a function from a period to its reading, with all that an engine would count.

        Noise is in the throughput that the threads can do.
        """
        noise, waiting = noise_of(self), 0.0

        def observe(period: int, configuration: Configuration) -> Reading:
            nonlocal waiting
            level, target = configuration.threads, self.target(period)
            able = self.curve[level - 1] * next(noise)
            rate = min(able, target + waiting / PERIOD_S)
            before = waiting
            waiting = min(max(0.0, waiting + (target - rate) * PERIOD_S), MAX_BACKLOG_S * target)
            steady = self.latency_s(level, min(target, 0.999 * able), able) if able > 0.0 else 0.0
            busy = min(1.0, rate * self.needs_s(level) / level)
            return Reading(
                time_s=(period + 1) * PERIOD_S,
                elapsed_s=PERIOD_S,
                threads=level,
                throughput=rate,
                system_cpu=QUIET_CPU,
                others_cpu=0.0,
                utilisation=busy,
                congestion=min(1.0, waiting / (MAX_BACKLOG_S * target)),
                useful_s=(0.0, busy * level * PERIOD_S),
                tuples=(rate * PERIOD_S, rate * PERIOD_S),
                full=(1.0 if waiting >= MAX_BACKLOG_S * target else 0.0,),
                target=target,
                done=rate,
                latency_s=steady + 0.5 * (before + waiting) / able if able > 0.0 else None,
            )

        return observe


def some_of(every: int) -> list[Paced]:
    """Return one in `every` scenarios of the library."""
    return list(scenarios())[::every]


def scenarios() -> Iterator[Paced]:
    """Yield every curve with every load and target."""
    shapes = library(LEVELS) | new_shapes(LEVELS)
    seed = 0
    for name in CURVES + HELD_OUT_CURVES:
        for load, shares in LOADS.items():
            for share in SHARES:
                seed += 1
                top = share * max(shapes[name])
                bound, noise = BOUNDS[seed % len(BOUNDS)], NOISES[seed // len(BOUNDS) % len(NOISES)]
                paced = Paced(
                    name=f"{name}, {load}, {share:.0%} of the most, bound {bound:g}, noise "
                    f"{noise:.0%}",
                    kind=kind_of(name),
                    curve=shapes[name],
                    bounds=Bounds(1, LEVELS, 1),
                    targets=tuple(top * part for part in shares),
                    bound_s=math.inf,
                    noise=noise,
                    seed=seed,
                    event=load,
                    held_out=kind_of(name) in HELD_OUT,
                )
                least = min(
                    paced.latency_s(level, top, able)
                    for level, able in enumerate(shapes[name], start=1)
                )
                yield replace(paced, bound_s=bound * least)
