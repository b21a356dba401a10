"""The measured window of a run: all of a bounded run; of a timed one, what follows its warm-up;
of a simulated one that may take so many events, the part of it that is stationary.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from harness.engine import Engine, Sample, Totals
from harness.engine.time_use import TimeUse
from harness.graph import PortId
from harness.machines.host.cpu import SHORTEST_S, CpuCounters, allowed_cpu_numbers
from harness.measurement.control import ControlFailed, Controller
from harness.measurement.cpu_use import Disturbance
from harness.measurement.period_text import period_line
from harness.measurement.spec import Run
from harness.measurement.stationary import SAMPLES_AT_LEAST, Settling, WarmUp, is_settled

WINDOW_SAMPLES = 10  # in the measured window of a timed run
MIN_WINDOW_SAMPLES = 2  # samples of the shortest window: else nothing says whether it was steady
MIN_PERIOD_S = 0.05  # of real threads, but for such a window
MIN_VIRTUAL_PERIOD_S = 0.0005  # of a bounded simulated run, whose length is not known before
# of the events that a run may take, the shortest sample is one part in so many
SHORTEST_OF_EVENTS = 1000
# for which a simulated elastic run may settle before its law looks: real ones fill their queues
# within a period
SETTLING_EVENTS = 1_000_000
# a bounded run in which no tuple moves for so long is given up: far longer than any operator may
# compute
STALL_S = 120.0

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
    seen.settled = is_settled(samples, copies, settled)
    return seen


def _by_events(engine: Engine, events: int, copies: int | None, announce: Announce) -> Observation:
    """A simulated run that goes on until it is stationary, for so many events at most."""
    announce("warming up")
    settling = settle(engine, events, copies)
    return Observation(settling.window, settling.before, settled=settling.settled)


def settle(engine: Engine, events: int, copies: int | None) -> Settling:
    """Let a simulated run become stationary, for so many events at most."""
    settling = Settling(copies, engine.queue_capacity)
    shortest, left = max(events // SHORTEST_OF_EVENTS, 1), events
    while left > 0 and not settling.settled and not engine.finished():
        length = min(left, max(shortest, settling.events // SAMPLES_AT_LEAST))
        settling.step(engine.sample_events(length), length)
        left -= length
    return settling


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
        settle(engine, SETTLING_EVENTS, copies)
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
        seen.settled = is_settled(samples, copies, settled)
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
