"""One job: a graph goes once over its input, and its sinks deliver results.

It runs in this process, and holds no measuring lock: nobody compares its speed. An interruption
ends the sources; what is under way is finished, so the results so far are whole.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from harness.engine import Engine, Sample
from harness.engine.left_out import owners_of
from harness.engine.open import engine_of, lay_out
from harness.errors import RunFailed
from harness.graph import Graph
from harness.jobs.results import JobResults
from harness.jobs.tapped import Taps
from harness.measurement.assemble import blank_record, fail_record, fill_record
from harness.measurement.control import ControlFailed, Controller
from harness.measurement.laws import needed_by, pool_law
from harness.measurement.observe import Observation
from harness.measurement.period_text import period_line
from harness.measurement.spec import Run
from harness.measurement.subject import parameters_of
from harness.models import with_level
from harness.operators.compiled import Compiled

SHORTEST_PERIOD_S = 0.05
PERIODS = 10  # a sample is as long as such a part of the job so far, so that a long one has few
STOP_S = 10.0  # for what is under way when a job is interrupted, and again for threads to stop


@dataclass
class JobOutcome:
    """Outcome of a job. `interrupted`: somebody ended it before its input had ended."""

    record: dict[str, Any]
    interrupted: bool


def run_job(
    run: Run,
    graph: Graph,
    results: JobResults,
    begun: Callable[[dict[str, Any]], None],
    announce: Callable[[str], None],
) -> JobOutcome:
    """Do a job. `run` has a number of tuples that no source reaches; `begun` gets the record as it
    is when the threads are known, and `announce` each period of laws.

    A job that fails gives a failed record. Raises UserError for one that cannot be run, and
    RunFailed if the results cannot be written.
    """
    taps = Taps(graph, results)
    layout = lay_out(graph, run.model)
    law = pool_law(layout)
    record = blank_record(run, parameters_of(run), with_level(run.model, layout.pool))
    engine, interrupted = None, False
    try:
        engine = engine_of(
            layout,
            tuples=run.tuples,
            allow_threads=run.allow_threads,
            **needed_by(law, run.model, run.period_s),
        )
        controller = Controller(engine, graph, law, run.period_s, run.shortest_s)
        retain_input(graph, engine.queue_capacity)
        begun(record | {"threads_total": engine.threads, "queue_capacity": engine.queue_capacity})
        results.open()
        engine.start()
        taps.start()
        seen = Observation(bounded=True)
        try:
            _follow(engine, controller, seen.samples, announce)
        except KeyboardInterrupt:
            interrupted = True
        except ControlFailed as failure:
            seen.error = str(failure)
        seen.totals = engine.stop(drain=not results.closed, timeout_s=STOP_S)
        seen.samples.append(engine.sample(0.0))
        if controller.controls:
            seen.add_laws(controller)
        taps.stop()
    except (RunFailed, MemoryError) as error:
        return JobOutcome(fail_record(record, str(error) or "out of memory"), interrupted)
    seen.ended = seen.totals.error is None and not interrupted
    seen.settled = seen.ended and seen.totals.drained
    made = fill_record(record, seen, graph, engine, calibrate=False)
    if results.closed:  # it ended since nobody reads its results, which is no fault of its own
        made |= {"error": None, "correct": True}
    results.close(whole=seen.ended and made["correct"])
    return JobOutcome(made, interrupted or results.closed)


RETAINED = 2**14  # records: in the batches that threads have in hand, besides those in queues


def retain_input(graph: Graph, capacity: int) -> None:
    """Let sources keep the input to which tuples may point: at most those in queues do. A queue
    that is full stops its sender, so no tuple is more records behind than all queues hold.
    """
    queued = capacity * len(list(graph.input_ports())) + sum(graph.threaded.values())
    for operator in graph.operators.values():
        for owner in owners_of(operator) if operator.is_source else ():
            if isinstance(owner, Compiled):
                owner.retain(2 * queued + RETAINED)


def _follow(
    engine: Engine, controller: Controller, samples: list[Sample], announce: Callable[[str], None]
) -> None:
    """Let a job go on until its sources have ended, and laws decide meanwhile."""
    elapsed_s = 0.0
    while not engine.finished():
        own_s = max(SHORTEST_PERIOD_S, elapsed_s / PERIODS)
        sample = engine.sample(controller.sample_s if controller.controls else own_s)
        if controller.controls and not engine.finished():
            announce(period_line(sample, controller.see(sample)))
        elapsed_s = sample.time_s
        samples.append(replace(sample, queue_fill=(), write_blocked=(), operator_cost=()))
