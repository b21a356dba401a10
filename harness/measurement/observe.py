"""Start, measure and stop one engine. Time passes in `Engine.sample` only."""

from __future__ import annotations

from collections.abc import Callable

from harness.engine import Engine
from harness.measurement.control import Controller
from harness.measurement.spec import Run
from harness.measurement.time_use import ExplainedWindow
from harness.measurement.window import MIN_PERIOD_S, Observation, measure_window

STOP_S = 2.0  # for draining, and again for threads to stop


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
    explained = ExplainedWindow(engine, run) if run.explained else None

    def phase_begins(phase: str) -> None:
        if explained is not None and phase == "measuring":
            explained.begin()
        announce(phase)

    announce("starting")
    engine.start()
    try:
        seen = measure_window(engine, run, copies, phase_begins, controller)
        if explained is not None:
            explained.end(seen)
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
