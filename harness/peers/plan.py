"""A graph as the input of a peer's program: operators by number, and the streams between them.
Lines of words:

  payload BYTES
  capacity TUPLES                       of a queue
  batch TUPLES                          handed on at once; 1: each by itself
  tuples N                              of each source; -1: until the command to stop
  operator KIND COST BUSY PORTS         a line each, numbered from 0; KIND is source, work or
                                        sink; COST in dependent floating-point operations,
                                        BUSY in ns: one of them is 0; PORTS output ports
  gap OPERATOR NS                       from one tuple of a source to the next; without this
                                        line it sends at full speed. Tuple n is due n times
                                        the gap after the start, and is born then
  stream OPERATOR PORT OPERATOR STEP    from an output port to the next operator; STEP is
                                        added to the tuple's path

A tuple goes to the next output port in turn, and there to every stream. A split is no operator of
its own if one operator alone feeds it: that operator gets its output ports, as our split runs on
the thread that submits to it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from harness.engine.conservation import Stream
from harness.errors import UserError
from harness.graph import Graph, Operator
from harness.graph.kinds import SINK, SOURCE, SPLIT, WORK
from harness.models.analysis import paths_of
from harness.runtime.protocol import BATCH_BYTES

HEADER_BYTES = 32  # of a tuple besides its payload, about
QUEUE_BYTES = 2 * 2**20
"""Most memory of the tuples in a queue that is counted in batches: with 8 MiB,
crossbeam-batched took twice as much CPU time for tuples of 4 KiB."""
BATCH_FLOP = 64 * 1024
"""Most work on a batch at one operator, in FLOP or in ns that it is busy. With a quarter of it, as
in our runtime, crossbeam-batched takes 5 to 13 % more CPU time at 1,000 FLOP."""
LEAST_BATCH = 2  # tuples, however large or expensive


@dataclass(frozen=True)
class PeerPlan:
    """Plan of a graph. `places`: the place in the graph of each operator of the program; `folded`:
    by the place of a split that the program does not have, the place of the operator that does its
    work. `streams` and `order` are the graph's own; `ordered`: True if each path can be
    distinguished; `chains`: True if it is chains of one length between one source and one sink.
    """

    text: str
    places: Sequence[int]
    folded: dict[int, int]
    streams: Sequence[Stream]
    ordered: bool
    chains: bool

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


def batch_of(graph: Graph, most: int) -> int:
    """Return the tuples that are handed on at once: `most`, or fewer where they are large or an
    operator is expensive, as a batch waits until its last tuple is executed.
    """
    work = max(
        (max(each.cost, each.busy_us * 1000) for each in graph.operators.values()), default=0
    )
    fitting = min(int(BATCH_FLOP / max(work, 1)), BATCH_BYTES // (HEADER_BYTES + graph.payload))
    return min(most, max(LEAST_BATCH, fitting))


def queue_of(graph: Graph, batches: int, batch: int) -> int:
    """Return the tuples in a queue of so many batches, which has fewer, but two, where tuples are
    large.
    """
    fitting = QUEUE_BYTES // (HEADER_BYTES + graph.payload) // batch
    return batch * min(batches, max(2, fitting))


def plan_of(
    graph: Graph, capacity: int, tuples: int | None, batch: int = 1, bounded: bool = True
) -> PeerPlan:
    """Return the plan of a checked graph. `batch`: tuples that are handed on at once, at most;
    `bounded`: fewer, where `batch_of` says so. Raises UserError for an operator that peers lack.
    """
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
        f"batch {batch_of(graph, batch) if bounded else batch}",
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
        if operators[place].rate is not None:
            lines.append(f"gap {number[place]} {1e9 / operators[place].rate!r}")
    for place in places:
        for stream in leaving[_last(place, ways)]:
            lines.append(
                f"stream {number[place]} {stream[1]} {number[stream[2]]} {steps.get(stream, 0)}"
            )
    ordered = all(paths[place] is not None for place in range(len(operators)))
    chains = _are_chains(operators, {place: _last(place, ways) for place in places}, leaving)
    return PeerPlan("\n".join(lines) + "\n", places, folded, streams, ordered, chains)


def _last(place: int, ways: dict[int, int]) -> int:
    """Return the operator whose output ports an operator of the program has: itself, or the last of
    the splits that it executes.
    """
    while ways.get(place, place) != place:
        place = ways[place]
    return place


def _are_chains(
    operators: Sequence[Operator], last: Mapping[int, int], leaving: Mapping[int, Sequence[Stream]]
) -> bool:
    """Return True if the operators form chains of one length between one source and one sink.
    `last`: by the place of an operator, that of the operator whose output ports it has.
    """
    sources, sinks = (
        [place for place in last if operators[place].kind is kind] for kind in (SOURCE, SINK)
    )
    if len(sources) != 1 or len(sinks) != 1:
        return False
    after = {place: [stream[2] for stream in leaving[end]] for place, end in last.items()}
    if len(after[sources[0]]) != operators[last[sources[0]]].outputs:
        return False  # it sends a tuple several ways
    passed, lengths = 2, set()
    for place in after[sources[0]]:
        length = 0
        while len(after[place]) == 1:
            place, length = after[place][0], length + 1
        if place != sinks[0]:
            return False
        lengths.add(length)
        passed += length
    # An operator of two chains is passed twice, one of no chain not at all.
    return len(lengths) == 1 and passed == len(last)


def _check(operator: Operator) -> None:
    """Raise UserError for features that peers do not have."""
    odd = {
        "a source with bursts of rates": bool(operator.rates),
        "a source with window punctuations": operator.window > 0,
        "work in bursts of costs": bool(operator.costs),
        "work with a selectivity": operator.kind is WORK and operator.selectivity < 1.0,
        "a split by keys": operator.kind is SPLIT and operator.keys > 0,
        f"an operator of kind {operator.kind}": operator.kind not in (SOURCE, WORK, SPLIT, SINK),
    }
    for what, is_so in odd.items():
        if is_so:
            raise UserError(
                f"peers run sources, work, splits in turn and sinks, not {what}: {operator.name!r}"
            )
