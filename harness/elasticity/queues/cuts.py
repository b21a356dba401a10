"""Placements that divide the work of a graph: for each number of queues the one that leaves the
least work to the region that has the most.

Operators joined by calls are a *region*: from a source, or from a port with a queue, to the next
queues. One thread at a time executes a region, so a graph passes tuples no faster than its most
loaded region does.

Where an operator's work is executed follows from the *dominator tree* of the graph: the parent of
an operator is the last one that all tuples on their way to it have passed. As long as no queue
stands between, it is executed where its parent is, or under a lock that its callers share. To
divide a tree by the fewest cuts so that no part weighs more than a bound, go from the leaves to the
root, and wherever a subtree is too heavy cut off its heaviest children (Kundu and Misra, SIAM J.
Comput. 6(1), 1977). A cut above an operator is a queue at each of its input ports.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from harness.elasticity.layout import Layout, Link

# number of bounds on a region's work that are tried, from all work to the heaviest operator's
WORK_BOUNDS_TRIED = 60
NEAR_OPERATORS = 100_000  # that placements near another may have in sum, for the time of a step


class DominatorTree:
    """Dominator tree of a graph; a stream that closes a cycle is followed no further.

    `order`: operators in the direction of the streams. `parent`: parent of each operator, -1 if it
    has none. `places`: places of all its input ports, empty if one of them cannot have a queue.
    """

    def __init__(self, layout: Layout) -> None:
        # a layout names them in the direction of the streams
        senders = dict.fromkeys(link.source for link in layout.links)
        self.order = [*senders, *(each for each in range(layout.operators) if each not in senders)]
        position = {index: at for at, index in enumerate(self.order)}
        self.incoming: list[list[Link]] = [[] for _ in self.order]
        for link in layout.links:
            if position[link.source] < position[link.target]:
                self.incoming[link.target].append(link)
        self.every = frozenset(range(len(layout.ports)))
        count = layout.operators
        self.parent, depth = [-1] * count, [0] * count
        self.children: list[list[int]] = [[] for _ in range(count)]
        self.places: list[frozenset[int]] = [frozenset()] * count
        for index in self.order:
            links = self.incoming[index]
            if not links:
                continue
            above = links[0].source
            for link in links[1:]:
                above = self._meet(above, link.source, depth)
            self.parent[index] = above
            if above >= 0:
                depth[index] = depth[above] + 1
                self.children[above].append(index)
            places = [link.place for link in links if link.place is not None]
            if len(places) == len(links):
                self.places[index] = frozenset(places)

    def _meet(self, first: int, second: int, depth: Sequence[int]) -> int:
        while first != second:
            if first < 0 or second < 0:
                return -1
            if depth[first] < depth[second]:
                first, second = second, first
            first = self.parent[first]
        return first

    def placements(self, shares: Sequence[float]) -> dict[int, frozenset[int]]:
        """Return the best placement found for each number of queues that has one, from none to all,
        for these shares of the work."""
        heaviest = max(max(shares), 1e-4 * sum(shares))
        found = {0: frozenset[int]()}
        for bound in np.geomspace(sum(shares), heaviest, WORK_BOUNDS_TRIED).tolist():
            queued = self._cut(shares, bound)
            found[len(queued)] = queued  # the last bound that gives a number is the tightest
        found[len(self.every)] = self.every
        return dict(sorted(found.items()))

    def heaviest(self, shares: Sequence[float], queued: frozenset[int]) -> float:
        """Return the work of the region that has the most, with these queues."""
        weight, most = list(shares), 0.0
        for index in reversed(self.order):
            above = self.parent[index]
            if above < 0 or (self.places[index] and self.places[index] <= queued):
                most = max(most, weight[index])
            else:
                weight[above] += weight[index]
        return most

    def _cut(self, shares: Sequence[float], bound: float) -> frozenset[int]:
        """Return few queues that leave no region with more work than a bound."""
        weight, cuts = list(shares), []
        for index in reversed(self.order):
            below = self.children[index]
            for child in sorted(below, key=lambda each: (bool(self.places[each]), weight[each])):
                if self.places[child] and weight[index] + weight[child] > bound:
                    cuts.append(child)
                else:
                    weight[index] += weight[child]
        return frozenset[int]().union(*(self.places[index] for index in cuts))

    def met(self, queued: frozenset[int]) -> frozenset[int]:
        """Return a placement with further queues at each operator that several regions call, so
        that none waits for a lock."""
        region: dict[int, tuple[str, int]] = {}
        for index in self.order:
            callers = {
                ("queue", link.place)
                if link.place is not None and link.place in queued
                else region[link.source]
                for link in self.incoming[index]
            }
            if len(callers) > 1 and self.places[index]:
                queued |= self.places[index]
            region[index] = callers.pop() if len(callers) == 1 else ("operator", index)
        return queued

    def near(self, queued: frozenset[int]) -> list[frozenset[int]]:
        """Return the placements that differ by the queues of one operator: left out, added, or
        moved along the streams. Of a large graph return a selection of them."""
        cuts = [each for each in self.order if self.places[each] and self.places[each] <= queued]
        free = [each for each in self.order if not self.places[each] <= queued]
        found = [queued - self.places[cut] for cut in cuts]
        found += [queued | self.places[other] for other in free]
        for cut in cuts:
            for other in (self.parent[cut], *self.children[cut]):
                if other >= 0 and not self.places[other] <= queued:
                    found.append((queued - self.places[cut]) | self.places[other])
        return found[:: 1 + len(found) * len(self.order) // NEAR_OPERATORS]
