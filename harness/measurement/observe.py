"""Start, warm up, measure and stop one engine. Time passes in `Engine.sample` only."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from harness.engine import Engine, Sample, Totals
from harness.machines.host.cpu import SHORTEST_S, CpuCounters, allowed_cpu_numbers
from harness.measurement.adapt import adapt, watch
from harness.measurement.control import ControlFailed, Controller
from harness.measurement.cpu_use import Disturbance
from harness.measurement.spec import Run
from harness.measurement.steady import WarmUp, settled_within, stayed_settled

WINDOW_SAMPLES = 10  # in the measured window of a timed run
MIN_WINDOW_SAMPLES = 2  # samples of the shortest window: else nothing says whether it was steady
MIN_PERIOD_S = 0.05  # of real threads, but for such a window
MIN_VIRTUAL_PERIOD_S = 0.0005  # of a bounded simulated run, whose length is not known before
# of a run that is measured by events, at most: twice the events of the measured window in all
WARM_UP_WINDOWS = 20
# for which a simulated elastic run may settle before its law looks: real ones fill their queues
# within a period
SETTLING_EVENTS = 1_000_000
STOP_S = 2.0  # for draining, and again for threads to stop
# a bounded run in which no tuple moves for so long is given up: far longer than any operator may
# compute
STALL_S = 120.0


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

    @property
    def warmup_s(self) -> float:
        """Seconds that passed before the window."""
        return sum((sample.elapsed_s for sample in self.before), 0.0)


def observe(
    engine: Engine,
    run: Run,
    copies: int | None,
    announce: Callable[[str], None],
    controller: Controller | None = None,
    finite: bool = False,
) -> Observation:
    """Execute `run` on `engine`. `copies` is that of `graph.Flow`; `announce` gets each phase, and
    each period of laws.

    A timed run that is over before its time is measured as a whole if its sources may end
    (`finite`), and has failed otherwise. Whatever happens, the engine is stopped before this
    returns or raises. Raises what the engine raises.
    """
    announce("starting")
    engine.start()
    try:
        if run.tuples is not None:
            seen = _bounded(
                engine,
                controller,
                announce,
                MIN_VIRTUAL_PERIOD_S if run.simulated else MIN_PERIOD_S,
            )
        elif controller is None:
            seen = _timed(engine, run, copies, announce)
        else:
            seen = _elastic(engine, controller, run, copies, announce)
    except BaseException:
        engine.stop(drain=False, timeout_s=STOP_S)
        raise
    if run.tuples is None and seen.error is None and engine.finished():
        _end(seen, engine, finite)
    announce("stopping")
    # What a timed simulated run has queued is counted where it lies: draining it would take longer
    # than the run.
    drain = seen.error is None and not (run.simulated and run.tuples is None)
    seen.totals = engine.stop(drain=drain, timeout_s=STOP_S)
    seen.ended = seen.ended and seen.totals.error is None  # an operator that raises ends a run, too
    if run.tuples is not None or seen.ended:
        seen.settled = seen.error is None and seen.totals.error is None and seen.totals.drained
    return seen


def _timed(
    engine: Engine, run: Run, copies: int | None, announce: Callable[[str], None]
) -> Observation:
    if run.events is not None:
        return _by_events(engine, run.events, copies, announce)
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
    seen.settled = (
        settled_within(samples, copies)
        if settled is None
        else settled and stayed_settled(samples, copies)
    )
    return seen


def _by_events(
    engine: Engine, events: int, copies: int | None, announce: Callable[[str], None]
) -> Observation:
    """A simulated run whose time scale nobody knows beforehand: windows last as long as so many
    events take.
    """
    announce("warming up")
    warm_up = _warm_up_by_events(engine, copies, 2 * events)
    announce("measuring")
    samples: list[Sample] = []
    while len(samples) < WINDOW_SAMPLES and not engine.finished():
        samples.append(engine.sample_events(max(1, events // WINDOW_SAMPLES)))
    settled = warm_up.settled and stayed_settled(samples, copies)
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
    engine: Engine,
    controller: Controller,
    run: Run,
    copies: int | None,
    announce: Callable[[str], None],
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
        settled = adapt(engine, controller, run, copies, announce, seen.before)
        seen.level_settled = controller.settled
        announce("measuring")
        since = since if engine.finished() else CpuCounters.now()
        while (
            not samples or measured_s < window_s - controller.sample_s / 2
        ) and not engine.finished():
            samples.append(watch(engine, controller, "measuring", announce))
            measured_s += samples[-1].elapsed_s
    except ControlFailed as error:
        seen.error = str(error)
    else:
        seen.settled = (
            settled_within(samples, copies)
            if settled is None
            else settled and stayed_settled(samples, copies)
        )
    seen.disturbance = _disturbance(since)
    return seen


def _end(seen: Observation, engine: Engine, finite: bool) -> None:
    """Take in that a timed run is over by itself: its window is all of it, as of a bounded run, if
    its sources may end.
    """
    if not finite:
        seen.settled = False
        seen.error = (
            "the run ended by itself after "
            f"{seen.warmup_s + sum(each.elapsed_s for each in seen.samples):.3g} s"
        )
        return
    last = engine.sample(MIN_PERIOD_S)  # what passed between the last look and the end
    seen.samples = [*seen.before, *seen.samples, *([last] if last.elapsed_s > 0.0 else [])]
    seen.before, seen.ended = [], True
    seen.level_settled = seen.controller is not None and seen.controller.settled


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


def _bounded(
    engine: Engine,
    controller: Controller | None,
    announce: Callable[[str], None],
    shortest_s: float,
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


def _next(
    engine: Engine, controller: Controller | None, period_s: float, announce: Callable[[str], None]
) -> Sample:
    if controller is None:
        return engine.sample(period_s)
    return watch(engine, controller, "measuring", announce)


def _disturbance(before: CpuCounters) -> Disturbance:
    return Disturbance.between(before, CpuCounters.now(), len(allowed_cpu_numbers()))
