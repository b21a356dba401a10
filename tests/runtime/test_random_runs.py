"""Random graphs of every kind of operator, under every model, changed at random while they run:
nothing breaks.
"""

from __future__ import annotations

from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from harness.engine import open_engine
from harness.graph import Graph, Operator, PortId, Threading
from harness.graph.annotations import in_force
from harness.graph.kinds import BARRIER, BUFFER, ELASTIC_LOAD_BALANCE, FILTER, PYTHON, SPLIT, WORK
from harness.models import Coroutine, Dedicated, Dynamic, Manual, Model, pool_of
from harness.models.policy import policies
from tests.runtime.shapes import chain, native, scheduled_ports

BUILT_IN = (
    "work",
    "spread",
    "join",
    "split",
    "keys",
    "filter",
    "bursts",
    "ordered",
    "shared",
    "balance",
    "barrier",
)
KINDS = (*BUILT_IN, "python", "drops", "native")
COSTS = st.sampled_from([0, 1, 30, 20_000])
WISHES = st.sampled_from(
    [
        None,
        None,
        None,
        Threading("manual"),
        Threading("dedicated"),
        Threading("dynamic"),
        Threading("dynamic", threads=3),
    ]
)


def keep(sequence: int, value: float, control: float = 0.0) -> float:
    return value


def drop(sequence: int, value: float, control: float = 0.0) -> float | None:
    return -value if sequence % 3 else None


def pass_on(
    sequence: int, value: object, payload: object, size: int, control: float, state: object
) -> int:
    return 1


def ordered_region(draw: st.DrawFn, graph: Graph, name: str) -> tuple[Operator, Operator]:
    """Split, unequal branches, merge: where it begins and where it ends."""
    width, keys = draw(st.integers(1, 4)), draw(st.sampled_from([0, 3, 50]))
    split, merge = graph.split(f"{name}_split", width, keys), graph.merge(f"{name}_merge")
    for branch in range(width):
        end = chain(
            graph, split.output(branch), draw(st.integers(0, 2)), draw(COSTS), f"{name}_{branch}_"
        )
        graph.connect(end, merge)
    return split, merge


def draw_operator(
    draw: st.DrawFn, graph: Graph, name: str, kinds: tuple[str, ...]
) -> tuple[Operator, Operator]:
    """An operator, or a region of several: where it begins and where it ends."""
    kind = draw(st.sampled_from(kinds))
    if kind == "ordered":
        return ordered_region(draw, graph, name)
    if kind in ("split", "keys"):
        operator = graph.split(
            name, draw(st.integers(1, 4)), draw(st.integers(1, 9)) if kind == "keys" else 0
        )
    elif kind == "shared":
        operator = graph.threaded_split(
            name, draw(st.integers(1, 4)), draw(st.sampled_from([1, 3, 100]))
        )
    elif kind == "balance":
        operator = graph.elastic_load_balance(
            name, draw(st.integers(1, 5)), draw(st.sampled_from([1, 3, 100]))
        )
    elif kind == "filter":
        operator = graph.filter(name, draw(st.sampled_from([0.0, 0.2, 0.9, 1.0])))
    elif kind == "python":
        operator = graph.python(
            name, keep, draw(st.integers(1, 2)), preserves=True, reentrant=draw(st.booleans())
        )
    elif kind == "drops":
        operator = graph.python(name, drop)
    elif kind == "barrier":
        operator = graph.barrier(name, draw(st.integers(2, 4)))
    elif kind == "native":
        operator = native(graph, name, pass_on, preserves=True)
    elif kind == "bursts":
        operator = graph.work(name, costs=[(3, 1), (2, 5000)], outputs=draw(st.integers(1, 2)))
    else:
        inputs, outputs = (2 if kind == "join" else 1), (3 if kind == "spread" else 1)
        keys = draw(st.sampled_from([0, 0, 1, 3, 1000]))
        selectivity = draw(st.sampled_from([1.0, 1.0, 1.0, 0.6]))
        operator = graph.work(
            name, draw(COSTS), inputs, outputs, selectivity=selectivity, keys=keys
        )
    return operator, operator


def feed_barrier(
    draw: st.DrawFn, graph: Graph, barrier: Operator, open_ports: list[PortId]
) -> None:
    """Inputs that get the same, on ways of different length; or each from a source of its own, but
    for the first.
    """
    origins = draw(st.lists(st.sampled_from(open_ports), min_size=1, max_size=3, unique=True))
    same = draw(st.booleans())
    for port in range(barrier.inputs):
        if port == 0 or same:
            start = graph.work(f"{barrier.name}_in{port}", draw(COSTS))
            for origin in origins:
                graph.connect(origin, start)
        else:
            start = graph.source(
                f"{barrier.name}_source{port}", window=draw(st.sampled_from([0, 7]))
            )
        graph.connect(
            chain(graph, start, draw(st.integers(0, 2)), 1, f"{barrier.name}_{port}_"),
            barrier.input(port),
        )


