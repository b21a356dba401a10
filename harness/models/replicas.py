"""Which operators of a graph may have replicas, and how many: one answer for engines, laws and errors (C-Stream §4.2.1).

An operator may have some if it has one input and one output, is a co-routine that feeds queues, and keeps nothing from tuple to
tuple but by key. Built-in `work` and `filter` operators keep nothing: what they do with a tuple follows from its number and
value alone, be they busy for a time, do they drop some or have bursts of costs. Of a user's own operator its author says so
(`stateless`), or that it has a state for each key (`keys`).
"""

from __future__ import annotations

from harness.errors import UserError
from harness.graph import Graph, Operator
from harness.graph.kinds import MERGE, SPLIT
from harness.graph.values import MAX_REPLICAS
from harness.models import Coroutine, Model, Queue, port_queues

REPLICA_ROOM = 512
"""Co-routines that all operators together may have beside their own: each has a stack, of address space until it is used."""

NO_COROUTINE = "is executed by no co-routine: replicas need the coroutine model"


def why_single(graph: Graph, model: Model) -> list[str]:
    """Why each operator can have no replicas, in the graph's order; "" for one that can. Empty under other models: none can."""
    if not isinstance(model, Coroutine):
        return []
    queues = dict(zip(graph.input_ports(), port_queues(graph, model), strict=True))
    feeds_calls = {source.operator for source, target in graph.streams if queues[target].kind is Queue.CALLED}
    marked = any(operator.window for operator in graph.operators.values())
    in_order = _between_split_and_merge(graph) if marked else frozenset()
    why = []
    for operator in graph.operators.values():
        text = _of_operator(operator)
        if not text and (queues[operator.input(0)].kind is not Queue.RESUMED or operator.name in feeds_calls):
            text = "has an input port, or feeds one, that no co-routine executes"
        if not text and operator.name in in_order:
            text = "passes window punctuation from a split to its merge, which has room for no more"
        why.append(text)
    return why


def most_replicas(able: int) -> int:
    """Replicas that each of so many operators may have, its own co-routine included."""
    return min(MAX_REPLICAS, 1 + REPLICA_ROOM // max(able, 1))


def replicable(graph: Graph, model: Model) -> dict[str, int]:
    """The operators that may have replicas, in the graph's order, and how many."""
    able = [name for name, why in zip(graph.operators, why_single(graph, model), strict=False) if not why]
    most = most_replicas(len(able))
    return dict.fromkeys(able, most) if most > 1 else {}


def begins_with(graph: Graph, model: Model) -> dict[str, int]:
    """The replicas that operators have when a run begins, of those that do not have one, as the model says.

    Raises UserError if no operator can have any, or not as many.
    """
    wanted = model.replicas if isinstance(model, Coroutine) else None
    if wanted is None or wanted == 1:
        return {}
    able = replicable(graph, model)
    if not able:
        rule = f"replicas must be 1 for graph {graph.name!r}, of which no operator can have more, not {wanted}"
        raise UserError(rule + _first_reason(graph, model))
    most = max(able.values())
    if wanted > most:
        raise UserError(
            f"replicas must be at most {most} for graph {graph.name!r}, of each of {len(able)} operators, not {wanted}"
        )
    return dict.fromkeys(able, wanted)


def _first_reason(graph: Graph, model: Model) -> str:
    """Why the first operator with one port on each side has no replicas, if there is one."""
    for operator, why in zip(graph.operators.values(), why_single(graph, model), strict=True):
        if why and (operator.inputs, operator.outputs) == (1, 1):
            return f": operator {operator.name!r} {why}"
    return ""


def _of_operator(operator: Operator) -> str:
    """The reason that lies in the operator itself."""
    if operator.inputs != 1 or operator.outputs != 1:
        return f"has {operator.inputs} input and {operator.outputs} output ports: replicas need one of each"
    if operator.typed is not None or not (operator.kind.stateless or operator.kind.calls_user_function):
        return f"is a {operator.kind}, which keeps something from tuple to tuple"
    declared = operator.kind.stateless or operator.stateless or operator.keys > 0
    return "" if declared else "is declared neither stateless nor by key"


def _between_split_and_merge(graph: Graph) -> frozenset[str]:
    """Operators whose tuples a merge puts in order again: those upstream of one, up to its split."""
    senders: dict[str, list[str]] = {}
    for source, target in graph.streams:
        senders.setdefault(target.operator, []).append(source.operator)
    frontier = [operator.name for operator in graph.operators.values() if operator.kind is MERGE]
    between: set[str] = set()
    while frontier:
        for name in senders.get(frontier.pop(), ()):
            if graph.operators[name].kind is not SPLIT and name not in between:
                between.add(name)
                frontier.append(name)
    return frozenset(between)
