"""One run and its record. This is the room's front door: `RunSpec`, `run_once`, `run_in_fresh_process`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import harness.engine
from harness.elasticity import Decides, decides_of, law_class
from harness.errors import RunFailed
from harness.machines.place import find_place
from harness.measurement import host
from harness.measurement.assemble import blank_record, enter_simulation, fill_record, passed
from harness.measurement.control import Controller
from harness.measurement.live import Told
from harness.measurement.observe import observe
from harness.measurement.process import run_in_fresh_process
from harness.measurement.spec import RunSpec, arm_name, level_of
from harness.measurement.subject import build_subject
from harness.models import DEFAULT_LAW, Coroutine, Dynamic, Multilevel, with_level

PROFILE_PERIODS = 4
"""Of its law that a profile looks back at most: where it is longer, a law that sees throughput change sees old costs beside it
for many periods, takes the new load for a known one, or divides the graph by a mixture of both."""

SHORTEST_PROFILE_S = 0.4  # half of it is 200 looks at each thread: fewer say little about a hundred operators

__all__ = ["RunSpec", "measure", "run_in_fresh_process", "run_once"]


def run_once(spec: RunSpec) -> dict[str, Any]:
    """Do one run in this process; returns its record.

    A run that fails gives a failed record. Raises UserError for a spec that cannot be run.
    """
    from harness.measurement.source import commit

    return measure(spec) | {"commit": commit()}


def measure(spec: RunSpec, announce: Callable[[str], None] = lambda phase: None) -> dict[str, Any]:
    """As `run_once`, telling its phases, and with `commit` null: whoever starts measuring processes asks for it once."""
    if spec.peer:
        from harness.peers.measure import measure_peer  # late: that room stands on this one

        return measure_peer(spec, announce)
    graph, parameters = build_subject(spec)
    model = spec.made_model()
    raised = with_level(graph, model)
    record = blank_record(replace(spec, arm=spec.arm or arm_name(raised)), parameters, level_of(raised), {})
    engine = None
    try:
        options = _options(spec)
        if isinstance(model, Coroutine):
            options["changes_replicas"] = model.elastic and decides_of(model.law, model.name) is Decides.REPLICAS
        if spec.simulated and graph.typed_graph and not spec.graph_file:
            from harness.measurement.profiling import profile_of  # late: few runs need it

            options["profiled"] = profile_of(spec.topology, spec.parameters, spec.seed)
        engine = harness.engine.open_engine(graph, model, spec.machine, tuples=spec.tuples, **options)
        cpus = find_place(spec.machine, spec.simulated, spec.software).cpus if spec.simulated else None  # None: those usable
        controller = Controller(engine, graph, model, spec.period_s, spec.shortest_s, cpus)
        if spec.live:
            engine = Told(engine, controller, list(graph.operators), announce)
            announce = engine.announce
        laws = controller if controller.controls else None
        seen = observe(engine, spec, graph.flow().copies, announce, laws, graph.typed_graph)  # only users' sources end
    except (RunFailed, MemoryError) as error:
        if spec.simulated and engine is not None:
            enter_simulation(record, engine.simulation)
        return record | {"error": str(error) or "out of memory", "host": host.describe(simulates=spec.simulated)}
    from harness.runtime.protocol import latency_bounds_ns  # loaded by now; imported late, as in `open_engine`

    record |= {"threads_total": engine.threads, "queue_capacity": engine.queue_capacity}
    fill_record(record, spec, seen, graph, latency_bounds_ns())
    if graph.counts is not None and not spec.simulated and not seen.totals.stuck:
        record["application"] = graph.counts()
    if not spec.simulated:
        return record | {"host": host.describe(seen.disturbance, calibrate=True)}
    whole = spec.tuples is not None or seen.ended
    enter_simulation(record, engine.simulation, None if whole else passed(seen.samples, graph.flow()))
    return record | {"host": host.describe(simulates=True)}


def _wants_profile(spec: RunSpec) -> bool:
    """Whether the law goes by operators' costs, or by useful time, which the profile tells where no engine counts it."""
    if spec.model != Multilevel.name and not (spec.model == Dynamic.name and (spec.elastic or spec.law)):
        return False  # an engine of co-routines counts useful time itself
    name = spec.law or DEFAULT_LAW
    return bool(law_class(name, decides_of(name, spec.model)).NEEDS & {"costs", "useful_s"})


def _options(spec: RunSpec) -> dict[str, Any]:
    """What else `open_engine` is told: of a run whose law needs costs that it wants a profile; of a simulated one, where."""
    options: dict[str, Any] = {}
    if _wants_profile(spec):
        window_s = min(max(PROFILE_PERIODS * spec.period_s, SHORTEST_PROFILE_S), harness.engine.PROFILE_WINDOW_S)
        options = {"profile": True, "profile_window_s": window_s}
    if not spec.simulated:
        return options if spec.allow_threads is None else options | {"allow_threads": spec.allow_threads}
    constants = dict(spec.constants) or None
    return options | {"simulated": True, "software": spec.software, "constants": constants, "seed": spec.simulation_seed}
