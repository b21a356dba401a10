"""One run and its record: `Run`, `run_once` and `run_in_fresh_process` are what other folders
use.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from harness.elasticity import Decides, decides_of, law_class
from harness.elasticity.law import PROFILE_PERIODS
from harness.engine import PROFILE_WINDOW_S
from harness.engine.open import engine_of, lay_out
from harness.errors import RunFailed
from harness.graph import Graph
from harness.measurement.assemble import blank_record, fail_record, fill_record
from harness.measurement.control import Controller
from harness.measurement.live import Told
from harness.measurement.observe import observe
from harness.measurement.process import run_in_fresh_process
from harness.measurement.spec import Run
from harness.measurement.subject import build_subject
from harness.measurement.time_use import time_use_entry
from harness.models import Coroutine, with_level

SHORTEST_PROFILE_S = (
    0.4  # half of it is 200 looks at each thread: fewer say little about a hundred operators
)

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
    graph, parameters = build_subject(run)
    described = run.described
    layout = lay_out(graph, run.model_of_repeat, described)
    record = blank_record(run, parameters, with_level(run.model, layout.pool))
    engine = None
    try:
        engine = engine_of(
            layout,
            described,
            tuples=run.tuples,
            **({"explained": True} if run.explained else {}),
            **options_of_law(run),
            **_of_place(run, graph),
        )
        controller = Controller(engine, layout, run.period_s, run.shortest_s)
        watched = Told(engine, controller, list(graph.operators), announce) if run.live else None
        seen = observe(
            watched or engine,
            run,
            graph.flow().copies,
            watched.announce if watched else announce,
            controller if controller.controls else None,
            finite=graph.typed_graph,  # only users' sources end
        )
    except (RunFailed, MemoryError) as error:
        return fail_record(record, run, str(error) or "out of memory", engine)
    record = fill_record(record, run, seen, graph, engine)
    explained = {} if seen.time_use is None else {"time_use": time_use_entry(run, seen, layout)}
    return record | explained


def options_of_law(run: Run) -> dict[str, Any]:
    """Return the options of an engine that a run's law needs: a profile of costs, and replicas."""
    model = run.model
    if not getattr(model, "elastic", False):
        return {"changes_replicas": False}
    decides = decides_of(model.law, model.name)
    if isinstance(model, Coroutine):  # its engine counts useful time itself
        return {"changes_replicas": decides is Decides.REPLICAS}
    if not law_class(model.law, decides).NEEDS & {"costs", "useful_s"}:
        return {}
    window_s = max(PROFILE_PERIODS * run.period_s, SHORTEST_PROFILE_S)
    return {"profile": True, "profile_window_s": min(window_s, PROFILE_WINDOW_S)}


def _of_place(run: Run, graph: Graph) -> dict[str, Any]:
    """Return the options of an engine that follow from where a run is made."""
    if not run.simulated:
        return {"allow_threads": run.allow_threads}
    options = {"constants": dict(run.constants), "seed": run.simulation_seed}
    if graph.typed_graph and not run.graph_file:
        from harness.measurement.profiling import profile_of  # late: few runs need it

        options["profiled"] = profile_of(run.topology, run.parameters, run.seed)
    return options
