"""Barriers whose inputs can never agree: a rule that a whole graph must obey, for `Graph.check`.

A barrier takes a tuple from each of its inputs. Where two of them share a source, and one brings
more of its tuples than the other, the queues before the one fill up while the other still waits for
tuples that only the source can send: the graph deadlocks. Inputs of different sources may differ,
for there the faster source waits for the slower one.

So what arrives at a port is written as a sum: how many tuples of each *origin*, on average, in
whole fractions. An origin is a source, or an operator that sends as many tuples as it likes: one
that may drop some, an output port that is chosen by the tuple, a barrier whose inputs have
different origins. Inputs that share a source must bring the same sum.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import NamedTuple

from harness.graph.data import OperatorGraph
from harness.graph.kinds import BARRIER, MERGE, SINK, SPLIT
from harness.graph.operator import Operator

MAX_ORIGINS = 1000
"""Most origins in a sum. A sum with more is replaced by one origin of its own."""


class Arriving(NamedTuple):
    """Tuples that arrive at a port, or leave one, by origin, and the sources that they come
    from.
    """

    tuples: dict[object, Fraction]
    sources: frozenset[str]


def barrier_problems(graph: OperatorGraph) -> Iterator[tuple[str, str]]:
    """Yield each barrier of an acyclic graph that would deadlock, by name, with a text that names
    the inputs that do not agree.
    """
    streams = graph.predecessors()
    leaving: dict[str, list[Arriving]] = {}
    # by operator between a split and its merge: what arrived at the split
    before_split: dict[str, Arriving] = {}
    for name in graph.topological_order():
        operator = graph.operators[name]
        inputs = [
            _together(
                [leaving[source.operator][source.port] for source in streams[operator.input(port)]]
            )
            for port in range(operator.inputs)
        ]
        if operator.kind is BARRIER:
            yield from _disagreeing(operator, inputs)
        senders = [
            source.operator
            for port in range(operator.inputs)
            for source in streams[operator.input(port)]
        ]
        came = next((before_split[sender] for sender in senders if sender in before_split), None)
        leaving[name] = _sent(operator, inputs, came)
        if operator.kind is SPLIT:
            before_split[name] = inputs[0]
        elif came is not None and operator.kind not in (MERGE, SINK):
            before_split[name] = came


def _disagreeing(barrier: Operator, inputs: list[Arriving]) -> Iterator[tuple[str, str]]:
    first: dict[str, int] = {}  # by source, the first input that it reaches
    for port, arriving in enumerate(inputs):
        for source in sorted(arriving.sources):
            other = first.setdefault(source, port)
            if inputs[other].tuples != arriving.tuples:
                yield (
                    barrier.name,
                    f"barrier {barrier.name!r}: inputs {other} and {port} both get tuples of "
                    f"{source!r}, "
                    "but not the same number, so that it would wait for ever",
                )
                return


def _sent(
    operator: Operator, inputs: list[Arriving], before_split: Arriving | None
) -> list[Arriving]:
    """Return the tuples that leave each output port."""
    if operator.is_source:
        return [Arriving({operator.name: Fraction(1)}, frozenset((operator.name,)))]
    arriving = _together(inputs)
    if operator.kind is MERGE and before_split is not None:
        return [before_split]  # all tuples that the split got, on whichever branch
    if operator.kind is BARRIER and all(each.tuples == inputs[0].tuples for each in inputs):
        return [Arriving(inputs[0].tuples, arriving.sources)]
    if not operator.preserves or (operator.chooses_output and operator.outputs > 1):
        ports = range(operator.outputs)
        return [Arriving({(operator.name, port): Fraction(1)}, arriving.sources) for port in ports]
    if operator.outputs <= 1:
        return [arriving] * operator.outputs
    share = Arriving(
        {origin: tuples / operator.outputs for origin, tuples in arriving.tuples.items()},
        arriving.sources,
    )
    return [share] * operator.outputs


def _together(several: list[Arriving]) -> Arriving:
    if len(several) == 1:
        return several[0]
    tuples: dict[object, Fraction] = {}
    for each in several:
        for origin, count in each.tuples.items():
            tuples[origin] = tuples.get(origin, Fraction(0)) + count
    if len(tuples) > MAX_ORIGINS:
        tuples = {object(): Fraction(1)}
    return Arriving(tuples, frozenset().union(*(each.sources for each in several)))
