"""Rules that decide which operators of a graph may have replicas, and how many, for engines, laws
and errors (C-Stream §4.2.1).

An operator may have some if it has one input and one output, is a co-routine that feeds queues, and
keeps nothing from tuple to tuple, except by key. Built-in `work` and `filter` operators keep
nothing: their result depends on a tuple's number and value alone, even if they are busy for a time,
drop some tuples or have bursts of costs. The author of a user's operator declares this
(`stateless`), or that it has a state for each key (`keys`, or attributes `by` of typed tuples).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from harness.errors import UserError
from harness.graph import Graph, Operator
from harness.graph.kinds import MERGE, SPLIT
from harness.graph.values import MAX_REPLICAS
from harness.models import Coroutine, Model, PortQueue, Queue, port_queues

REPLICA_ROOM = 512
"""Co-routines that all operators together may have beside their own. Each has a stack, only address
space until it is used.
"""

NO_COROUTINE = "is executed by no co-routine: replicas need the coroutine model"
UNDECLARED = "is declared neither stateless nor by key"
NOT_EXECUTED = "has an input port, or feeds one, that no co-routine executes"
TYPED_SIMULATED = "is typed: where it is simulated, only means of what it does are known"
IN_ORDER = "passes window punctuation from a split to its merge, which has room for no more"
BY_REMEDY = (UNDECLARED, NOT_EXECUTED, IN_ORDER, "")
"""Beginnings of reasons: a declaration is the easiest to change, and an operator's kind the
hardest.
"""


def why_single(
    graph: Graph, model: Model, port_queues: Sequence[PortQueue], simulated: bool = False
) -> list[str]:
    """Return the reasons why operators can have no replicas, in the graph's order; "" for one that
    can. Empty under models without co-routines, where none can.

    `port_queues`: those of the graph under the model.
    """
    if not isinstance(model, Coroutine):
        return []
    if simulated and graph.typed_graph:
        return [TYPED_SIMULATED] * len(graph.operators)
    queues = dict(zip(graph.input_ports(), port_queues, strict=True))
    feeds_calls = {
        source.operator for source, target in graph.streams if queues[target].kind is Queue.CALLED
    }
    marked = any(operator.window for operator in graph.operators.values())
    in_order = _between_split_and_merge(graph) if marked else frozenset()
    why = []
    for operator in graph.operators.values():
        text = _of_operator(operator)
        if not text and (
            queues[operator.input(0)].kind is not Queue.RESUMED or operator.name in feeds_calls
        ):
            text = NOT_EXECUTED
        if not text and operator.name in in_order:
            text = IN_ORDER
        why.append(text)
    return why


def most_replicas(able: int) -> int:
    """Return the replicas that each of `able` operators may have, its own co-routine included."""
    return min(MAX_REPLICAS, 1 + REPLICA_ROOM // max(able, 1))


def replicable(graph: Graph, model: Model) -> dict[str, int]:
    """Return the operators that may have replicas, in the graph's order, and how many."""
    reasons = why_single(graph, model, port_queues(graph, model))
    able = [name for name, why in zip(graph.operators, reasons, strict=False) if not why]
    most = most_replicas(len(able))
    return dict.fromkeys(able, most) if most > 1 else {}


def begins_with(graph: Graph, model: Model, why: Sequence[str]) -> dict[str, int]:
    """Return the replicas that operators have when a run begins, of those that do not have one, as
    the model says; `why`: as from `why_single`.

    Raises UserError if no operator can have any, or not as many.
    """
    wanted = model.replicas if isinstance(model, Coroutine) else None
    if wanted is None or wanted == 1:
        return {}
    reasons = dict(zip(graph.operators, why, strict=True))
    able = [name for name, why in reasons.items() if not why]
    most = most_replicas(len(able))
    if not able:
        rule = (
            f"replicas must be 1 for graph {graph.name!r}, of which no operator can have more, "
            f"not {wanted}"
        )
        raise UserError(f"{rule}: {_listed(graph, reasons)}")
    if wanted > most:
        shared = f", which share room for {REPLICA_ROOM} more" if most < MAX_REPLICAS else ""
        raise UserError(
            f"replicas must be at most {most} for graph {graph.name!r}, of each of {len(able)} "
            f"operators{shared}, not {wanted}"
        )
    return dict.fromkeys(able, wanted)


def _listed(graph: Graph, reasons: Mapping[str, str]) -> str:
    """List the reasons why no operator can have replicas: each once, first those that a user can
    change most easily.
    """
    named: dict[str, list[str]] = {}
    for name, why in reasons.items():
        if (graph.operators[name].inputs, graph.operators[name].outputs) == (1, 1):
            named.setdefault(why, []).append(name)
    if not named:
        return "none has one input and one output port"
    order = sorted(
        named,
        key=lambda why: next(
            place for place, start in enumerate(BY_REMEDY) if why.startswith(start)
        ),
    )
    return "; ".join(
        "operator "
        f"{named[why][0]!r}{f' (and {len(named[why]) - 1} more)' if len(named[why]) > 1 else ''} "
        f"{why}"
        for why in order
    )


def _of_operator(operator: Operator) -> str:
    """Return the reason that lies in the operator itself."""
    if operator.inputs != 1 or operator.outputs != 1:
        return (
            f"has {operator.inputs} input and {operator.outputs} output ports: replicas need "
            "one of each"
        )
    if not (operator.kind.stateless or operator.kind.may_be_stateless):
        return f"is a {operator.kind}, which keeps something from tuple to tuple"
    if operator.typed is not None and operator.typed.finish is not None:
        return "has a finish, which sends for all tuples together"
    by_key = operator.keys > 0 or (operator.typed is not None and bool(operator.typed.by))
    declared = operator.kind.stateless or operator.stateless or by_key
    return "" if declared else UNDECLARED


def _between_split_and_merge(graph: Graph) -> frozenset[str]:
    """Return the operators whose tuples a merge puts in order again: those upstream of it, up to
    its split.
    """
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
