"""Simulated runs to their end, and the places where graphs of all shapes are simulated."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest

from harness.engine import Engine, Totals, open_engine
from harness.graph import Graph
from harness.machines.machine import load_machine
from harness.models import Model, pool_of
from tests.runtime.shapes import GRAPHS, MODELS

PLACES = [
    ("local", "millrace"),
    ("local", "streams-4.2"),
    ("xeon", "millrace"),
    ("xeon", "streams-4.2"),
    ("xeon", "p17-printed"),
    ("power8", "millrace"),
]
"""Machine and software: two CPUs, so that threads take turns, and so many that each thread has its
own.
"""

# `make test` has these: few CPUs, many CPUs, and each way to find work. Slow tests have the others.
ALWAYS = (("local", "millrace"), ("xeon", "streams-4.2"), ("xeon", "p17-printed"))
EACH_PLACE = [
    pytest.param(place, marks=() if place in ALWAYS else pytest.mark.slow, id=" ".join(place))
    for place in PLACES
]

IN_TURN = [
    pytest.param(ALWAYS, id="in turn"),
    *(pytest.param((place,), marks=pytest.mark.slow, id=" ".join(place)) for place in PLACES),
]
"""Places that the models of a test take in turn. The slow tests have every model in every place."""

ENOUGH = 5_000_000
"""Events: several times what any run of these tests takes."""


def simulated(graph: Graph, model: Model, machine: str = "xeon", **options: object) -> Engine:
    """An engine that simulates, not started."""
    return open_engine(graph, model, machine, simulated=True, **options)


def has_cpus(machine: str, graph: Graph, model: Model) -> bool:
    """Return True if the machine has a CPU for each scheduler thread that the graph's annotations
    and the model ask for.
    """
    cpus = load_machine(machine).cpus
    return pool_of(graph, model, cpus).threads <= cpus


def models_in_turn(
    shape: str, places: Sequence[tuple[str, str]]
) -> Iterator[tuple[int, Model, dict[str, str]]]:
    """Yield the models with their numbers, each with one of the places that have CPUs for it. The
    next shape begins with the next place, so each place meets every shape and every model.
    """
    first = list(GRAPHS).index(shape)
    for number, model in enumerate(MODELS.values()):
        fitting = [place for place in places if has_cpus(place[0], GRAPHS[shape](), model)]
        if fitting:
            machine, software = fitting[(first + number) % len(fitting)]
            yield number, model, {"machine": machine, "software": software}


def run_to_end(engine: Engine, events: int = ENOUGH) -> Totals:
    """Start the engine, let it run until it is over or has taken so many events, and end it."""
    engine.start()
    if not engine.finished():
        engine.sample_events(events)
    return engine.stop(drain=engine.finished(), timeout_s=0.0)
