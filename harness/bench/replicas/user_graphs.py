"""A user's own scenarios of threads and replicas: a YAML or JSON file with a list of them.

  - name: my-graph
    topology: chain                       # or `graph`: a graph file
    parameters: {operators: 4}
    costs: {busy1: 5, busy2: 40}          # of an operator [µs a tuple]; the others: 1 ns a FLOP, and `LEAST_COST` at least
    serial: {busy2: 0.1}                  # share of its work that replicas can only do one after the other (0)
    target: 20000                         # that each source sends [tuples/s]; without it: all it can
    max: 12                               # threads, and replicas of an operator
    cores: 12                             # (max)
    noise: 0.02
    drift: 0.0
    periods: 80
    seed: 7
    phases: [{at: 40, target: 40000, costs: {busy1: 20}}]     # what a phase does not name stays

A topology or graph is required; all else is optional. The graph determines the operators that may
have replicas, as under the model `coroutine`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from harness.bench.checks import mapping, number, shown, whole
from harness.bench.documents import MAX_PERIODS, graph_of, name_of, phases_of, scenarios_of
from harness.bench.replicas.scenario import PERIODS, Scenario
from harness.bench.replicas.world import World
from harness.bench.scenario import OWN
from harness.elasticity import Bounds, Layout, layout_of
from harness.errors import UserError
from harness.graph.values import MAX_THREADS
from harness.models import Coroutine

KEYS = ("name", "topology", "graph", "parameters", "costs", "serial", "target", "max", "cores")
KEYS += ("noise", "drift", "periods", "seed", "phases")
PHASE_KEYS = ("at", "target", "costs")
MAXIMUM = 12  # threads, as of C-Stream's machine
MAX_OPERATORS = 1000
NAMED = 8  # operators in a message
LEAST_COST = 0.1  # µs a tuple: to hand it on


def parse_graphs(document: object) -> list[Scenario]:
    """Return the scenarios of a document read from YAML or JSON.

    Raise UserError naming the place, the rule and the value.
    """
    return scenarios_of(document, "graphs", _scenario)


def _scenario(at: str, entry: object, place: int) -> Scenario:
    entry = mapping(at, entry, KEYS, required=())
    name = name_of(at, entry, f"graph-{place + 1}")
    seed = whole(f"{at}.seed", entry.get("seed"), 0, 2**63 - 1, default=0)
    periods = whole(f"{at}.periods", entry.get("periods"), 1, MAX_PERIODS, default=PERIODS)
    maximum = whole(f"{at}.max", entry.get("max"), 1, MAX_THREADS, default=MAXIMUM)
    cores = whole(f"{at}.cores", entry.get("cores"), 1, MAX_THREADS, default=maximum)
    layout = _layout(at, entry, seed, cores)
    costs = tuple(max(LEAST_COST * 1e-6, 1e-9 * flop) for flop in layout.flop)
    serial = _by_operator(
        f"{at}.serial", entry.get("serial"), layout.names, 0.0, 1.0, "of the work"
    )
    world = World(
        layout=layout,
        costs=_costs(f"{at}.costs", entry.get("costs"), layout.names, costs),
        serial=tuple(serial.get(operator, 0.0) for operator in layout.names),
        cores=cores,
        target=_target(f"{at}.target", entry.get("target"), None),
    )
    phases = [(0, world)]
    for where, phase, begin in phases_of(f"{at}.phases", entry.get("phases"), PHASE_KEYS, periods):
        before = phases[-1][1]
        costs = _costs(f"{where}.costs", phase.get("costs"), layout.names, before.costs)
        target = _target(f"{where}.target", phase.get("target"), before.target)
        phases.append((begin, replace(before, costs=costs, target=target)))
    return Scenario(
        name=name,
        kind=OWN,
        event="phases" if len(phases) > 1 else "",
        phases=tuple(phases),
        bounds=Bounds(1, maximum, 1),
        noise=number(f"{at}.noise", entry.get("noise", 0.0), 0.0, 1.0, "of throughput"),
        drift=number(f"{at}.drift", entry.get("drift", 0.0), 0.0, 1.0, "of throughput"),
        periods=periods,
        seed=seed,
    )


def _layout(at: str, entry: Mapping[str, Any], seed: int, cores: int) -> Layout:
    """Return the graph as a law sees it. Raise UserError if an operator gets no tuples."""
    graph = graph_of(at, entry, seed)
    try:
        layout = layout_of(graph, Coroutine(), cores)
    except UserError as error:
        raise UserError(f"{at}: {error}") from None
    if layout.operators > MAX_OPERATORS:
        raise UserError(
            f"{at}: the graph must have at most {MAX_OPERATORS} operators, not {layout.operators}"
        )
    for operator, tuples in zip(layout.names, layout.tuples, strict=True):
        if not tuples > 0.0:
            raise UserError(f"{at}: each operator must get tuples, and {shown(operator)} gets none")
    return layout


def _target(at: str, value: object, default: float | None) -> float | None:
    return default if value is None else number(at, value, 1e-3, 1e12, "tuples/s")


def _costs(
    at: str, given: object, names: Sequence[str], others: Sequence[float]
) -> tuple[float, ...]:
    """Return the costs of all operators [s a tuple]; those of operators without a given cost are in
    `others`."""
    costs = _by_operator(at, given, names, 1e-3, 1e9, "µs")
    return tuple(
        1e-6 * costs[name] if name in costs else other
        for name, other in zip(names, others, strict=True)
    )


def _by_operator(
    at: str, given: object, names: Sequence[str], low: float, high: float, unit: str
) -> dict[str, float]:
    if given is None:
        return {}
    if not isinstance(given, dict):
        raise UserError(f"{at} must be a mapping of operators to numbers, not {shown(given)}")
    for name in given:
        if name not in names:
            known = ", ".join([*names[:NAMED], *(["…"] if len(names) > NAMED else [])])
            raise UserError(f"{at} has no operator {shown(name)}; operators are: {known}")
    return {name: number(f"{at}.{name}", value, low, high, unit) for name, value in given.items()}
