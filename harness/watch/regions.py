"""Regions: operators that are executed together. A source or a queue begins one, and calls join
operators to it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from harness.graph import Graph

SHARED_REGION = -1
"""Value in place of a region: the operator is called from several, one of which executes it at a
time.
"""

COLOURS = 7
"""Number of colours for regions."""


class GraphRegions:
    """Regions of one graph. Operators are numbered in the graph's order; ports have names
    (`work3[0]`).
    """

    def __init__(self, graph: Graph) -> None:
        index = {name: number for number, name in enumerate(graph.operators)}
        self._order = list(graph.numbered().order)
        # of each operator: its ports, and the operators that feed them
        self._inputs: list[list[tuple[str, list[int]]]] = [[] for _ in index]
        for port, origins in graph.predecessors().items():
            self._inputs[index[port.operator]].append(
                (str(port), [index[origin.operator] for origin in origins])
            )

    def of(self, queued: Collection[str]) -> list[int]:
        """Return the region of each operator while these ports have queues: its first operator's
        number, or SHARED_REGION.

        All queued ports of an operator begin the same region, although two threads may serve them.
        """
        region = [SHARED_REGION] * len(self._inputs)
        for operator in self._order:
            inputs = self._inputs[operator]
            reached = set() if inputs else {operator}
            for port, origins in inputs:
                reached.update(
                    (operator,) if port in queued else (region[origin] for origin in origins)
                )
            region[operator] = reached.pop() if len(reached) == 1 else SHARED_REGION
        return region

    def colours(self, region: Sequence[int]) -> list[int]:
        """Return a colour for each operator, from 0 to `COLOURS` - 1, or SHARED_REGION.

        A region has the same colour at all times if that differs from the colours of the regions
        that feed it.
        """
        colour = {SHARED_REGION: SHARED_REGION}
        for operator in self._order:
            if region[operator] == operator:
                taken = {
                    colour[region[origin]]
                    for _, origins in self._inputs[operator]
                    for origin in origins
                }
                wishes = [(operator + step) % COLOURS for step in range(COLOURS)]
                colour[operator] = next((wish for wish in wishes if wish not in taken), wishes[0])
        return [colour[root] for root in region]
