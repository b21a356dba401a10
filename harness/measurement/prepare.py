"""Checks of a run before anything is started: what its model, its laws and its graph do not allow
together.
"""

from __future__ import annotations

from dataclasses import replace

from harness.engine.open import lay_out
from harness.engine.thread_room import check_threads
from harness.graph import Graph
from harness.measurement.control import check_law, pool_law
from harness.measurement.spec import PeerModel, Run
from harness.measurement.subject import build_subject
from harness.models import Chosen, least_threads, why_raised
from harness.models.layout import RunLayout


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
        graph, _ = build_subject(run)
    if graph is None:
        return None
    layout = lay_out(graph, model, run.described)
    pool_law(layout)
    if counts_threads:
        check_threads(layout, run.allow_threads)
    layout.first_replicas()
    return layout
