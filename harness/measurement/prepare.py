"""Parts of a run before it starts: its layouts, law, record and engine, each made once; and checks
of what its model, its laws and its graph do not allow together.

A simulated run that goes on until it is stationary begins with filled queues. Queues that begin far
from the fill that they come to take longest: a pipeline of 1,000 operators has a million slots.
Short queues settle sooner, and come to about the same shares. So a coarse run with short queues
goes first, and each queue begins as full as it was there in the mean. The test whether the run is
stationary is the same wherever it begins.

The coarse run begins with empty queues, as programs do: some graphs have two states that each last
for millions of events, and half-full queues may lead to the other one. If queues take too long to
fill, another coarse run begins half full.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from harness.elasticity import Law
from harness.engine import Engine, Sample
from harness.engine.open import Described, engine_of, lay_out
from harness.engine.simulated import SimulatedEngine
from harness.engine.thread_room import check_threads
from harness.errors import RunFailed
from harness.graph import Graph
from harness.measurement.assemble import blank_record
from harness.measurement.laws import check_law, needed_by, pool_law
from harness.measurement.observe import settle
from harness.measurement.spec import PeerModel, Run
from harness.measurement.subject import build_subject
from harness.models import Chosen, least_threads, why_raised, with_level
from harness.models.layout import RunLayout

if TYPE_CHECKING:
    from harness.engine.profiled import Profiled

COARSE_CAPACITY = 64  # tuples a queue; fewer than two batches behave otherwise
WORTH_IT = 4  # times as long are queues for which a coarse run is worth its time, at least
# one part in so many of a run's events is what a coarse run may take: from empty queues, half full
EMPTY_SHARE, HALF_SHARE = 8, 4


@dataclass(frozen=True)
class Prepared:
    """A run, and what it is made of. `described`: what it is simulated on, None: real threads;
    `profiled`: costs of users' operators that its user has given.
    """

    run: Run
    profiled: Profiled | None
    described: Described | None
    layout: RunLayout  # it has the graph
    coarse: RunLayout | None  # of the coarse run that goes first; None: none does
    law: Law | None  # of its pool
    needed: Mapping[str, Any]  # options of the engine that the law needs
    record: Mapping[str, Any]  # as `blank_record` begins it

    def options(self) -> dict[str, Any]:
        """Return the options of an engine that follow from where the run is made. Raises RunFailed
        if typed operators cannot be profiled.
        """
        run = self.run
        if not run.simulated:
            return {"allow_threads": run.allow_threads}
        profiled = self.profiled
        if profiled is None and self.layout.graph.typed_graph and not run.graph_file:
            from harness.measurement.profiling import profile_of  # late: few runs need it

            profiled = profile_of(run.topology, run.parameters, run.seed)
        constants = dict(run.constants)
        return {"constants": constants, "seed": run.simulation_seed, "profiled": profiled}


def prepare(run: Run) -> Prepared:
    """Return what a run is made of. Raises UserError for a run that cannot be run."""
    graph, parameters, profiled = build_subject(run)
    described = run.described
    layout = lay_out(graph, run.model_of_repeat, described)
    coarse = None if run.events is None else _coarse_layout(layout, described)
    law = pool_law(layout)
    return Prepared(
        run,
        profiled,
        described,
        layout,
        coarse,
        law,
        needed=needed_by(law, run.model, run.period_s),
        record=blank_record(run, parameters, with_level(run.model, layout.pool)),
    )


def _coarse_layout(layout: RunLayout, described: Described | None) -> RunLayout | None:
    """Return the layout with short queues; None if its queues are not long enough for a coarse run
    to be worth it.
    """
    has_capacity = hasattr(layout.model, "queue_capacity")  # threaded ports alone are few
    if not has_capacity or layout.capacity < WORTH_IT * COARSE_CAPACITY:
        return None
    return lay_out(layout.graph, replace(layout.model, queue_capacity=COARSE_CAPACITY), described)


def open_run(made: Prepared) -> Engine:
    """Return the engine of a run.

    Raises UserError as `engine_of`, and RunFailed if typed operators cannot be profiled.
    """
    run, layout, described, options = made.run, made.layout, made.described, made.options()
    if made.coarse is not None:
        filled = _coarse_fill(made.coarse, described, run.events, options)
        layout = replace(layout, filled=filled)
    options |= made.needed
    return engine_of(layout, described, tuples=run.tuples, explained=run.explained, **options)


def _coarse_fill(
    layout: RunLayout, described: Described | None, events: int, options: Mapping[str, Any]
) -> tuple[float, ...]:
    """Return the mean fill of each queue in a coarse run before one of so many events, which is not
    worth it if the graph is one that begins empty; empty then, or if the coarse run fails.
    """
    empty, flow = replace(layout, filled=(0.0,) * len(layout.queues)), layout.graph.flow()
    try:
        with _started(layout, described, options) as engine:
            if not any(engine.sample_events(1).queue_fill):
                return ()
        with _started(empty, described, options) as engine:
            seen = settle(engine, events // EMPTY_SHARE, flow)
        if not seen.settled:
            with _started(layout, described, options) as engine:
                seen = settle(engine, events // HALF_SHARE, flow, measures=False)
    except RunFailed:
        return ()
    return _mean_fill(layout, seen.window)


@contextmanager
def _started(
    layout: RunLayout, described: Described | None, options: Mapping[str, Any]
) -> Iterator[SimulatedEngine]:
    """Start a simulated engine, and stop it at the end."""
    engine = engine_of(layout, described, **options)
    try:
        engine.start()
        yield engine
    finally:
        engine.stop(drain=False, timeout_s=0)


def _mean_fill(layout: RunLayout, samples: Sequence[Sample]) -> tuple[float, ...]:
    """Return the mean fill of each queue, as a share; empty if there are no samples."""
    filled = [0.0] * len(layout.queues) if samples else []
    for sample in samples:
        for queue, fill in zip(layout.queue_of_port, sample.queue_fill, strict=True):
            if queue is not None:
                filled[queue] += fill / len(samples)
    return tuple(filled)


# -- checks before anything is started -----------------------------------------------------------


def with_room(run: Run, graph: Graph) -> Run:
    """Return the run with a highest level that is enough for the graph: that of a described machine
    is the number of its CPUs, which may be too few.
    """
    if getattr(run.model, "maximum", None) is None:
        return run
    maximum = max(run.model.maximum, least_threads(graph, run.model))
    return replace(run, model=replace(run.model, maximum=maximum))


def raised(layout: RunLayout, asked: int | None, level: int) -> str | None:
    """Return a number of threads that the graph has raised, with the reason; None if it has not."""
    if asked is None or asked >= level:
        return None
    return f"{asked} becomes {level}: {why_raised(layout.graph, layout.model, level)}"


def check_run(
    run: Run, graph: Graph | None = None, starts_threads: bool = True
) -> RunLayout | None:
    """Raise UserError for a run that could not begin. Return its layout if a check needed it.

    `graph`: that of the run if it is made already; else it is made where a check needs it.
    `starts_threads`: the run is to start on this host, which must have room for its threads.
    """
    model = run.model
    assert not isinstance(model, PeerModel)
    check_law(model)
    replicas, queued = getattr(model, "replicas", 1), getattr(model, "queued", "all")
    names_ports = bool(Chosen.parse(queued).names)
    counts_threads = starts_threads and not run.simulated
    if graph is None and (replicas != 1 or names_ports or counts_threads):
        graph = build_subject(run).graph
    if graph is None:
        return None
    layout = lay_out(graph, model, run.described)
    pool_law(layout)
    if counts_threads:
        check_threads(layout, run.allow_threads)
    return layout
