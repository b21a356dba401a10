"""A fake engine: it runs in virtual time and does what its script says, so that measuring can be
tested without threads.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import pytest

import harness.elasticity
import harness.engine
import harness.runtime
from harness.elasticity.cpu_limit import Answers
from harness.elasticity.law import Bounds, Decision, Law, Reading, Setting
from harness.engine import Sample, Totals
from harness.errors import RunFailed
from harness.runtime import protocol

BOUNDS_NS = (10, 100, 1000, 10_000)

EMPTY = Sample(
    time_s=0.0,
    elapsed_s=0.0,
    source_tuples=0,
    sink_tuples=0,
    submitted_tuples=0,
    processed=(),
    queue_fill=(),
    write_blocked=(),
    threads_active=2,
    threads_requested=2,
    threads_unsuspendable=0,
    queued_ports=0,
    cpu_s=0.0,
    system_cpu=0.5,
    context_switches=0,
    latency_counts=(0, 0, 0, 0),
    kernel_s=0.0,
)


def make_sample(
    elapsed_s: float, source_tuples: int, sink_tuples: int, time_s: float = 0.0
) -> Sample:
    """One period in which so many tuples were sent and received; all latencies between 10 and 100
    ns.
    """
    return replace(
        EMPTY,
        time_s=time_s,
        elapsed_s=elapsed_s,
        source_tuples=source_tuples,
        sink_tuples=sink_tuples,
        submitted_tuples=3 * source_tuples,
        cpu_s=elapsed_s,
        context_switches=1,
        latency_counts=(0, sink_tuples, 0, 0),
        kernel_s=elapsed_s / 4,
    )


class FakeEngine:
    """Plays (source rate, sink rate) [tuples/s], a pair a period, the last one for ever; a bounded
    run ends after `tuples`.
    """

    queue_capacity = 1000
    batch = 32
    threads = 3
    level = 2

    def __init__(
        self, rates: Iterable[tuple[float, float]], tuples: int | None = None, **totals: object
    ) -> None:
        self._rates = iter(rates)
        self._rate = (0.0, 0.0)
        self._tuples = tuples
        self._totals = totals
        self.time_s = 0.0
        self.sent = 0
        self.received = 0
        self.calls: list[tuple[str, object]] = []
        self.fails_after_s: float | None = None
        self.start_error: Exception | None = None

    def start(self) -> None:
        """See `Engine`."""
        self.calls.append(("start", None))
        if self.start_error:
            raise self.start_error

    def sample(self, period_s: float) -> Sample:
        """See `Engine`: moves the virtual clock."""
        self.calls.append(("sample", period_s))
        if self.finished():
            return replace(EMPTY, time_s=self.time_s)
        self._rate = next(self._rates, self._rate)
        source, sink = (round(rate * period_s) for rate in self._rate)
        if self._tuples is not None:
            source = min(source, self._tuples - self.sent)
            sink = min(sink, self._tuples - self.received)
        self.time_s += period_s
        self.sent += source
        self.received += sink
        sample = make_sample(period_s, source, sink, self.time_s)
        return replace(sample, threads_active=self.level, threads_requested=self.level)

    def since_sample(self) -> tuple[float, int]:
        """See `Engine`: laws think in no time."""
        return 0.0, 0

    def sample_events(self, events: int) -> Sample:
        """Sample, as a simulator does, for a period of its own choice."""
        self.calls.append(("sample_events", events))
        self.time_s += 0.001
        return make_sample(0.001, 1000, 1000, self.time_s)

    phased = False

    def begin_here(self) -> None:
        """Begin the clock anew, as a simulator does."""
        self.time_s = 0.0

    def set_threads(self, level: int) -> None:
        """See `Engine`."""
        self.calls.append(("set_threads", level))
        self.level = level

    def finished(self) -> bool:
        """See `Engine`."""
        failed = self.fails_after_s is not None and self.time_s >= self.fails_after_s
        return failed or self.received == self._tuples

    def stop(self, drain: bool, timeout_s: float) -> Totals:
        """See `Engine`."""
        self.calls.append(("stop", drain))
        totals = Totals(
            sent=self.sent,
            received=self.received,
            in_flight=self.sent - self.received,
            processed=(),
            drained=drain,
            order_violations=0,
            order_checked=True,
            checksum_ok=True,
            latency_counts=(0, self.received, 0, 0),
            latency_max_ns=90,
            scheduling={"drains": 7},
        )
        return replace(totals, **self._totals)


@pytest.fixture
def runtime(monkeypatch: pytest.MonkeyPatch) -> types.ModuleType:
    """Stands in for the compiled `harness.runtime.engine`, and for what `harness.runtime.protocol`
    says of the build.
    """
    monkeypatch.setattr(protocol, "latency_bounds_ns", lambda: BOUNDS_NS)
    monkeypatch.setattr(protocol, "build_info", lambda: {"compiler": "g++ 12", "flags": "-O3"})
    module = types.ModuleType("harness.runtime.engine")
    module.ns_per_flop = lambda: 1.25
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setattr(harness.runtime, "engine", module, raising=False)
    return module


@pytest.fixture
def play(
    runtime: types.ModuleType, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[..., FakeEngine]]:
    """`play(rates, …)`: from now on `engine_of` opens a fake engine that plays these rates;
    returned when it is opened.
    """

    def script(
        rates: Iterable[tuple[float, float]], *, tuples: int | None = None, **totals: object
    ) -> FakeEngine:
        engine = FakeEngine(rates, tuples, **totals)
        monkeypatch.setattr("harness.measurement.prepare.engine_of", lambda *_, **__: engine)
        return engine

    return script


class Scripted(Law):
    """Plays levels, the last one for ever; an exception is raised."""

    name = "scripted"
    summary = "plays levels"
    state = "playing"
    SETTINGS = (
        Setting("gain", 1.0, 0.0, 9.0, "", "a number"),
        Setting("bold", False, 0, 1, "", "yes or no"),
    )

    def __init__(
        self, levels: Iterable[int | Exception], asked: list[str], *words: Any, **named: Any
    ) -> None:
        super().__init__(*words, **named)
        self.asked = asked
        self.readings: list[Reading] = []
        self._levels = iter(levels)
        self._level = self.bounds.start

    def decide(self, reading: Reading) -> Decision:
        """The next level."""
        self.readings.append(reading)
        level = next(self._levels, self._level)
        if isinstance(level, Exception):
            raise level
        self._level = level
        return Decision(level, f"because of {reading.threads}", self.state)

    def cpu_limit(self) -> Answers:
        """It never asks."""
        return Answers(())


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[Scripted]]:
    """`script(levels)`: from now on every law is one that plays these levels; returns the list of
    those that are made.
    """

    def write(levels: Iterable[int | Exception] = ()) -> list[Scripted]:
        made: list[Scripted] = []

        def make(
            name: str,
            bounds: Bounds,
            cpu: object = None,
            settings: Mapping[str, object] | None = None,
            **_: object,
        ) -> Scripted:
            made.append(Scripted(levels, [name], bounds, settings=settings))
            return made[-1]

        monkeypatch.setattr(harness.elasticity, "make_law", make)
        return made

    return write


@pytest.fixture
def sample() -> Callable[..., Sample]:
    """`make_sample`, for tests that need no engine."""
    return make_sample


@pytest.fixture
def refusing() -> RunFailed:
    """Return what an engine raises when the system gives it no more threads."""
    return RunFailed("the system refuses thread 400 of 1000")
