"""The engine for a graph, a model and a machine."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from harness.engine.engine import Engine
from harness.engine.sample import PROFILE_WINDOW_S
from harness.errors import UserError
from harness.graph import Graph
from harness.graph.values import MAX_TUPLES
from harness.machines.machine import LOCAL
from harness.machines.software import DEFAULT_SOFTWARE
from harness.models import MODELS, Model, least_threads

if TYPE_CHECKING:
    from harness.engine.profiled import Profiled


def open_engine(
    graph: Graph,
    model: Model,
    machine: str = LOCAL,
    *,
    tuples: int | None = None,
    profile: bool = False,
    profile_window_s: float = PROFILE_WINDOW_S,
    simulated: bool = False,
    software: str = DEFAULT_SOFTWARE,
    constants: Mapping[str, float] | None = None,
    seed: int = 0,
    allow_threads: int | None = None,
    profiled: Profiled | None = None,
    changes_replicas: bool | None = None,
) -> Engine:
    """Return an engine for `graph` under `model` on `machine`; `tuples` bounds what each source
    sends (None: until stopped).

    On "local" threads are real, unless `simulated`; any other machine is described by a profile, a
    name in config/machines or a file, and always simulated. `software`, `constants` (numbers in
    place of the machine's and the software's, by path) and `seed` are for simulated runs only. With
    `profile` it measures what each operator costs (`Sample.operator_cost`), over the last half of
    `profile_window_s` [s] at least, and the whole at most; a simulated run over its last two to
    four samples. `allow_threads`: how many real threads there may be (None:
    `thread_room.MOST_THREADS`). `profiled`: what typed operators cost and send, which a simulated
    run of them needs. `changes_replicas`: whether a law will set numbers of replicas (None:
    of any elastic model). Real threads then have memory for all replicas before they start: a law
    could do nothing about a refusal.

    Raises UserError for an unknown machine or constant, more scheduler threads than a described
    machine has CPUs and the graph needs, or more real ones than are allowed or than this host has
    room for; GraphError for a graph that cannot run.
    """
    if not isinstance(graph, Graph):
        raise UserError(f"graph must be a harness.graph.Graph, not {type(graph).__name__}")
    if not isinstance(model, Model):
        raise UserError(
            f"model must be one of {', '.join(MODELS)} of harness.models, not {model!r}"
        )
    if tuples is not None and (
        not isinstance(tuples, int) or isinstance(tuples, bool) or not 0 <= tuples <= MAX_TUPLES
    ):
        raise UserError(f"tuples must be from 0 to {MAX_TUPLES}, not {tuples!r}")
    if not 0.0 < profile_window_s < math.inf:
        raise UserError(f"profile_window_s must be above 0 and finite, not {profile_window_s!r}")
    graph.check()
    if machine == LOCAL and not simulated:
        from harness.engine.thread_room import check_threads

        # compiled; imported late so that graphs can be read without it
        from harness.runtime.engine import RuntimeEngine

        check_threads(graph, model, allow_threads)
        by_law = getattr(model, "elastic", False) if changes_replicas is None else changes_replicas
        return _with_replicas(
            RuntimeEngine(graph, model, tuples, profile, profile_window_s, by_law), graph, model
        )
    from harness.machines.machine import load_machine
    from harness.machines.software import load_software
    from harness.simulator.engine import SimulatorEngine

    costs = load_software(software)
    of_machine, of_software = costs.split(constants or {})
    described, costs = (
        load_machine(machine).with_constants(of_machine),
        costs.with_constants(of_software),
    )
    most = max(described.cpus, least_threads(graph, model))
    for option, levels in (
        ("threads", getattr(model, "threads", None)),
        ("maximum", getattr(model, "maximum", None)),
    ):
        if levels is not None and levels > most:
            why = (
                f"the CPUs of machine {machine!r}"
                if most == described.cpus
                else f"which graph {graph.name!r} needs at least"
            )
            raise UserError(f"{option} must be at most {most}, {why}, not {levels}")
    engine = SimulatorEngine(
        graph, model, described, costs, tuples, profile, seed, replaced=constants, profiled=profiled
    )
    return _with_replicas(engine, graph, model)


def _with_replicas(engine: Engine, graph: Graph, model: Model) -> Engine:
    """The engine, with the replicas that a run of the model begins with."""
    from harness.models.replicas import begins_with

    for name, count in begins_with(graph, model).items():
        engine.set_replicas(name, count)
    return engine
