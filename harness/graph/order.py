"""The order of a graph's operators, by numbers, or the cycle for which there is none.

Lists of numbers and no list for each operator: of a graph of 100,000 operators, Python's garbage
collector would look through all of it again and again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import NamedTuple

from harness.graph.operator import Stream


class Numbered(NamedTuple):
    """A graph by numbers: operators in the order in which they were added, streams in the order of
    `Graph.streams`.
    """

    # operators, each after all that feed it; those that a cycle keeps from it are missing
    order: list[int]
    streams: list[int]  # by the operators that they leave
    # by operator: the place in `streams` where its own begin; one more, where the last ones end
    first: list[int]
    targets: list[int]  # by stream: the operator that it feeds

    def leaving(self, operator: int) -> list[int]:
        """Return the streams of an operator, in the order in which they were added."""
        return self.streams[self.first[operator] : self.first[operator + 1]]


def number(names: Iterable[str], connections: Sequence[Stream]) -> Numbered:
    """Return a graph by numbers, from its operators' names and its streams, with as much of the
    order as no cycle prevents.
    """
    index_of = {name: index for index, name in enumerate(names)}
    sources = [index_of[name] for (name, _), _ in connections]
    targets = [index_of[name] for _, (name, _) in connections]
    count = [0] * len(index_of)
    for source in sources:
        count[source] += 1
    first = list(accumulate(count, initial=0))
    streams = sorted(range(len(sources)), key=sources.__getitem__)
    waiting = [0] * len(index_of)
    for target in targets:
        waiting[target] += 1
    ready = [index for index, left in enumerate(waiting) if left == 0]
    order: list[int] = []
    while ready:
        index = ready.pop()
        order.append(index)
        for stream in streams[first[index] : first[index + 1]]:
            target = targets[stream]
            waiting[target] -= 1
            if waiting[target] == 0:
                ready.append(target)
    return Numbered(order, streams, first, targets)


def cycle_of(names: Sequence[str], numbered: Numbered) -> list[str]:
    """Return the operators of a cycle, the first one again at its end; none if the graph has no
    cycle.

    Every operator that is not in the order lies on a cycle or behind one, so a walk upstream from
    any of them ends in a cycle.
    """
    if len(numbered.order) == len(names):
        return []
    outside = set(numbered.order)
    left = [index for index in range(len(names)) if index not in outside]
    upstream: dict[int, int] = {}
    for index in left:
        for stream in numbered.leaving(index):
            upstream.setdefault(numbered.targets[stream], index)
    index = left[0]
    walked: dict[int, int] = {}  # with their places
    while index not in walked:
        walked[index] = len(walked)
        index = upstream[index]
    loop = list(walked)[walked[index] :]
    return [names[index], *(names[index] for index in reversed(loop))]


def describe_cycle(names: list[str]) -> str:
    """Return a cycle for people."""
    shown = names if len(names) <= 12 else [*names[:6], "…", *names[-5:]]
    return f"cycle {' -> '.join(shown)} (only a control port may close one)"
