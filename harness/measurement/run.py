"""One run and its record: `Run`, `run_once` and `run_in_fresh_process` are what other folders
use.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from harness.errors import RunFailed
from harness.measurement.assemble import blank_record, fail_record, fill_record
from harness.measurement.control import Controller
from harness.measurement.live import Told
from harness.measurement.observe import observe
from harness.measurement.prepare import open_run, prepare
from harness.measurement.process import run_in_fresh_process
from harness.measurement.spec import Run

__all__ = ["Run", "measure", "run_in_fresh_process", "run_once"]


def run_once(run: Run, announce: Callable[[str], None] = lambda phase: None) -> dict[str, Any]:
    """Do one run in this process, as `measure` does; return its record with the commit."""
    from harness.measurement.source import commit

    return measure(run, announce) | {"commit": commit()}


def measure(run: Run, announce: Callable[[str], None] = lambda phase: None) -> dict[str, Any]:
    """Do one run on one of our engines in this process; return its record, whose `commit` is null.
    `announce` gets the phases.

    A run that fails gives a failed record. Raises UserError for a run that cannot be run.
    """
    made = prepare(run)
    graph = made.graph
    record = blank_record(run, made.parameters, made.model)
    engine = None
    try:
        engine = open_run(made)
        controller = Controller(engine, graph, made.law, run.period_s, run.shortest_s)
        watched = Told(engine, controller, list(graph.operators), announce) if run.live else None
        seen = observe(
            watched or engine,
            run,
            graph,
            watched.announce if watched else announce,
            controller if controller.controls else None,
        )
    except (RunFailed, MemoryError) as error:
        return fail_record(record, str(error) or "out of memory", engine)
    return fill_record(record, seen, graph, engine)
