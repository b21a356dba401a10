"""A user's own scenarios of placements: a YAML or JSON file with a list of them.

  - name: my-graph
    topology: pipeline                    # or `graph`: a graph file
    parameters: {operators: 20, cost: 100, payload: 1024}
    machine: xeon                         # of config/machines, or a file; `software` likewise
    software: streams-4.2
    constants: {copy.call: 8}             # numbers in place of the machine's
    cpus: 16                              # and `smt`, CPUs a core (1)
    noise: 0.03
    periods: 150
    seed: 7
    phases: [{at: 75, scale: 10}]         # `scale` of all costs, `others`: share of the CPUs that others have
  - name: my-formula
    topology: pipeline
    throughput: 1000 * min(n, k + 1) / (1 + 0.02 * k)     # n threads, k queues, q = k over places
    cpus: 16
  - name: my-measurements
    topology: pipeline
    parameters: {operators: 9}
    queues: [0, 5, 10]                    # a row each; between them on straight lines
    throughput: [[100, 100], [180, 190], [170, 240]]      # a column a level: 1, 2, …

A topology or graph is required; all else is optional. With `throughput` only the number of queues
counts.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from harness.bench.checks import mapping, number, shown, whole
from harness.bench.documents import MAX_PERIODS, graph_of, name_of, phases_of, scenarios_of
from harness.bench.expression import Expression
from harness.bench.queues.own import NAMES, Own
from harness.bench.queues.scenario import PERIODS, Phase, Scenario
from harness.bench.queues.world import World
from harness.elasticity import layout_of
from harness.errors import UserError
from harness.graph import Graph
from harness.graph.files.file import dump_graph
from harness.graph.values import MAX_THREADS
from harness.machines.machine import load_machine
from harness.machines.software import load_software
from harness.models import Dynamic

MAX_PLACES = 10_000
KEYS = (
    "name",
    "topology",
    "graph",
    "parameters",
    "machine",
    "software",
    "constants",
    "cpus",
    "smt",
)
KEYS += ("noise", "periods", "seed", "phases", "throughput", "queues")
PHASE_KEYS = ("at", "scale", "others")
MOST_OTHERS = 0.95  # share of the CPUs


def parse_surfaces(document: object) -> list[Scenario]:
    """Return the scenarios of a document read from YAML or JSON.

    Raise UserError naming the place, the rule and the value.
    """
    return scenarios_of(document, "surfaces", _scenario)


def _scenario(at: str, entry: object, place: int) -> Scenario:
    entry = mapping(at, entry, KEYS, required=())
    name = name_of(at, entry, f"surface-{place + 1}")
    seed = whole(f"{at}.seed", entry.get("seed"), 0, 2**63 - 1, default=0)
    periods = whole(f"{at}.periods", entry.get("periods"), 1, MAX_PERIODS, default=PERIODS)
    graph, world = graph_of(at, entry, seed), _world(at, entry)
    formula, table, queues = _throughput(at, entry)
    profiles = load_machine(world.machine).digest, load_software(world.software).digest
    content = json.dumps([_content(graph, world), entry, profiles], sort_keys=True, default=str)
    own = Own(sha256(content.encode()).hexdigest()[:24], graph, world, seed, formula, table, queues)
    if len(own.layout.ports) > MAX_PLACES:
        raise UserError(
            f"{at}: the graph must have at most {MAX_PLACES} ports to place queues at, not {len(own.layout.ports)}"
        )
    scenario = Scenario(
        name=name,
        world=world,
        own=own,
        noise=number(f"{at}.noise", entry.get("noise", 0.0), 0.0, 1.0, "of throughput"),
        phases=_phases(f"{at}.phases", entry.get("phases"), periods),
        periods=periods,
        seed=seed,
        event="phases" if entry.get("phases") else "",
    )
    # report a formula without a value now, not in the middle of a run
    for phase in scenario.phases:
        if formula is not None and not scenario.best(phase.at).throughput > 0.0:
            raise UserError(f"{at}.throughput must be more than 0 somewhere, not {shown(formula)}")
    return scenario


def _world(at: str, entry: Mapping[str, Any]) -> World:
    constants = entry.get("constants") or {}
    if not isinstance(constants, dict) or not all(isinstance(each, str) for each in constants):
        raise UserError(
            f"{at}.constants must be a mapping of paths to numbers, not {shown(constants)}"
        )
    cpus = whole(f"{at}.cpus", entry.get("cpus"), 1, MAX_THREADS, default=16)
    smt = whole(f"{at}.smt", entry.get("smt"), 1, 8, default=1)
    machine, software = entry.get("machine", "xeon"), entry.get("software", "millrace")
    for key, word in (("machine", machine), ("software", software)):
        if not isinstance(word, str):
            raise UserError(f"{at}.{key} must be a name or file, not {shown(word)}")
    try:
        load_machine(machine).with_constants(constants)
        load_software(software)
    except UserError as error:
        raise UserError(f"{at}: {error}") from None
    return World(machine, software, cpus, smt, tuple(sorted(constants.items())))


def _throughput(
    at: str, entry: Mapping[str, Any]
) -> tuple[str | None, tuple[tuple[float, ...], ...], tuple[int, ...]]:
    """Return the formula, the table, and the numbers of queues of the table's rows."""
    given, queues = entry.get("throughput"), entry.get("queues")
    if not isinstance(given, list):
        if queues is not None:
            raise UserError(
                f"{at}.queues goes with a table of throughputs only, not {shown(queues)}"
            )
        if given is not None:
            Expression(f"{at}.throughput", given if isinstance(given, str) else repr(given), NAMES)
        return None if given is None else str(given), (), ()
    if not isinstance(queues, list) or len(queues) != len(given):
        raise UserError(
            f"{at}.queues must be a number of queues for each of {len(given)} rows, not {shown(queues)}"
        )
    counts = tuple(
        whole(f"{at}.queues[{i}]", each, 0, MAX_PLACES, default=0) for i, each in enumerate(queues)
    )
    if list(counts) != sorted(set(counts)):
        raise UserError(f"{at}.queues must grow from row to row, not {shown(queues)}")
    if not all(isinstance(row, list) and len(row) == len(given[0]) and row for row in given):
        raise UserError(
            f"{at}.throughput must be rows of the same length, one level and more, not {shown(given)}"
        )
    rows = [
        tuple(
            number(f"{at}.throughput[{i}][{j}]", each, 1e-9, 1e18, "tuples/s")
            for j, each in enumerate(row)
        )
        for i, row in enumerate(given)
    ]
    return None, tuple(rows), counts


def _phases(at: str, given: object, periods: int) -> tuple[Phase, ...]:
    phases = [Phase(0)]
    for where, entry, begin in phases_of(at, given, PHASE_KEYS, periods):
        scale = number(f"{where}.scale", entry.get("scale", 1.0), 1e-3, 1e3, "of the costs")
        others = number(
            f"{where}.others", entry.get("others", 0.0), 0.0, MOST_OTHERS, "of the CPUs"
        )
        phases.append(Phase(begin, scale=scale, others=others))
    return tuple(phases)


def _content(graph: Graph, world: World) -> object:
    """Return the content that identifies a graph; for one with Python functions, the parts that
    laws and surfaces know."""
    try:
        return dump_graph(graph)
    except UserError:
        return repr(layout_of(graph, Dynamic(threads=1, queued="none"), world.cpus))
