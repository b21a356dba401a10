"""Graph that can be simulated: measured costs are in place of users' functions.

A graph whose streams have no schemas and that has no loops stays as it is, but work operators stand
for users' functions. In any other graph every operator has the costs of the profile, and the tuples
that it sends for one (harness/simulator/native/operators.hpp); where streams have no schemas yet,
they get one here.
"""

from __future__ import annotations

from dataclasses import replace

from harness.engine.profiled import Profiled
from harness.errors import UserError
from harness.graph import Graph
from harness.graph.kinds import (
    BARRIER,
    FILTER,
    LOOP,
    MERGE,
    NATIVE,
    PYTHON,
    SINK,
    SOURCE,
    SPLIT,
    TYPED,
    WORK,
)
from harness.graph.schema import Schema
from harness.graph.typed import Typed
from harness.machines.machine import Machine

REPLACED = (PYTHON, NATIVE)
PROFILED = (SOURCE, TYPED, FILTER, SPLIT, MERGE, BARRIER, LOOP, SINK)
"""Kinds that are simulated as their profile shows."""

LEAST_BUSY_US = 1e-3
ALL_PASSED = 0.999
"""Share from which on an operator counts as one that passes on all tuples: some are on their way
while they are counted.
"""


def needs_profile(graph: Graph) -> bool:
    """Return True if nobody can say from the graph what its operators cost."""
    return any(each.typed or not each.kind.simulated for each in graph.operators.values())


def check_simulable(graph: Graph) -> None:
    """Raise UserError for an operator that cannot be simulated with a profile either."""
    if not _wholly_profiled(graph):
        return
    for each in graph.operators.values():
        if each.kind not in (*PROFILED, *REPLACED, WORK):
            raise UserError(
                f"operator {each.name!r} is of kind {each.kind}: in a graph with loops it cannot "
                "be simulated, since a profile does not show what depends on a tuple's value or on "
                "the room in a buffer"
            )


def simulable(graph: Graph, profiled: Profiled, machine: Machine) -> Graph:
    """Return a graph that the simulator executes with a profile, scaled to a machine."""
    if _wholly_profiled(graph):
        return graph if graph.typed_graph else _with_schema(graph)
    if not needs_profile(graph):
        return graph
    made = Graph(graph.name, graph.payload)
    of_operators = zip(profiled.on(machine).cost_ns, profiled.sends, profiled.tuples, strict=True)
    for operator, (cost_ns, sends, tuples) in zip(
        graph.operators.values(), of_operators, strict=True
    ):
        if operator.kind not in REPLACED:
            made.put(operator)
            continue
        all_passed = operator.preserves or not tuples or sends[0] >= ALL_PASSED
        passed = 1.0 if all_passed else sends[0]
        made.put(
            replace(
                operator,
                kind=WORK,
                busy_us=max(cost_ns / 1000.0, LEAST_BUSY_US),
                selectivity=passed,
                preserves=passed == 1.0,
                reentrant=False,
                stateless=False,
                keys=operator.keys or (0 if operator.stateless else 1),
            )
        )
    made.streams += graph.streams
    made.threaded |= graph.threaded
    return made


def _wholly_profiled(graph: Graph) -> bool:
    """Return True if all operators of a graph are simulated as their profile shows."""
    return graph.typed_graph or any(each.kind is LOOP for each in graph.operators.values())


def _with_schema(graph: Graph) -> Graph:
    """Return a graph whose streams have a schema: operators do the same by their profile as those
    of a graph that was typed. There is no window punctuation.
    """
    payload = {"payload": f"bytes[{graph.payload}]"} if graph.payload else {}
    schema = Schema("tuple", {"value": "float64"} | payload)
    made = Graph(graph.name)
    for each in graph.operators.values():
        made.put(
            replace(
                each,
                kind=TYPED if each.kind in (WORK, *REPLACED) else each.kind,
                cost=0 if each.kind in REPLACED else each.cost,
                typed=Typed((schema,) * each.inputs, (schema,) * each.outputs, each.function),
                preserves=each.preserves and each.kind in (WORK, *REPLACED, SPLIT, MERGE),
                busy_us=0.0,
                costs=(),
                selectivity=1.0,
                window=0,
            )
        )
    made.streams += graph.streams
    made.threaded |= graph.threaded
    return made
