"""Interface of a control law: it takes the reading of a period and returns a decision.

A law decides about a configuration: the number of threads, which input ports have queues, and how
many replicas each operator has. Every law decides about threads. `Law.decides` says which of the
others it decides about.

A law has no clock, no thread and no file. It knows time only from its readings. So an engine, a
curve (`harness.bench`) or a recorded trace can drive it, and the law does not know which.

Terms. *Level*: the number of threads that may run. *Period*: the time between two steps, which
passes at one level. *Request to climb*: the question to `CpuLimit` that a law asks before it
chooses a higher level (P17 §4.2.3).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar

from harness.elasticity.cpu_limit import Answers, CpuLimit
from harness.elasticity.layout import Layout
from harness.errors import UserError
from harness.graph.values import MAX_THREADS


class Decides(StrEnum):
    """Part of the configuration that a law decides about besides the number of threads."""

    THREADS = "threads"  # nothing else
    QUEUES = "queues"  # which input ports have queues (M19)
    REPLICAS = "replicas"  # how many replicas each operator has (C-Stream §4.2)


@dataclass(frozen=True, slots=True)
class Reading:
    """Measurements of one period. Raise UserError for a value that no clock or counter can show.

    Entries of `costs`, `useful_s`, `tuples` and `replicas` are in the order of the graph's
    operators, those of `full` in the order of `Graph.input_ports`. All are of this period alone,
    but `costs` may be those of a window of up to `PROFILE_PERIODS`. An empty value, or None, is
    unknown.
    """

    time_s: float  # at the period's end, since the run's start
    elapsed_s: float  # the period's true length
    # level at which it passed: threads that ran, or would have run if there had been work
    threads: int
    # tuples/s submitted on all output ports of all operators, by the true length (P17 §4.2.2)
    throughput: float
    # busy share of the CPUs that the process may use, 0 .. 1; None: not known
    system_cpu: float | None = None
    others_cpu: float | None = None  # the same, of other processes alone
    # share of their time that the threads executed operators, 0 .. 1 (C-Stream §4.1)
    utilisation: float | None = None
    congestion: float | None = None  # mean fill of the buffers in use, 0 .. 1 (ElasticLoadBalance)
    # each operator's share of the work, 0 .. 1, in the graph's order (M19 §3); empty: not known
    costs: Sequence[float] = ()
    # places (`Layout`) whose ports were to have their queues during the period
    queued: frozenset[int] = frozenset()
    arrived: float | None = None  # tuples at the sinks over those submitted; None: not known
    # time that threads spent executing each operator, all its replicas together [s] (DS2's useful
    # time)
    useful_s: Sequence[float] = ()
    tuples: Sequence[float] = ()  # that each operator took in; a source: that it sent
    # share of the period for which each input port's queue was full, 0 .. 1 (C-Stream §4.2.1)
    full: Sequence[float] = ()
    replicas: Sequence[int] = ()  # that each operator had
    # tuples/s that the sources were to send, all together; None: as many as they can
    target: float | None = None
    # tuples/s of the sources that were through: by what arrived at the sinks, if that tells
    done: float | None = None
    latency_s: float | None = None  # mean age of the tuples that reached the sinks [s]

    def __post_init__(self) -> None:
        if not (math.isfinite(self.throughput) and self.throughput >= 0.0):
            raise UserError(
                f"throughput must be a number of tuples/s from 0, not {self.throughput!r}"
            )
        if not (
            math.isfinite(self.time_s) and math.isfinite(self.elapsed_s) and self.elapsed_s > 0.0
        ):
            raise UserError(f"elapsed_s must be more than 0 seconds, not {self.elapsed_s!r}")
        if self.arrived is not None and not (math.isfinite(self.arrived) and self.arrived >= 0.0):
            raise UserError(f"arrived must be a ratio from 0, not {self.arrived!r}")
        for name in ("system_cpu", "others_cpu", "utilisation", "congestion"):
            share = getattr(self, name)
            if share is not None and not 0.0 <= share <= 1.0 + 1e-9:
                raise UserError(f"{name} must be from 0 to 1, not {share!r}")
        for name, unit in (("target", "tuples/s"), ("done", "tuples/s"), ("latency_s", "seconds")):
            number = getattr(self, name)
            if number is not None and not (math.isfinite(number) and number >= 0.0):
                raise UserError(f"{name} must be a number of {unit} from 0, not {number!r}")
        for name in ("useful_s", "tuples", "full"):
            for place, number in enumerate(getattr(self, name)):
                if not (math.isfinite(number) and number >= 0.0):
                    raise UserError(f"{name}[{place}] must be a number from 0, not {number!r}")
        for place, count in enumerate(self.replicas):
            if count < 1:
                raise UserError(f"replicas[{place}] must be 1 or more, not {count!r}")


@dataclass(frozen=True, slots=True)
class Decision:
    """Configuration that a law chooses after a period."""

    threads: int  # the level of the next period
    reason: str  # for people: "trend below, above untrusted → up"
    state: str  # what the law is doing, one or two words: climbing, settled, ...
    # the places of all ports that are to have their queues; None: as is
    queued: frozenset[int] | None = None
    replicas: Sequence[int] | None = None  # of each operator, in the graph's order; None: as is


@dataclass(frozen=True, slots=True)
class Bounds:
    """Levels that a law may choose, and the level at which it begins.

    Raise UserError unless 1 <= minimum <= start <= maximum <= 1,024.
    """

    minimum: int
    maximum: int
    start: int

    def __post_init__(self) -> None:
        for name in ("minimum", "maximum", "start"):
            value = getattr(self, name)
            if (
                not isinstance(value, int)
                or isinstance(value, bool)
                or not 1 <= value <= MAX_THREADS
            ):
                raise UserError(
                    f"{name} level must be from 1 to {MAX_THREADS} threads, not {_shown(value)}"
                )
        if self.minimum > self.maximum:
            raise UserError(
                f"minimum level must be at most the maximum level {self.maximum}, not "
                f"{self.minimum}"
            )
        if not self.minimum <= self.start <= self.maximum:
            raise UserError(
                f"start level must be from {self.minimum} to {self.maximum} threads, not "
                f"{self.start}"
            )

    def clamp(self, level: int) -> int:
        """Return the nearest level within the bounds."""
        return max(self.minimum, min(self.maximum, level))


@dataclass(frozen=True, slots=True)
class Setting:
    """Parameter of a law: a number, or true or false.

    The range includes `high`. It includes `low` unless `above_low`.
    """

    name: str
    default: float | int | bool
    low: float
    high: float
    unit: str
    meaning: str
    above_low: bool = False

    def parse(self, value: object) -> float | int | bool:
        """Return the value in the default's type.

        Raise UserError naming the setting, the rule and the value.
        """
        if isinstance(self.default, bool):
            words = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
            known = words.get(str(value).lower())
            if known is None:
                raise UserError(f"{self.name} must be true or false, not {_shown(value)}")
            return known
        kind = type(self.default)
        try:
            plain = not isinstance(value, bool) and not (
                isinstance(value, str) and ("_" in value or not value.isascii())
            )
            number = kind(value) if plain else math.nan
            if isinstance(value, float) and kind is int and value != number:
                number = math.nan
        except (TypeError, ValueError, OverflowError):
            number = math.nan
        # nan compares false
        if not self.low <= number <= self.high or (self.above_low and number == self.low):
            low = (
                f"more than {self.low:g} and at most" if self.above_low else f"from {self.low:g} to"
            )
            what = "a whole number " if kind is int else ""
            raise UserError(
                f"{self.name} must be {what}{low} {self.high:g} {self.unit}".rstrip()
                + f", not {_shown(value)}"
            )
        return number


P17_CPU_LIMIT = Setting(
    "cpu_limit",
    0.8,
    0.0,
    1.0,
    "",
    "no climb while the CPUs are busier than this share",
    above_low=True,
)
PROFILE_PERIODS = 4
"""Longest window of the profiler behind `Reading.costs`, in periods."""

NO_LAYOUT = Layout(ports=(), at=(), sources=(), links=(), tuples=(), flop=(), payload=0, cpus=1)
"""Graph of a law that was given none: it has no operators and no places."""


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 40 else text[:40] + "…"


class Law(ABC):
    """Control law. Subclasses implement `decide`, and `cpu_limit` if they ask to climb."""

    name: ClassVar[str]
    summary: ClassVar[str]  # one line for listings, with the source
    decides: ClassVar[Decides] = Decides.THREADS
    # fields of `Reading` without which it cannot decide; "layout": the graph
    NEEDS: ClassVar[frozenset[str]] = frozenset()
    # further fields that it reads if all sources are paced
    USES: ClassVar[frozenset[str]] = frozenset()
    SETTINGS: ClassVar[tuple[Setting, ...]] = ()

    def __init__(
        self,
        bounds: Bounds,
        cpu: CpuLimit | None = None,
        settings: Mapping[str, object] | None = None,
        layout: Layout | None = None,
    ) -> None:
        """Prepare the law.

        `cpu` answers requests to climb; None: the law's own `cpu_limit`. `layout` is the graph;
        None: unknown. Raise UserError for an unknown setting or value, or if the law needs the
        graph and it is unknown.
        """
        if layout is None and "layout" in self.NEEDS:
            raise UserError(
                f"law {self.name} must know the graph: it decides about {self.decides.value} by "
                "its operators"
            )
        self.bounds = bounds
        self.layout = layout or NO_LAYOUT
        self.set = self.parsed(settings or {})
        self.cpu = self.cpu_limit() if cpu is None else cpu
        self._time_s = -math.inf
        self.begin()

    def begin(self) -> None:  # noqa: B027 - a law that keeps nothing has nothing to prepare
        """Prepare for the first reading; bounds, settings and layout are set.

        Raise UserError for settings that conflict.
        """

    def step(self, reading: Reading) -> Decision:
        """Return the decision for the next period.

        Raise UserError if the clock stands still or goes back.
        """
        if reading.time_s <= self._time_s:
            raise UserError(
                f"time_s must grow from reading to reading: {reading.time_s!r} follows "
                f"{self._time_s!r}"
            )
        self._time_s = reading.time_s
        self.cpu.see(reading.elapsed_s, reading.system_cpu, reading.others_cpu)
        return self.decide(reading)

    @abstractmethod
    def decide(self, reading: Reading) -> Decision:
        """Return the configuration for the next period."""

    def cpu_limit(self) -> CpuLimit:
        """Return the limit that answers requests to climb if the caller of the constructor gave
        none. This one grants all requests: it is for laws that make none."""
        return Answers(())

    @classmethod
    def parsed(cls, given: Mapping[str, object]) -> dict[str, float | int | bool]:
        """Return all settings, with the given values checked.

        Raise UserError for an unknown setting or value.
        """
        known = {setting.name: setting for setting in cls.SETTINGS}
        for name in given:
            if name not in known:
                listing = f"its settings are: {', '.join(known)}" if known else "it has none"
                raise UserError(f"law {cls.name} has no setting {name!r}; {listing}")
        return {
            name: setting.parse(given.get(name, setting.default)) for name, setting in known.items()
        }
