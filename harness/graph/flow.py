"""Flow of a tuple through a graph: the number of operators that it passes, and of copies that
arrive.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from harness.graph.data import OperatorGraph
from harness.graph.kinds import BARRIER, CONTROL, LOOP, SINK
from harness.graph.operator import Operator
from harness.graph.order import Numbered

MAX_COPIES = 2**53
"""Most copies that are counted; more are reported as None. A chain of fan-outs would make numbers
of any length.
"""


@dataclass(frozen=True)
class Flow:
    """Hops and copies of a source's tuple, on average, if users' functions pass on what they get.

    `hops`: operators of a kind that is a hop that a tuple passes on its way, per tuple at the
    sinks; `hopping`: which of the graph's operators these are, by place. `copies`: tuples at the
    sinks per tuple sent; None if it depends on the tuple, as it does behind an operator that may
    drop. `copies_from`: for a tuple that arrives at each operator, the tuples that end somewhere,
    which is at a sink, a control port, a barrier or a loop, one that is dropped counted as if it
    went on; None if it depends on the tuple, or the tuple is typed. `copies_behind`: the same for a
    tuple that a barrier sends.
    """

    hops: float
    hopping: tuple[int, ...]
    copies: int | None
    copies_from: dict[str, int | None]
    copies_behind: dict[str, int | None]


def flow_of(graph: OperatorGraph) -> Flow:
    """Return the flow of an acyclic graph; splits and round-robin outputs share evenly, fan-out
    multiplies.
    """
    operators = list(graph.operators.values())
    numbered = graph.numbered()
    ends, behind = _copies(
        graph,
        operators,
        numbered,
        [1 if operator.typed is None else None for operator in operators],
    )
    at_sinks = ends
    if not all(operator.preserves and operator.kind is not CONTROL for operator in operators):
        at_end = [
            int(operator.kind is SINK) if operator.preserves else None for operator in operators
        ]
        at_sinks, _ = _copies(graph, operators, numbered, at_end)
    of_sources = {at_sinks[index] for index, operator in enumerate(operators) if operator.is_source}
    names = list(graph.operators)
    return Flow(
        _hops(operators, numbered),
        tuple(index for index, operator in enumerate(operators) if operator.kind.hop),
        of_sources.pop() if len(of_sources) == 1 else None,
        {names[index]: ends[index] for index in numbered.order},
        {names[index]: copies for index, copies in behind.items()},
    )


def visits_of(graph: OperatorGraph) -> dict[str, float]:
    """Return the tuples that come to each operator, or that a source sends, per tuple at the sinks,
    with the assumptions of `flow_of`; nothing if none arrives.
    """
    rate, arrivals = _rates(list(graph.operators.values()), graph.numbered())
    arrived = math.fsum(arrivals)
    if arrived == 0.0:
        return {}
    return {name: each / arrived for name, each in zip(graph.operators, rate, strict=True)}


def hops_where(graph: OperatorGraph, sent: Sequence[float]) -> float:
    """Return the hops that a tuple passes, per tuple at the sinks, where each source has sent so
    many tuples; `sent` is by operator, and that of others does not count. 0 if nothing arrives.
    """
    return _hops(list(graph.operators.values()), graph.numbered(), sent)


def _hops(
    operators: list[Operator], numbered: Numbered, sent: Sequence[float] | None = None
) -> float:
    rate, arrivals = _rates(operators, numbered, sent)
    try:
        passed = math.fsum(rate[index] for index in numbered.order if operators[index].kind.hop)
        arrived = math.fsum(arrivals)
    except OverflowError:
        return 0.0
    return round(passed / arrived, 9) if 0.0 < arrived < math.inf and passed < math.inf else 0.0


def _rates(
    operators: list[Operator], numbered: Numbered, sent: Sequence[float] | None = None
) -> tuple[list[float], list[float]]:
    """Return the tuples that come to each operator while each source sends one, or as many as
    `sent` has for it, and those that arrive at sinks by each stream.
    """
    targets = numbered.targets
    rate = [
        (1.0 if sent is None else float(sent[place])) if operator.is_source else 0.0
        for place, operator in enumerate(operators)
    ]
    arrivals: list[float] = []  # added up exactly: a million small shares must not drift
    for index in numbered.order:
        operator = operators[index]
        share = rate[index] * operator.selectivity / (operator.outputs or 1)
        for stream in numbered.leaving(index):
            target = targets[stream]
            rate[target] += share
            if operators[target].is_sink:
                arrivals.append(share)
    return rate, arrivals


def _copies(
    graph: OperatorGraph, operators: list[Operator], numbered: Numbered, at_end: list[int | None]
) -> tuple[list[int | None], dict[int, int | None]]:
    """Return the copies of a tuple that arrives at each operator, and of one that each barrier
    sends.

    `at_end`: copies at an operator without output ports; None at one that may drop.
    """
    copies: list[int | None] = [None] * len(operators)
    behind: dict[int, int | None] = {}
    targets = numbered.targets
    for index in reversed(numbered.order):
        outputs, streams = operators[index].outputs, numbered.leaving(index)
        if outputs == 0 or at_end[index] is None or operators[index].kind is LOOP:
            copies[index] = at_end[index]
        elif outputs == 1 and len(streams) == 1:
            copies[index] = copies[targets[streams[0]]]
        else:
            per_port: list[int | None] = [0] * outputs
            for stream in streams:
                port = graph.streams[stream].source.port
                so_far, more = per_port[port], copies[targets[stream]]
                per_port[port] = (
                    None
                    if so_far is None or more is None or so_far + more > MAX_COPIES
                    else so_far + more
                )
            copies[index] = per_port[0] if per_port.count(per_port[0]) == outputs else None
        if operators[index].kind is BARRIER:
            behind[index] = copies[index]
            copies[index] = None if at_end[index] is None else 1
    return copies, behind
