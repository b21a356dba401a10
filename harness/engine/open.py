"""The engine for a graph, a model and a machine."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from operator import or_
from typing import TYPE_CHECKING, Any, NamedTuple

from harness.engine.engine import Engine
from harness.engine.sample import PROFILE_WINDOW_S
from harness.engine.simulated import SimulatedEngine
from harness.errors import UserError
from harness.graph import Graph
from harness.graph.kinds import SINK
from harness.graph.values import MAX_THREADS, MAX_TUPLES
from harness.machines.host.interpreter import has_interpreter_lock
from harness.machines.machine import LOCAL
from harness.machines.software import DEFAULT_SOFTWARE
from harness.models import MODELS, Model

if TYPE_CHECKING:
    from harness.engine.profiled import Profiled
    from harness.machines.machine import Machine
    from harness.machines.software import Software
    from harness.models.layout import RunLayout


class Described(NamedTuple):
    """Machine and software that a run is simulated on."""

    machine: Machine
    software: Software


def open_engine(
    graph: Graph,
    model: Model,
    machine: str = LOCAL,
    *,
    simulated: bool = False,
    software: str = DEFAULT_SOFTWARE,
    constants: Mapping[str, float] | None = None,
    **how: Any,
) -> Engine:
    """Return an engine for `graph` under `model` on `machine`, with `how` as `engine_of` takes it.

    On "local" threads are real, unless `simulated`; any other machine is described by a profile, a
    name in config/machines or a file, and always simulated. `software` and `constants` (numbers in
    place of the machine's and the software's, by path) are for simulated runs only.

    Raises UserError for an unknown machine or constant, and as `lay_out` and `engine_of`.
    """
    if not isinstance(graph, Graph):
        raise UserError(f"graph must be a harness.graph.Graph, not {type(graph).__name__}")
    if not isinstance(model, Model):
        raise UserError(
            f"model must be one of {', '.join(MODELS)} of harness.models, not {model!r}"
        )
    is_real = machine == LOCAL and not simulated
    on = None if is_real else describe(machine, software, constants or {})
    return engine_of(lay_out(graph, model, on), on, constants=constants, **how)


def describe(machine: str, software: str, constants: Mapping[str, float]) -> Described:
    """Return a machine and a software from their profiles, with these constants in place of theirs.

    Raises UserError for profiles that cannot be read, and for a constant that neither has.
    """
    from harness.machines.machine import load_machine
    from harness.machines.software import load_software

    costs = load_software(software)
    of_machine, of_software = costs.split(constants)
    return Described(
        load_machine(machine).with_constants(of_machine), costs.with_constants(of_software)
    )


def lay_out(graph: Graph, model: Model, on: Described | None = None) -> RunLayout:
    """Return the layout of a graph for a run; `on`: what it is simulated on, None: real threads.

    Raises GraphError for a graph that cannot run, and UserError for one that does not go together
    with the model, or for more scheduler threads than a described machine has CPUs and the graph
    needs.
    """
    # needs a compiled module; imported late so that graphs can be read without it
    from harness.models.layout import layout_of

    graph.check()
    if on is None:
        return layout_of(graph, model)
    machine, software = on
    capacity = software.get("how.queue_capacity")
    cpus = min(machine.cpus, MAX_THREADS)
    layout = layout_of(
        graph,
        model,
        cpus,
        int(capacity) if capacity else None,
        batch=int(software["how.batch"]),
        simulated=True,
    )
    if software.get("how.locks") == "several_streams":
        joined = (
            operator.kind is SINK and len(streams) > 1
            for operator, streams in zip(layout.operators, layout.incoming, strict=True)
        )
        layout = replace(layout, locked=tuple(map(or_, layout.locked, joined)))
    if software.get("how.wakes") == "each_tuple":
        layout = replace(layout, ways=tuple(way._replace(lazy=False) for way in layout.ways))
    most = max(machine.cpus, layout.minimum_threads)
    for option in ("threads", "maximum"):
        levels = getattr(model, option, None)
        if levels is not None and levels > most:
            why = (
                f"the CPUs of machine {machine.name!r}"
                if most == machine.cpus
                else f"which graph {graph.name!r} needs at least"
            )
            raise UserError(f"{option} must be at most {most}, {why}, not {levels}")
    return layout


def engine_of(
    layout: RunLayout,
    on: Described | None = None,
    *,
    tuples: int | None = None,
    profile: bool = False,
    profile_window_s: float = PROFILE_WINDOW_S,
    constants: Mapping[str, float] | None = None,
    seed: int = 0,
    allow_threads: int | None = None,
    profiled: Profiled | None = None,
    changes_replicas: bool | None = None,
    explained: bool = False,
) -> Engine:
    """Return an engine that executes a layout; `on`: as `lay_out` has got it. `tuples` bounds what
    each source sends (None: until stopped).

    With `profile` it measures what each operator costs (`Sample.operator_cost`), over the last half
    of `profile_window_s` [s] at least, and the whole at most; a simulated run over its last two to
    four samples. `seed` is of a simulated run's chances, and `constants` are those that `on` has in
    place of its profiles', for its record. `allow_threads`: how many real threads there may be
    (None: `thread_room.MOST_THREADS`). `profiled`: what typed operators cost and send, which a
    simulated run of them needs. `changes_replicas`: whether a law will set numbers of replicas
    (None: of any elastic model). Real threads then have memory for all replicas before they start:
    a law could do nothing about a refusal. `explained`: whether `time_use` will be asked.

    Raises UserError for more real threads than are allowed or than this host has room for.
    """
    if tuples is not None and (
        not isinstance(tuples, int) or isinstance(tuples, bool) or not 0 <= tuples <= MAX_TUPLES
    ):
        raise UserError(f"tuples must be from 0 to {MAX_TUPLES}, not {tuples!r}")
    if not 0.0 < profile_window_s < math.inf:
        raise UserError(f"profile_window_s must be above 0 and finite, not {profile_window_s!r}")
    if on is None:
        from harness.engine.thread_room import check_threads
        from harness.runtime.engine import RuntimeCore

        check_threads(layout, allow_threads)
        by_law = getattr(layout.model, "elastic", False)
        by_law = by_law if changes_replicas is None else changes_replicas
        core = RuntimeCore(layout, tuples, profile, profile_window_s, by_law, explained)
        engine = Engine(core, has_interpreter_lock())
    else:
        from harness.simulator.engine import SimulatorCore

        engine = SimulatedEngine(
            SimulatorCore(
                layout,
                *on,
                tuples,
                profile,
                seed,
                replaced=constants,
                profiled=profiled,
                explained=explained,
            ),
            profiled is not None and profiled.interpreter_lock,
        )
    for name, count in layout.first_replicas.items():
        engine.set_replicas(name, count)
    return engine
