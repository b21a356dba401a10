"""Graphs as laws of replicas see them: chains, trees and so on, made by hand, because no engine
runs them.

A shape is a list of streams between numbered operators, in the direction of the streams. `kinds`
has the kind of each operator: a `source`, a `busy` one that may have replicas, a `stateful` one
that may not, a `split` or `merge`, or a `sink`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from harness.elasticity import Layout, Link


@dataclass(frozen=True)
class ReplicaGraphShape:
    """Shape of a graph: `kinds` by operator, `streams` as pairs of operators in the order of their
    sources."""

    name: str
    kinds: tuple[str, ...]
    streams: tuple[tuple[int, int], ...]

    @property
    def busy(self) -> list[int]:
        """Operators that do the work."""
        return [index for index, kind in enumerate(self.kinds) if kind in ("busy", "stateful")]


def chain(operators: int) -> ReplicaGraphShape:
    """Return a chain of a source, busy operators and a sink."""
    return ReplicaGraphShape(
        "chain",
        ("source", *["busy"] * operators, "sink"),
        tuple((index, index + 1) for index in range(operators + 1)),
    )


def replicated(width: int) -> ReplicaGraphShape:
    """Return a split, `width` busy operators side by side, and a merge: C-Stream's data parallelism
    (Figure 3)."""
    kinds = ("source", "split", *["busy"] * width, "merge", "sink")
    lanes = range(2, 2 + width)
    return ReplicaGraphShape(
        "replicated",
        kinds,
        (
            (0, 1),
            *((1, lane) for lane in lanes),
            *((lane, 2 + width) for lane in lanes),
            (2 + width, 3 + width),
        ),
    )


def tree(depth: int, branching: int) -> ReplicaGraphShape:
    """Return a tree of busy operators.

    A split after each deals its tuples out to `branching` more; the last ones send to a sink.
    """
    kinds, streams, tips = ["source"], [], [0]
    for level in range(depth):
        following = []
        for tip in tips:
            for _ in range(branching if level else 1):
                kinds.append("busy")
                streams.append((tip, len(kinds) - 1))
                if level < depth - 1:
                    kinds.append("split")
                    streams.append((len(kinds) - 2, len(kinds) - 1))
                following.append(len(kinds) - 1)
        tips = following
    kinds.append("sink")
    streams += [(tip, len(kinds) - 1) for tip in tips]
    return ReplicaGraphShape("tree", tuple(kinds), tuple(sorted(streams)))


def reverse_tree(depth: int, branching: int) -> ReplicaGraphShape:
    """Return a tree from many sources to one sink.

    Each source has a busy operator; a merge and another busy operator join `branching` of them, and
    so on.
    """
    width = branching ** (depth - 1)
    kinds = ["source"] * width
    streams, tips = [], list(range(width))
    for level in range(depth):
        following = []
        groups = (
            [tips]
            if level and len(tips) <= branching
            else [tips[i : i + branching] for i in range(0, len(tips), branching)]
        )
        for group in [[tip] for tip in tips] if level == 0 else groups:
            at = group[0]
            if len(group) > 1:
                kinds.append("merge")
                at = len(kinds) - 1
                streams += [(tip, at) for tip in group]
            kinds.append("busy")
            streams.append((at, len(kinds) - 1))
            following.append(len(kinds) - 1)
        tips = following
    kinds.append("sink")
    streams += [(tip, len(kinds) - 1) for tip in tips]
    return ReplicaGraphShape("reverse tree", tuple(kinds), tuple(sorted(streams)))


def layout(shape: ReplicaGraphShape, selectivity: Sequence[float], cpus: int) -> Layout:
    """Return the layout that a law sees. A split deals its tuples out evenly.

    `selectivity`: tuples sent for each received.
    """
    inputs: list[list[int]] = [[] for _ in shape.kinds]
    outputs: list[list[int]] = [[] for _ in shape.kinds]
    for number, (source, target) in enumerate(shape.streams):
        outputs[source].append(number)
        inputs[target].append(number)
    port_of, ports = {}, 0
    for operator in range(len(shape.kinds)):
        for number in inputs[operator]:
            port_of[number] = ports
            ports += 1
    tuples = [1.0 if kind == "source" else 0.0 for kind in shape.kinds]
    links = []
    for number, (source, target) in enumerate(shape.streams):
        share = tuples[source] * selectivity[source] / len(outputs[source])
        links.append(
            Link(source, target, share, None, dealt=len(outputs[source]) > 1, port=port_of[number])
        )
        tuples[target] += share
    return Layout(
        ports=(),
        at=(),
        sources=[index for index, kind in enumerate(shape.kinds) if kind == "source"],
        links=links,
        tuples=tuples,
        flop=[0.0] * len(tuples),
        payload=0,
        cpus=cpus,
        replicable=[index for index, kind in enumerate(shape.kinds) if kind == "busy"],
        inputs=ports,
    )
