"""Random graphs of every built-in kind, under every model, on several machines, changed at random
instants: nothing breaks.
"""

from __future__ import annotations

from dataclasses import replace

from hypothesis import HealthCheck, assume, event, given, settings
from hypothesis import strategies as st

from harness.engine import Totals
from harness.graph import Graph
from harness.graph.kinds import ELASTIC_LOAD_BALANCE
from harness.machines.machine import load_machine
from harness.models import Coroutine, Dedicated, Dynamic, Manual, Model, pool_of
from harness.models.policy import policies
from tests.runtime.shapes import scheduled_ports
from tests.runtime.test_random_runs import BUILT_IN, graphs
from tests.simulator.runs import ENOUGH, PLACES, has_cpus, simulated

PACES = [
    {"rate": 1e6},
    {"rate": 3e4},
    {"rates": ((2e-5, None), (1e-5, 0.0))},
    {"rates": ((1e-4, 1e5), (1e-5, 5e6))},
]
SILENT_UNTIL_LATE = {"rates": ((1.0, 0.0), (1.0, 1e6))}


@st.composite
def paced_graphs(draw: st.DrawFn) -> Graph:
    """Some of the sources wait for their time."""
    graph = draw(graphs(BUILT_IN))
    for name, operator in list(graph.operators.items()):
        if operator.is_source:
            graph.operators[name] = replace(
                operator, **draw(st.sampled_from([{}, {}, *PACES, SILENT_UNTIL_LATE]))
            )
    return graph


CAPACITIES = st.sampled_from([1, 2, 5, 30, 1000])
MODELS = st.one_of(
    st.just(Manual()),
    st.builds(Dedicated, queue_capacity=CAPACITIES),
    st.builds(
        Dynamic,
        threads=st.integers(1, 2),
        queue_capacity=CAPACITIES,
        queued=st.sampled_from(["all", "none"]),
    ),
    st.builds(
        Coroutine,
        threads=st.integers(1, 2),
        policy=st.sampled_from(sorted(policies())),
        quantum_ms=st.sampled_from([1e-3, 0.02, 50.0]),
        queue_capacity=CAPACITIES,
    ),
)
INSTANTS = st.sampled_from([1, 3, 20, 100, 1000])
CHANGES = st.lists(
    st.tuples(
        INSTANTS, st.integers(0, 2**16 - 1), st.booleans(), st.sampled_from([0, 1, 2, 5, 30])
    ),
    max_size=12,
)
"""After how many events; which ports (bits), on or off, and a level (0: as it was)."""


@given(
    graph=paced_graphs(),
    place=st.sampled_from(PLACES),
    model=MODELS,
    tuples=st.sampled_from([0, 1, 50, 700, None]),
    changes=CHANGES,
    drain=st.booleans(),
    seed=st.integers(0, 2**64 - 1),
)
@settings(max_examples=80, suppress_health_check=list(HealthCheck))
def test_random_graphs_under_random_changes_keep_every_invariant(
    graph: Graph,
    place: tuple[str, str],
    model: Model,
    tuples: int | None,
    changes: list[tuple[int, int, bool, int]],
    drain: bool,
    seed: int,
) -> None:
    assume(has_cpus(place[0], graph, model))
    event(
        f"{model.name} on {place[0]}, {place[1]}, {'bounded' if tuples is not None else 'filled'}"
    )
    totals = changed_run(graph, place, model, tuples, changes, drain, seed)
    assert totals.correct, totals
    assert totals.drained or not drain
    assert not totals.drained or totals.in_flight == 0
    copies = graph.flow().copies
    if totals.drained and copies is not None:
        assert totals.received == totals.sent * copies


def changed_run(
    graph: Graph,
    place: tuple[str, str],
    model: Model,
    tuples: int | None,
    changes: list[tuple[int, int, bool, int]],
    drain: bool,
    seed: int,
) -> Totals:
    """Run the graph, change it after so many events each time, and end it."""
    machine, software = place
    ports = scheduled_ports(graph, model)
    balances = [
        operator for operator in graph.operators.values() if operator.kind is ELASTIC_LOAD_BALANCE
    ]
    engine = simulated(graph, model, machine, software=software, tuples=tuples, seed=seed)
    engine.start()
    for events, chosen, queued, level in changes:
        engine.sample_events(events)
        engine.set_queued(
            [port for place, port in enumerate(ports) if chosen >> place % 16 & 1], queued
        )
        if level and pool_of(graph, model).threads:
            engine.set_threads(min(level, load_machine(machine).cpus))
        for operator in balances:
            engine.set_active_ports(operator.name, 1 + level % operator.outputs)
    if drain and tuples is not None and not engine.finished():
        engine.sample_events(ENOUGH)
    return engine.stop(drain=drain, timeout_s=5.0)
