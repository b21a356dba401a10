"""One run and its record: `Run`, `run_once` and `run_in_fresh_process` are what other folders use."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import harness.engine
from harness.elasticity import Decides, decides_of, law_class
from harness.elasticity.law import PROFILE_PERIODS
from harness.errors import RunFailed
from harness.measurement import host
from harness.measurement.assemble import blank_record, enter_simulation, fill_record, passed
from harness.measurement.control import Controller
from harness.measurement.live import Told
from harness.measurement.observe import observe
from harness.measurement.process import run_in_fresh_process
from harness.measurement.spec import PeerModel, Run, arm_name, level_of
from harness.measurement.subject import build_subject
from harness.models import Coroutine, Dynamic, Multilevel, with_level

SHORTEST_PROFILE_S = (
    0.4  # half of it is 200 looks at each thread: fewer say little about a hundred operators
)

__all__ = ["Run", "measure", "run_in_fresh_process", "run_once"]


def run_once(run: Run) -> dict[str, Any]:
    """Do one run in this process; returns its record.

    A run that fails gives a failed record. Raises UserError for a run that cannot be run.
    """
    from harness.measurement.source import commit

    return measure(run) | {"commit": commit()}


def measure(run: Run, announce: Callable[[str], None] = lambda phase: None) -> dict[str, Any]:
    """Do one run as `run_once` does, and announce its phases. `commit` stays null: the caller fills it in."""
    if isinstance(run.model, PeerModel):
        from harness.peers.measure import measure_peer  # late: that room stands on this one

        return measure_peer(run, announce)
    graph, parameters = build_subject(run)
    model = run.model_of_repeat
    raised = with_level(graph, model)
    record = blank_record(
        replace(run, arm=run.arm or arm_name(raised)), parameters, level_of(raised), {}
    )
    engine = None
    try:
        options = _options(run)
        if isinstance(model, Coroutine):
            options["changes_replicas"] = (
                model.elastic and decides_of(model.law, model.name) is Decides.REPLICAS
            )
        if run.simulated and graph.typed_graph and not run.graph_file:
            from harness.measurement.profiling import profile_of  # late: few runs need it

            options["profiled"] = profile_of(run.topology, run.parameters, run.seed)
        engine = harness.engine.open_engine(
            graph, model, run.place.machine, tuples=run.tuples, **options
        )
        cpus = run.place.cpus if run.simulated else None  # None: those usable
        controller = Controller(engine, graph, model, run.period_s, run.shortest_s, cpus)
        if run.live:
            engine = Told(engine, controller, list(graph.operators), announce)
            announce = engine.announce
        laws = controller if controller.controls else None
        seen = observe(
            engine, run, graph.flow().copies, announce, laws, graph.typed_graph
        )  # only users' sources end
    except (RunFailed, MemoryError) as error:
        if run.simulated and engine is not None:
            enter_simulation(record, engine.simulation)
        return record | {
            "error": str(error) or "out of memory",
            "host": host.describe(simulates=run.simulated),
        }
    from harness.runtime.protocol import (
        latency_bounds_ns,
    )  # loaded by now; imported late, as in `open_engine`

    fill_record(record, run, seen, graph, engine, latency_bounds_ns())
    if not run.simulated:
        return record | {"host": host.describe(seen.disturbance, calibrate=True)}
    whole = run.tuples is not None or seen.ended
    enter_simulation(
        record, engine.simulation, None if whole else passed(seen.samples, graph.flow())
    )
    return record | {"host": host.describe(simulates=True)}


def _wants_profile(run: Run) -> bool:
    """Return True if the law uses operators' costs, or useful time that the engine does not count itself."""
    model = run.model
    if not isinstance(model, (Dynamic, Multilevel)) or not model.elastic:
        return False  # an engine of co-routines counts useful time itself
    return bool(
        law_class(model.law, decides_of(model.law, model.name)).NEEDS & {"costs", "useful_s"}
    )


def _options(run: Run) -> dict[str, Any]:
    """Return further options of `open_engine`: a profile if the law needs costs; machine and seed if simulated."""
    options: dict[str, Any] = {}
    if _wants_profile(run):
        window_s = min(
            max(PROFILE_PERIODS * run.period_s, SHORTEST_PROFILE_S), harness.engine.PROFILE_WINDOW_S
        )
        options = {"profile": True, "profile_window_s": window_s}
    if not run.simulated:
        return (
            options if run.allow_threads is None else options | {"allow_threads": run.allow_threads}
        )
    constants = dict(run.constants) or None
    return options | {
        "simulated": True,
        "software": run.place.software,
        "constants": constants,
        "seed": run.simulation_seed,
    }
