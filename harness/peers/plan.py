"""A graph as the input of a peer's program: operators by number, and the streams between them.
Lines of words:

  payload BYTES
  capacity TUPLES                       of a queue
  tuples N                              of each source; -1: until the command to stop
  operator KIND COST BUSY PORTS         a line each, numbered from 0; KIND is source, work or
                                        sink; COST in dependent floating-point operations,
                                        BUSY in ns: one of them is 0; PORTS output ports
  stream OPERATOR PORT OPERATOR STEP    from an output port to the next operator; STEP is
                                        added to the tuple's path

A tuple goes to the next output port in turn, and there to every stream. A split is no operator of
its own if one operator alone feeds it: that operator gets its output ports, as our split runs on
the thread that submits to it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from harness.engine.conservation import Stream
from harness.errors import UserError
from harness.graph import Graph, Operator
from harness.graph.kinds import SINK, SOURCE, SPLIT, WORK
from harness.models.analysis import paths_of


@dataclass(frozen=True)
class PeerPlan:
    """Plan of a graph. `places`: the place in the graph of each operator of the program; `folded`:
    by the place of a split that the program does not have, the place of the operator that does its
    work. `streams` and `order` are the graph's own; `ordered`: True if each path can be
    distinguished.
    """

    text: str
    places: Sequence[int]
    folded: dict[int, int]
    streams: Sequence[Stream]
    ordered: bool

    def by_place(self, counts: Sequence[int]) -> list[int]:
        """Return counts by operator of the program as counts by operator of the graph."""
        of = dict(zip(self.places, counts, strict=True))
        return [
            of[self._executed_by(place)] for place in range(len(self.places) + len(self.folded))
        ]

    def _executed_by(self, place: int) -> int:
        while place in self.folded:
            place = self.folded[place]
        return place


def plan_of(graph: Graph, capacity: int, tuples: int | None) -> PeerPlan:
    """Return the plan of a checked graph. Raises UserError for an operator that peers lack."""
    operators = list(graph.operators.values())
    for operator in operators:
        _check(operator)
    if graph.threaded:
        raise UserError(
            f"peers have no threaded ports; graph {graph.name!r} has {len(graph.threaded)}"
        )
    place_of = {operator.name: place for place, operator in enumerate(operators)}
    streams = [
        (place_of[a.operator], a.port, place_of[b.operator], b.port) for a, b in graph.streams
    ]
    arriving: dict[int, list[Stream]] = defaultdict(list)
    leaving: dict[int, list[Stream]] = defaultdict(list)
    for stream in streams:
        leaving[stream[0]].append(stream)
        arriving[stream[2]].append(stream)
    paths, steps, _ = paths_of(
        operators, graph.numbered().order, [arriving[place] for place in range(len(operators))]
    )
    folded = {
        place: arriving[place][0][0]
        for place, operator in enumerate(operators)
        if operator.kind is SPLIT
        and len(arriving[place]) == 1
        and len(leaving[arriving[place][0][0]]) == 1
        and operators[arriving[place][0][0]].outputs == 1
    }
    places = [place for place in range(len(operators)) if place not in folded]
    number = {place: index for index, place in enumerate(places)}
    ways = {place: place for place in places} | {
        by: split for split, by in sorted(folded.items(), reverse=True)
    }
    lines = [
        f"payload {graph.payload}",
        f"capacity {capacity}",
        f"tuples {-1 if tuples is None else tuples}",
    ]
    for place in places:
        operator, last = operators[place], _last(place, ways)
        kind = WORK if operator.kind is SPLIT else operator.kind
        lines.append(
            f"operator {kind} {operator.cost} {round(operator.busy_us * 1000)} "
            f"{operators[last].outputs}"
        )
    for place in places:
        for stream in leaving[_last(place, ways)]:
            lines.append(
                f"stream {number[place]} {stream[1]} {number[stream[2]]} {steps.get(stream, 0)}"
            )
    ordered = all(paths[place] is not None for place in range(len(operators)))
    return PeerPlan("\n".join(lines) + "\n", places, folded, streams, ordered)


def _last(place: int, ways: dict[int, int]) -> int:
    """Return the operator whose output ports an operator of the program has: itself, or the last of
    the splits that it executes.
    """
    while ways.get(place, place) != place:
        place = ways[place]
    return place


def _check(operator: Operator) -> None:
    """Raise UserError for features that peers do not have."""
    odd = {
        "a source with a rate": operator.rate is not None or bool(operator.rates),
        "a source with window punctuations": operator.window > 0,
        "work in bursts of costs": bool(operator.costs),
        "work with a selectivity": operator.kind is WORK and operator.selectivity < 1.0,
        "a split by keys": operator.kind is SPLIT and operator.keys > 0,
        f"an operator of kind {operator.kind}": operator.kind not in (SOURCE, WORK, SPLIT, SINK),
    }
    for what, is_so in odd.items():
        if is_so:
            raise UserError(
                f"peers run sources at full speed, work, splits in turn and sinks, not {what}: "
                f"{operator.name!r}"
            )
