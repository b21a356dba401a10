"""The measured window of a run: all of a bounded run; of a timed one, what follows its warm-up.

A run is stationary over two windows in a row if their sink rates agree, and if in each of them the
sinks receive as fast as the sources send (times the copies that a tuple becomes). The second
condition is what a filling pipeline breaks: its sinks may already be steady while the queues before
them still grow. Two rates agree if they differ by no more than the tolerance, relative to the
greater, or by no more than one tuple of the sources: windows count whole tuples.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from harness.engine import Engine, Sample, Totals
from harness.engine.time_use import TimeUse
from harness.graph import PortId
from harness.machines.host.cpu import SHORTEST_S, CpuCounters, allowed_cpu_numbers
from harness.measurement.control import ControlFailed, Controller
from harness.measurement.cpu_use import Disturbance
from harness.measurement.period_text import period_line
from harness.measurement.spec import Run

WINDOW_SAMPLES = 10  # in the measured window of a timed run
MIN_WINDOW_SAMPLES = 2  # samples of the shortest window: else nothing says whether it was steady
MIN_PERIOD_S = 0.05  # of real threads, but for such a window
MIN_VIRTUAL_PERIOD_S = 0.0005  # of a bounded simulated run, whose length is not known before
# of a run that is measured by events, at most: twice the events of the measured window in all
WARM_UP_WINDOWS = 20
# for which a simulated elastic run may settle before its law looks: real ones fill their queues
# within a period
SETTLING_EVENTS = 1_000_000
# a bounded run in which no tuple moves for so long is given up: far longer than any operator may
# compute
STALL_S = 120.0
# a guess, not tuned; a stationary run on an idle 2-core VM varies by 1 to 3 % between windows
WINDOWS_AGREE_WITHIN = 0.05
# by how much the halves of a measured window may differ although the warm-up was over; a guess, not
# tuned
HALVES_AGREE_WITHIN = 0.2

SHORTEST_REST_S = 0.01
"""Longest remainder of an adaptation that is ignored [s], or a tenth of a sample: too short to
learn from.
"""

Announce = Callable[[str], None]


@dataclass
class Observation:
    """Observation of one run. `samples` are those of the measured window alone."""

    samples: Sequence[Sample] = ()
    before: list[Sample] = field(
        default_factory=list
    )  # of warming up, or of adapting where something is elastic
    ended: bool = (
        False  # whether its sources ended before its time was over: the window is then all of it
    )
    controller: Controller | None = None  # None: nothing is
    level_settled: bool = (
        False  # whether its laws had settled when the window began, or a bounded run ended
    )
    settled: bool = False
    error: str | None = None  # why the run was cut short, besides what `totals` says
    disturbance: Disturbance = field(default_factory=Disturbance)
    totals: Totals | None = None  # None if the engine did not start
    time_use: TimeUse | None = None  # of the window; None: nobody asked
    # then: scheduled ports with a queue at its end, hardware counts, and why there are none
    queued: Sequence[PortId] = ()
    counters: Mapping[str, int] = field(default_factory=dict)
    counters_problem: str | None = None

    @property
    def warmup_s(self) -> float:
        """Seconds that passed before the window."""
        return sum((sample.elapsed_s for sample in self.before), 0.0)


def measure_window(
    engine: Engine,
    run: Run,
    copies: int | None,
    announce: Announce,
    controller: Controller | None = None,
) -> Observation:
    """Warm up and measure, as `observe` says; the engine runs before and after."""
    if run.tuples is not None:
        shortest_s = MIN_VIRTUAL_PERIOD_S if run.simulated else MIN_PERIOD_S
        return _bounded(engine, controller, announce, shortest_s)
    if controller is not None:
        return _elastic(engine, controller, run, copies, announce)
    if run.events is not None:
        return _by_events(engine, run.events, copies, announce)
    return _timed(engine, run, copies, announce)


# -- bounded runs ----------------------------------------------------------------------------------


def _bounded(
    engine: Engine, controller: Controller | None, announce: Announce, shortest_s: float
) -> Observation:
    """The measured window is the whole run; its samples grow with it, so that a long run has few,
    unless laws want them.
    """
    announce("measuring")
    samples: list[Sample] = []
    before = CpuCounters.now()
    elapsed_s = quiet_s = 0.0
    error = None
    while quiet_s < STALL_S:
        over = engine.finished()
        try:  # also after the end, so that no tuple is missed
            sample = _next(
                engine, controller, max(shortest_s, elapsed_s / WINDOW_SAMPLES), announce
            )
        except ControlFailed as failure:
            error = str(failure)
            break
        moved = any((sample.source_tuples, sample.sink_tuples, sample.submitted_tuples)) or any(
            sample.processed
        )
        if moved or not over or not samples:
            samples.append(sample)
            elapsed_s = sample.time_s
        if over:
            break
        quiet_s = 0.0 if moved else quiet_s + sample.elapsed_s
    else:
        error = f"no tuple has moved for {quiet_s:.0f} s"
    kept = controller is not None and controller.settled
    return Observation(
        samples,
        controller=controller,
        level_settled=kept,
        settled=error is None,
        error=error,
        disturbance=_disturbance(before),
    )


# -- timed runs ------------------------------------------------------------------------------------


def _timed(engine: Engine, run: Run, copies: int | None, announce: Announce) -> Observation:
    announce("warming up")
    began = CpuCounters.now()
    warm_up, settled = _warm_up(engine, run, copies)
    announce("measuring")
    most = WINDOW_SAMPLES if run.simulated else int(run.duration_s / MIN_PERIOD_S)
    period_s = run.duration_s / max(MIN_WINDOW_SAMPLES, min(WINDOW_SAMPLES, most))
    samples: list[Sample] = []
    before = CpuCounters.now()
    measured_s = 0.0
    while measured_s < run.duration_s - period_s / 2 and not engine.finished():
        samples.append(engine.sample(period_s))
        measured_s += samples[-1].elapsed_s
    since = (
        before if measured_s >= SHORTEST_S else began
    )  # too short for ticks: with its warm-up it may be long enough
    seen = Observation(samples, warm_up, disturbance=_disturbance(since))
    seen.settled = _is_settled(samples, copies, settled)
    return seen


def _by_events(engine: Engine, events: int, copies: int | None, announce: Announce) -> Observation:
    """A simulated run whose time scale nobody knows beforehand: windows last as long as so many
    events take.
    """
    announce("warming up")
    warm_up = _warm_up_by_events(engine, copies, 2 * events)
    announce("measuring")
    samples: list[Sample] = []
    while len(samples) < WINDOW_SAMPLES and not engine.finished():
        samples.append(engine.sample_events(max(1, events // WINDOW_SAMPLES)))
    settled = _is_settled(samples, copies, warm_up.settled)
    return Observation(samples, warm_up.samples, settled=settled)


def _warm_up_by_events(engine: Engine, copies: int | None, events: int) -> WarmUp:
    """Let a simulated run become stationary, for so many events at most."""
    warm_up = WarmUp(copies, float("inf"))
    for _ in range(WARM_UP_WINDOWS):
        if engine.finished() or warm_up.step(
            engine.sample_events(max(1, events // WARM_UP_WINDOWS))
        ):
            break
    return warm_up


def _elastic(
    engine: Engine, controller: Controller, run: Run, copies: int | None, announce: Announce
) -> Observation:
    """Adapts, then measures; the laws go on all the time."""
    samples: list[Sample] = []
    seen = Observation(samples, controller=controller)
    window_s = run.duration_s if controller.pool is None else run.elastic_window_s
    since = CpuCounters.now()
    measured_s = 0.0
    if (
        run.simulated and not engine.phased
    ):  # else a part of the first phase would pass before anybody looks
        announce("warming up")
        _warm_up_by_events(engine, copies, SETTLING_EVENTS)
        engine.begin_here()
    announce("adapting")
    try:
        settled = _adapt(engine, controller, run, copies, announce, seen.before)
        seen.level_settled = controller.settled
        announce("measuring")
        since = since if engine.finished() else CpuCounters.now()
        while (
            not samples or measured_s < window_s - controller.sample_s / 2
        ) and not engine.finished():
            samples.append(_watch(engine, controller, "measuring", announce))
            measured_s += samples[-1].elapsed_s
    except ControlFailed as error:
        seen.error = str(error)
    else:
        seen.settled = _is_settled(samples, copies, settled)
    seen.disturbance = _disturbance(since)
    return seen


def _adapt(
    engine: Engine,
    controller: Controller,
    run: Run,
    copies: int | None,
    announce: Announce,
    seen: list[Sample],
) -> bool | None:
    """Let the laws find their levels; `seen` gets the samples. Returns whether the run has settled.

    That is when the laws have settled (`Controller.settled`) and the run is stationary, or never
    within the time that `spec` allows. With a warm-up of fixed length nobody looks: None.
    """
    limit_s = run.adaptation_limit_s
    elapsed_s = 0.0
    warm_up = WarmUp(copies, limit_s)
    rest_s = min(SHORTEST_REST_S, controller.sample_s / 10)
    while limit_s - elapsed_s > rest_s and not engine.finished():
        sample = _lean(_watch(engine, controller, "adapting", announce, limit_s - elapsed_s))
        seen.append(sample)
        elapsed_s += sample.elapsed_s
        if run.warmup != "auto":
            continue
        if controller.kept == 0:  # what was seen at another level says nothing about this one
            warm_up = WarmUp(copies, limit_s)
        warm_up.step(sample)
        if controller.settled and warm_up.settled:
            return True
    return None if run.warmup != "auto" else False


def _warm_up(engine: Engine, run: Run, copies: int | None) -> tuple[list[Sample], bool | None]:
    """Samples of the warm-up, and whether the run has settled: None if nobody looked, as in a
    warm-up of fixed length.
    """
    if run.warmup != "auto":
        return ([engine.sample(run.warmup_limit_s)] if run.warmup_limit_s > 0 else []), None
    warm_up = WarmUp(copies, run.warmup_limit_s)
    window_s = run.duration_s / 5 if run.simulated else min(max(run.duration_s / 5, 0.1), 0.5)
    while not engine.finished() and not warm_up.step(engine.sample(window_s)):
        pass
    return warm_up.samples, warm_up.settled


# -- the passing of time ---------------------------------------------------------------------------


def _next(
    engine: Engine, controller: Controller | None, period_s: float, announce: Announce
) -> Sample:
    if controller is None:
        return engine.sample(period_s)
    return _watch(engine, controller, "measuring", announce)


def _watch(
    engine: Engine, controller: Controller, phase: str, announce: Announce, most_s: float = math.inf
) -> Sample:
    """Let one sample's time pass, `most_s` at most, and the laws act on it. Raises
    ControlFailed.
    """
    sample = engine.sample(min(controller.sample_s, most_s))
    if not engine.finished():
        step = controller.see(sample)
        announce(f"{phase}: {period_line(sample, step)}")
    return sample


def _lean(sample: Sample) -> Sample:
    """Without most that is said of each operator and port: a long adaptation of a large graph would
    not fit in memory.
    """
    gone = ("processed", "queue_fill", "write_blocked", "latency_counts", "useful_s", "queue_full")
    return replace(sample, **dict.fromkeys(gone, ()))


def _disturbance(before: CpuCounters) -> Disturbance:
    return Disturbance.between(before, CpuCounters.now(), len(allowed_cpu_numbers()))


# -- stationary or not -----------------------------------------------------------------------------


@dataclass(frozen=True)
class FlowWindow:
    """Tuples that went in and came out in a stretch of time."""

    elapsed_s: float
    source_tuples: int
    sink_tuples: int

    @classmethod
    def of(cls, samples: Iterable[Sample]) -> FlowWindow:
        """The samples as one window."""
        rows = [(sample.elapsed_s, sample.source_tuples, sample.sink_tuples) for sample in samples]
        return cls(*(sum(column) for column in zip(*rows, strict=True))) if rows else cls(0.0, 0, 0)


def stationary(
    first: FlowWindow,
    second: FlowWindow,
    copies: int | None,
    tolerance: float = WINDOWS_AGREE_WITHIN,
) -> bool:
    """Return True if the run was stationary over two windows in a row.

    `copies`: tuples at the sinks for each tuple sent, None if that depends on the tuple; sources
    are then not looked at.
    """
    if (
        min(first.elapsed_s, second.elapsed_s) <= 0.0
        or min(first.sink_tuples, second.sink_tuples) == 0
    ):
        return False
    quantum = 1 if copies is None else copies
    pairs = [(first.sink_tuples / first.elapsed_s, second.sink_tuples / second.elapsed_s)]
    if copies is not None:
        pairs += [
            (w.source_tuples * copies / w.elapsed_s, w.sink_tuples / w.elapsed_s)
            for w in (first, second)
        ]
    slack = quantum / min(first.elapsed_s, second.elapsed_s)
    return all(abs(a - b) <= max(tolerance * max(a, b), slack) for a, b in pairs)


def settled_within(
    samples: Sequence[Sample], copies: int | None, tolerance: float = WINDOWS_AGREE_WITHIN
) -> bool:
    """Return True if the two halves of a measured window agree: for a run whose warm-up was not
    watched.
    """
    middle = len(samples) // 2
    return stationary(
        FlowWindow.of(samples[:middle]), FlowWindow.of(samples[middle:]), copies, tolerance
    )


def stayed_settled(samples: Sequence[Sample], copies: int | None) -> bool:
    """Return True if the halves of a measured window differ by at most `HALVES_AGREE_WITHIN`, so
    that its warm-up was over.

    Two neighbouring windows of a warm-up agree by chance now and then while queues still fill. One
    sample says nothing.
    """
    return len(samples) < 2 or settled_within(samples, copies, HALVES_AGREE_WITHIN)


def _is_settled(samples: Sequence[Sample], copies: int | None, warm_up: bool | None) -> bool:
    """Return True if a measured window is stationary. `warm_up`: its warm-up ended so; None: of
    fixed length, so nobody looked.
    """
    if warm_up is None:
        return settled_within(samples, copies)
    return warm_up and stayed_settled(samples, copies)


class WarmUp:
    """Is fed the samples of a warm-up; says when it is over and whether the run has settled.

    It is over when two windows in a row are stationary, or when `limit_s` seconds have been seen. A
    window is one sample, or the last third of the samples so far: that grows until it is longer
    than the bursts in which a deep graph moves its tuples.
    """

    def __init__(
        self, copies: int | None, limit_s: float, tolerance: float = WINDOWS_AGREE_WITHIN
    ) -> None:
        self.settled = False
        self.elapsed_s = 0.0
        self._copies = copies
        self._limit_s = limit_s
        self._tolerance = tolerance
        self.samples: list[Sample] = []

    def step(self, sample: Sample) -> bool:
        """Take the next sample; returns whether the warm-up is over."""
        self.samples.append(sample)
        self.elapsed_s += sample.elapsed_s
        self.settled = any(self._stationary(length) for length in {1, len(self.samples) // 3} - {0})
        return self.settled or self.elapsed_s >= self._limit_s

    def _stationary(self, length: int) -> bool:
        """Return True if the last two windows of `length` samples are stationary."""
        before, last = self.samples[-2 * length : -length], self.samples[-length:]
        return stationary(FlowWindow.of(before), FlowWindow.of(last), self._copies, self._tolerance)
