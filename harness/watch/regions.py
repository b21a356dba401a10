"""Which operators are executed together: regions, begun by a source or by a queue, joined by calls."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from harness.graph import Graph

SHARED = -1
"""In place of a region: the operator is called from several, one of which executes it at a time."""

COLOURS = 7
"""How many there are for regions."""


class Regions:
    """Of one graph. Operators are numbered in the graph's order, ports go by their names (`work3[0]`)."""

    def __init__(self, graph: Graph) -> None:
        index = {name: number for number, name in enumerate(graph.operators)}
        self._order = list(graph.numbered().order)
        self._inputs: list[list[tuple[str, list[int]]]] = [[] for _ in index]  # of each operator: its ports, and who feeds them
        for port, origins in graph.predecessors().items():
            self._inputs[index[port.operator]].append((str(port), [index[origin.operator] for origin in origins]))

    def of(self, queued: Collection[str]) -> list[int]:
        """The region of each operator while these ports have queues: the number of the operator that it begins at, or SHARED.

        All queued ports of an operator begin the same region, although two threads may serve them.
        """
        region = [SHARED] * len(self._inputs)
        for operator in self._order:
            inputs = self._inputs[operator]
            reached = set() if inputs else {operator}
            for port, origins in inputs:
                reached.update((operator,) if port in queued else (region[origin] for origin in origins))
            region[operator] = reached.pop() if len(reached) == 1 else SHARED
        return region

    def colours(self, region: Sequence[int]) -> list[int]:
        """A colour for each operator, from 0 to `COLOURS` - 1, or SHARED.

        A region has the same colour at any time if it can, and another one than those that feed it.
        """
        colour = {SHARED: SHARED}
        for operator in self._order:
            if region[operator] == operator:
                taken = {colour[region[origin]] for _, origins in self._inputs[operator] for origin in origins}
                wishes = [(operator + step) % COLOURS for step in range(COLOURS)]
                colour[operator] = next((wish for wish in wishes if wish not in taken), wishes[0])
        return [colour[root] for root in region]
