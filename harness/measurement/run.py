"""One run and its record: `Run`, `run_once` and `run_in_fresh_process` are what other folders
use.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from harness.errors import RunFailed
from harness.measurement.assemble import fail_record, fill_record
from harness.measurement.control import Controller
from harness.measurement.live import Told
from harness.measurement.observe import observe
from harness.measurement.prepare import Prepared, open_run, prepare
from harness.measurement.process import run_in_fresh_process
from harness.measurement.spec import Run
from harness.measurement.time_use import ExplainedWindow

__all__ = ["Run", "measure", "run_in_fresh_process", "run_once"]


def run_once(run: Run, announce: Callable[[str], None] = lambda phase: None) -> dict[str, Any]:
    """Do one run on one of our engines in this process; return its record. `announce` gets the
    phases.

    A run that fails gives a failed record. Raises UserError for a run that cannot be run.
    """
    from harness.measurement.source import commit

    return measure(prepare(run), announce) | {"commit": commit()}


def measure(made: Prepared, announce: Callable[[str], None] = lambda phase: None) -> dict[str, Any]:
    """Do a run that is prepared, in this process; return its record, whose `commit` is null.
    `announce` gets the phases.

    A run that fails gives a failed record. Raises UserError as `open_run`.
    """
    run, graph, record = made.run, made.layout.graph, made.record
    engine = None
    try:
        engine = open_run(made)
        controller = Controller(engine, graph, made.law, run.period_s, run.shortest_s)
        if run.live:
            engine = watched = Told(engine, controller, list(graph.operators), announce)
            announce = watched.announce
        explained = ExplainedWindow(engine, made.described) if run.explained else None
        laws = controller if controller.controls else None
        seen = observe(engine, run, graph, announce, laws, explained)
    except (RunFailed, MemoryError) as error:
        return fail_record(record, str(error) or "out of memory", engine)
    return fill_record(record, seen, graph, engine)
