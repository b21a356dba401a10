"""The rules that a whole graph must obey, for `Graph.check`: each broken one is a text that names
the operator or port.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice, pairwise
from typing import NamedTuple

from harness.graph.balance import outer_port
from harness.graph.barriers import barrier_problems
from harness.graph.data import OperatorGraph
from harness.graph.kinds import BARRIER, CONTROL, MERGE, SINK, SOURCE, SPLIT
from harness.graph.operator import PortId, Stream
from harness.graph.order import cycle_of, describe_cycle, number

MAX_MERGE_PROBLEMS = 100
"""Most problems of merges that are reported. Each needs a walk of the merge's neighbourhood, so the
search has an end.
"""


class BrokenRule(NamedTuple):
    """Rule that a graph breaks. `about`: operators, by name, and streams that break it; none if
    something is missing.
    """

    text: str
    about: tuple[str | Stream, ...] = ()


def problems_of(graph: OperatorGraph) -> Iterator[BrokenRule]:
    """Yield every rule that the graph breaks, with its place."""
    kinds = {operator.kind for operator in graph.operators.values()}
    if not any(operator.is_source for operator in graph.operators.values()):
        yield BrokenRule("no source: a graph needs an operator without input ports")
    if not any(operator.is_sink for operator in graph.operators.values()):
        yield BrokenRule("no sink: a graph needs an operator without output ports")
    feeding = {stream.source for stream in graph.streams}
    if len(feeding) < sum(operator.outputs for operator in graph.operators.values()):
        unused = (port for port in graph.output_ports() if port not in feeding)
        yield from (
            BrokenRule(f"output port {outer_port(graph, port)} feeds nothing", (port.operator,))
            for port in unused
        )
    fed = {stream.target for stream in graph.streams}
    if len(fed) < sum(operator.inputs for operator in graph.operators.values()):
        yield from (
            BrokenRule(f"input port {port} is fed by nothing", (port.operator,))
            for port in graph.input_ports()
            if port not in fed
        )
    if len(set(graph.streams)) < len(graph.streams):
        seen: set[Stream] = set()
        for stream in graph.streams:
            if stream in seen:
                yield BrokenRule(
                    f"stream {outer_port(graph, stream.source)} -> {stream.target} is connected "
                    "twice",
                    (stream,),
                )
            seen.add(stream)
    typed = [operator.name for operator in graph.operators.values() if operator.typed is not None]
    if typed and len(typed) < len(graph.operators):
        plain = next(name for name, operator in graph.operators.items() if operator.typed is None)
        yield BrokenRule(
            f"operator {typed[0]!r} is typed and {plain!r} is not: in a graph all operators are "
            "typed, or none is",
            (plain,),
        )
    elif typed:
        yield from _schema_problems(graph)
    cycle = cycle_of(list(graph.operators), number(graph.operators, graph.streams))
    if cycle:
        closing = set(pairwise(cycle))
        yield BrokenRule(
            describe_cycle(cycle),
            tuple(
                stream
                for stream in graph.streams
                if (stream.source.operator, stream.target.operator) in closing
            ),
        )
        return
    if MERGE in kinds:
        found = islice(_merge_problems(graph), MAX_MERGE_PROBLEMS)
        yield from (BrokenRule(f"merge {merge!r}: {text}", (merge,)) for merge, text in found)
    if BARRIER in kinds:
        yield from (BrokenRule(text, (barrier,)) for barrier, text in barrier_problems(graph))


def _schema_problems(graph: OperatorGraph) -> Iterator[BrokenRule]:
    """Yield each stream whose schema is not the one that its target port takes."""
    for source, target in graph.streams:
        given = graph.operators[source.operator].typed
        taken = graph.operators[target.operator].typed
        if given.gives[source.port] != taken.takes[target.port]:
            name, wanted = given.gives[source.port].name, taken.takes[target.port].name
            found = (
                f"{name}, but the port takes {wanted}"
                if name != wanted
                else f"another {name} than the port takes"
            )
            text = f"stream {source} -> {target} has tuples of {found}"
            yield BrokenRule(text, (Stream(source, target),))


def _merge_problems(graph: OperatorGraph) -> Iterator[tuple[str, str]]:
    """Yield the merges that would wait for ever, by name, with the reason: all tuples of the split
    must reach its merge, each once.

    Copies that also go to a control port do not matter: they end there.
    """
    kind = {operator.name: operator.kind for operator in graph.operators.values()}
    downstream: dict[str, list[str]] = {name: [] for name in graph.operators}
    upstream: dict[str, list[str]] = {name: [] for name in graph.operators}
    targets: dict[PortId, int] = {}  # of each output port, control ports not counted
    for source, target in graph.streams:
        if kind[target.operator] is not CONTROL:
            downstream[source.operator].append(target.operator)
            upstream[target.operator].append(source.operator)
            targets[source] = targets.get(source, 0) + 1
    fan_out = {port.operator for port, count in targets.items() if count > 1}
    absorbed = {port.operator: port for port in graph.output_ports() if port not in targets}
    for merge in (name for name in graph.operators if kind[name] is MERGE):
        splits: set[str] = set()
        for name in _reach(upstream, merge, stop=lambda name: kind[name] is SPLIT):
            operator = graph.operators[name]
            if operator.kind is SPLIT:
                splits.add(name)
                if name in fan_out:
                    yield (
                        merge,
                        f"an output port of its split {name!r} feeds more than one input port",
                    )
            elif operator.kind in (SOURCE, MERGE):
                yield merge, f"{name!r} reaches it without passing a split"
            elif not operator.preserves or operator.outputs > 1 or name in fan_out:
                yield (
                    merge,
                    f"{name!r}, between it and its split, may drop, double or divert tuples",
                )
        if len(splits) > 1:
            yield merge, f"more than one split feeds it ({', '.join(sorted(splits))})"
        for split in sorted(splits):
            for name in (
                split,
                *_reach(downstream, split, stop=lambda name: kind[name] in (MERGE, SINK)),
            ):
                if name == merge:
                    continue
                if kind[name] in (MERGE, SINK):
                    yield merge, f"tuples of its split {split!r} also go to {name!r}"
                elif name in absorbed:
                    yield (
                        merge,
                        f"output port {absorbed[name]} keeps tuples of its split {split!r} from it",
                    )


def _reach(edges: dict[str, list[str]], start: str, stop: Callable[[str], bool]) -> Iterator[str]:
    """Yield the operators reachable from `start`, without it, and without going past those where
    `stop` holds.
    """
    seen: set[str] = set()
    frontier = list(edges[start])
    while frontier:
        name = frontier.pop()
        if name in seen:
            continue
        seen.add(name)
        yield name
        if not stop(name):
            frontier.extend(edges[name])
