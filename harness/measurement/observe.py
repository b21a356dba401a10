"""Start, warm up, measure and stop one engine. Time passes in `Engine.sample` only."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from harness.engine import Engine, Sample, Totals
from harness.measurement.cpu_use import Disturbance, Reading, allowed_cpu_numbers
from harness.measurement.spec import RunSpec
from harness.measurement.steady import WarmUp, settled_within

SAMPLES = 10  # in the measured window of a timed run
MIN_PERIOD_S = 0.05
STOP_S = 2.0  # for draining, and again for threads to stop
STALL_S = 120.0  # a bounded run in which no tuple moves for so long is given up: far longer than any operator may compute


@dataclass
class Observation:
    """What was seen of one run. `samples` are the measured window's alone."""

    samples: Sequence[Sample] = ()
    warmup_s: float = 0.0
    settled: bool = False
    error: str | None = None  # why the run was cut short, besides what `totals` says
    disturbance: Disturbance = field(default_factory=Disturbance)
    totals: Totals | None = None  # None if the engine did not start


def observe(engine: Engine, spec: RunSpec, copies: int | None, announce: Callable[[str], None]) -> Observation:
    """Run `engine` as `spec` says; `copies` as in `graph.Flow`, `announce` is told each phase.

    Whatever happens, the engine is stopped before this returns or raises. Raises what the engine raises.
    """
    announce("starting")
    engine.start()
    try:
        seen = _timed(engine, spec, copies, announce) if spec.tuples is None else _bounded(engine, announce)
    except BaseException:
        engine.stop(drain=False, timeout_s=STOP_S)
        raise
    announce("stopping")
    seen.totals = engine.stop(drain=seen.error is None, timeout_s=STOP_S)
    if spec.tuples is not None:
        seen.settled = seen.error is None and seen.totals.error is None and seen.totals.drained
    return seen


def _timed(engine: Engine, spec: RunSpec, copies: int | None, announce: Callable[[str], None]) -> Observation:
    announce("warming up")
    warmup_s, settled = _warm_up(engine, spec, copies)
    announce("measuring")
    period_s = spec.duration_s / max(1, min(SAMPLES, int(spec.duration_s / MIN_PERIOD_S)))
    samples: list[Sample] = []
    before = Reading.now()
    measured_s = 0.0
    while measured_s < spec.duration_s - period_s / 2 and not engine.finished():
        samples.append(engine.sample(period_s))
        measured_s += samples[-1].elapsed_s
    disturbance = _disturbance(before)
    if engine.finished():
        error = f"the run ended by itself after {warmup_s + measured_s:.3g} s"
        return Observation(samples, warmup_s, False, error, disturbance)
    if settled is None:
        settled = settled_within(samples, copies)
    return Observation(samples, warmup_s, settled, None, disturbance)


def _warm_up(engine: Engine, spec: RunSpec, copies: int | None) -> tuple[float, bool | None]:
    """Seconds of warm-up, and whether the run has settled: None if nobody looked, as in a warm-up of fixed length."""
    if spec.warmup != "auto":
        return (engine.sample(spec.warmup_limit_s).elapsed_s if spec.warmup_limit_s > 0 else 0.0), None
    warm_up = WarmUp(copies, spec.warmup_limit_s)
    window_s = min(max(spec.duration_s / 5, 0.1), 0.5)
    while not engine.finished() and not warm_up.step(engine.sample(window_s)):
        pass
    return warm_up.elapsed_s, warm_up.settled


def _bounded(engine: Engine, announce: Callable[[str], None]) -> Observation:
    """The measured window is the whole run; its samples grow with it, so that a long run has few."""
    announce("measuring")
    samples: list[Sample] = []
    before = Reading.now()
    elapsed_s = quiet_s = 0.0
    error = None
    while quiet_s < STALL_S:
        over = engine.finished()
        sample = engine.sample(max(MIN_PERIOD_S, elapsed_s / SAMPLES))  # also after the end, so that no tuple is missed
        moved = any((sample.source_tuples, sample.sink_tuples, sample.submitted_tuples)) or any(sample.processed)
        if moved or not over or not samples:
            samples.append(sample)
            elapsed_s = sample.time_s
        if over:
            break
        quiet_s = 0.0 if moved else quiet_s + sample.elapsed_s
    else:
        error = f"no tuple has moved for {quiet_s:.0f} s"
    return Observation(samples, settled=error is None, error=error, disturbance=_disturbance(before))


def _disturbance(before: Reading) -> Disturbance:
    return Disturbance.between(before, Reading.now(), len(allowed_cpu_numbers()))