@st.composite
def graphs(draw: st.DrawFn, kinds: tuple[str, ...] = KINDS) -> Graph:
    """Any graph of operators of these kinds, from one to three sources to one sink."""
    graph = Graph("random", draw(st.sampled_from([0, 7, 96, 200])))
    open_ports: list[PortId] = []
    for index in range(draw(st.integers(1, 3))):
        open_ports.append(
            graph.source(f"source{index}", window=draw(st.sampled_from([0, 1, 7, 100]))).output(0)
        )
    controlled: list[Operator] = []
    for index in range(draw(st.integers(0, 8))):
        with in_force(draw(WISHES)):
            first, last = draw_operator(draw, graph, f"op{index}", kinds)
        if first.kind is BARRIER:
            feed_barrier(draw, graph, first, open_ports)
        for port in range(first.inputs if first.kind is not BARRIER else 0):
            for origin in draw(
                st.lists(st.sampled_from(open_ports), min_size=1, max_size=3, unique=True)
            ):
                graph.connect(origin, first.input(port))
        open_ports += [last.output(port) for port in range(last.outputs)]
        if first.kind in (WORK, FILTER, PYTHON) and draw(st.integers(0, 4)) == 0:
            controlled.append(first)
    for operator in controlled:  # fed from anywhere, also from downstream
        graph.connect(draw(st.sampled_from(open_ports)), graph.control(operator))
    sink = graph.sink("sink", inputs=draw(st.integers(1, 2)))
    for port in graph.output_ports():
        if not any(stream.source == port for stream in graph.streams):
            graph.connect(port, sink.input(draw(st.integers(0, sink.inputs - 1))))
    fed = {stream.target for stream in graph.streams}
    for port in range(sink.inputs):
        if sink.input(port) not in fed:
            graph.connect(draw(st.sampled_from(open_ports)), sink.input(port))
    unsplit = [
        port
        for port in graph.input_ports()
        if graph.operators[port.operator].kind not in (SPLIT, BUFFER)
    ]
    for port in draw(st.lists(st.sampled_from(unsplit), max_size=2, unique=True)):
        graph.threaded_port(port, draw(st.sampled_from([1, 3, 100])))
    return graph


CAPACITIES = st.sampled_from([1, 2, 5, 30, 1000])
MODELS = st.one_of(
    st.just(Manual()),
    st.builds(Dedicated, queue_capacity=CAPACITIES),
    st.builds(
        Coroutine,
        threads=st.integers(1, 6),
        policy=st.sampled_from(sorted(policies())),
        quantum_ms=st.sampled_from([0.01, 1.0, 50.0]),
        queue_capacity=CAPACITIES,
    ),
    st.builds(
        Dynamic,
        threads=st.integers(1, 6),
        queue_capacity=CAPACITIES,
        queued=st.sampled_from(["all", "none"]),
    ),
)
CHANGES = st.lists(
    st.tuples(st.integers(0, 2**16 - 1), st.booleans(), st.sampled_from([0, 1, 2, 5, 30])),
    max_size=12,
)
"""Ports (bits), on or off, and a level (0: as it was)."""


@given(
    graph=graphs(),
    model=MODELS,
    tuples=st.sampled_from([0, 1, 50, 700]),
    changes=CHANGES,
    drain=st.booleans(),
)
@settings(max_examples=150, suppress_health_check=list(HealthCheck))
def test_random_graphs_under_random_changes_keep_every_invariant(
    graph: Graph, model: Model, tuples: int, changes: list[tuple[int, bool, int]], drain: bool
) -> None:
    ports = scheduled_ports(graph, model)
    balances = [
        operator for operator in graph.operators.values() if operator.kind is ELASTIC_LOAD_BALANCE
    ]
    event(f"{model.name}, {'scheduled' if ports else 'nothing scheduled'}")
    engine = open_engine(graph, model, tuples=tuples)
    engine.start()
    for chosen, queued, level in changes:
        engine.set_queued(
            [port for place, port in enumerate(ports) if chosen >> place % 16 & 1], queued
        )
        if level and pool_of(graph, model).threads:
            engine.set_threads(level)
        for operator in balances:
            engine.set_active_ports(operator.name, 1 + level % operator.outputs)
        engine.sample(0.001)
    waited = 0.0
    while drain and not engine.finished() and waited < 300.0:
        waited += engine.sample(0.1).elapsed_s
    totals = engine.stop(drain=drain, timeout_s=5.0)
    assert totals.correct, totals
    assert totals.drained or not drain
    copies = graph.flow().copies
    if totals.drained and copies is not None:
        assert totals.received == totals.sent * copies
