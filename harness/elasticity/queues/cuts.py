"""Candidate placements: few queues that divide the work of a graph so that no region has more work
than a bound.

Where an operator's work is executed follows from the *dominator tree* of the graph: the parent of
an operator is the last one that all tuples on their way to it have passed. As long as no queue
stands between, it is executed where its parent is. To divide a tree by the fewest cuts so that no
part weighs more than a bound, go from the leaves to the root, and wherever a subtree is too heavy
cut off its heaviest children (Kundu and Misra, SIAM J. Comput. 6(1), 1977). A cut above an operator
is a queue at each of its input ports. Operators that the cut-off branches meet in again (fan-in)
may have a queue of their own, or none and a lock.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from harness.elasticity.queues.regions import DirectedLayout, Vector

# number of bounds on a region's work that are tried, from the heaviest operator's work to all work
WORK_BOUNDS_TRIED = 160
QUEUE_COUNT_RATIO = 1.22  # least ratio of neighbouring numbers of queues that are kept
FEW_QUEUES = 8  # numbers of queues up to here are all kept


class Dominators:
    """Dominator tree of a graph.

    `parent`: parent of each operator, -1 if it has none. `places`: places of all its input ports,
    empty if one of them cannot have a queue. `fan_ins`: operators with an input that does not come
    from their parent.
    """

    def __init__(self, flow: DirectedLayout) -> None:
        self.flow = flow
        self.order = flow.order
        count = len(flow.order)
        self.parent, self.children = [-1] * count, [[] for _ in range(count)]
        self.places: list[frozenset[int]] = [frozenset()] * count
        self.fan_ins: list[int] = []
        depth = [0] * count
        for index in flow.order:
            links = flow.incoming[index]
            if not links:
                continue
            above = links[0].source
            for link in links[1:]:
                above = self._meet(above, link.source, depth)
            self.parent[index] = above
            if above >= 0:
                depth[index] = depth[above] + 1
                self.children[above].append(index)
            if all(link.place is not None for link in links):
                self.places[index] = frozenset(
                    link.place for link in links if link.place is not None
                )
            if any(link.source != above for link in links):
                self.fan_ins.append(index)

    def _meet(self, first: int, second: int, depth: Sequence[int]) -> int:
        while first != second:
            if first < 0 or second < 0:
                return -1
            if depth[first] < depth[second]:
                first, second = second, first
            first = self.parent[first]
        return first


def placements(tree: Dominators, shares: Sequence[float], hop: float = 0.0) -> list[frozenset[int]]:
    """Return divisions into more and more regions, from no queue to all queues, without and with
    queues where branches meet.

    `hop`: time of a hop over a queue as a share of the time of all work, half of it before and half
    behind the queue.
    """
    every = frozenset(
        place for links in tree.flow.incoming for link in links if (place := link.place) is not None
    )
    found = dict.fromkeys([frozenset[int](), every])
    for cut in [[], *_divisions(tree, shares, hop)]:
        queued = frozenset[int]().union(*(tree.places[index] for index in cut))
        found.setdefault(queued)
        met = queued.union(*_meetings(tree, queued))
        found.setdefault(met)
    return list(found)


def _divisions(tree: Dominators, shares: Sequence[float], hop: float) -> Iterator[list[int]]:
    """Yield the operators to cut off, for a selection of numbers of cuts."""
    total = sum(shares)
    heaviest = max(max(shares), 1e-4 * total)
    bounds = np.geomspace(heaviest, total, WORK_BOUNDS_TRIED)
    cuts = _cut(tree, shares, hop, bounds)
    counts = cuts.sum(axis=0)
    last = 0
    # the last bound that gives a number of cuts is the tightest
    for column in range(len(bounds) - 1, -1, -1):
        tightest = column == 0 or counts[column - 1] != counts[column]
        if (
            tightest
            and counts[column] > 0
            and (
                counts[column] <= FEW_QUEUES
                or counts[column] >= QUEUE_COUNT_RATIO * last
                or column == 0
            )
        ):
            last = int(counts[column])
            yield list(np.flatnonzero(cuts[:, column]))


def _cut(tree: Dominators, shares: Sequence[float], hop: float, bounds: Vector) -> np.ndarray:
    """Return a table, operator x bound, that is True where the operator is cut off its parent."""
    half = (
        0.5
        * hop
        * np.array(
            [
                0.0 if not links else sum(link.tuples for link in links)
                for links in tree.flow.incoming
            ]
        )
    )
    count = len(tree.order)
    cuts = np.zeros((count, len(bounds)), dtype=bool)
    weight = np.repeat(np.asarray(shares, dtype=float)[:, None], len(bounds), axis=1)
    # work on the way from the source: if it fits into the bound, no pop needs to
    above = np.zeros(count)
    for index in tree.order:
        if tree.parent[index] >= 0:
            above[index] = above[tree.parent[index]] + shares[tree.parent[index]]
    for index in reversed(tree.order):
        children, most = tree.children[index], bounds - min(half[index], above[index])
        if len(children) == 1:
            _cut_one(tree, index, children[0], most, weight, cuts, half)
        elif children:
            _cut_heaviest(tree, index, np.array(children), most, weight, cuts, half)
    return cuts


def _cut_one(
    tree: Dominators,
    index: int,
    child: int,
    bounds: Vector,
    weight: Vector,
    cuts: np.ndarray,
    push: Vector,
) -> None:
    if tree.places[child]:
        cuts[child] = weight[index] + weight[child] > bounds
        weight[index] += np.where(cuts[child], push[child], weight[child])
    else:
        weight[index] += weight[child]


def _cut_heaviest(
    tree: Dominators,
    index: int,
    children: np.ndarray,
    bounds: Vector,
    weight: Vector,
    cuts: np.ndarray,
    push: Vector,
) -> None:
    """Keep as many of the lightest children as the bound allows, and cut the others off."""
    may = np.array([bool(tree.places[child]) for child in children])
    weight[index] += weight[children[~may]].sum(axis=0)
    children = children[may]
    if not len(children):
        return
    lightest = np.argsort(weight[children], axis=0, kind="stable")
    kept = (
        weight[index] + np.cumsum(np.take_along_axis(weight[children], lightest, axis=0), axis=0)
        <= bounds
    )
    stays = np.zeros_like(kept)
    np.put_along_axis(stays, lightest, kept, axis=0)
    cuts[children] = ~stays
    weight[index] += np.where(stays, weight[children], push[children][:, None]).sum(axis=0)


def _meetings(tree: Dominators, queued: frozenset[int]) -> Iterator[frozenset[int]]:
    """Yield the places of each operator that several regions call under a placement, given the
    queues yielded before."""
    region: dict[int, object] = {}
    for index in tree.order:
        links = tree.flow.incoming[index]
        callers = {
            ("place", link.place) if link.place in queued else region[link.source] for link in links
        }
        if len(callers) > 1 and tree.places[index]:
            yield tree.places[index]
            callers = {("met", index)}
        region[index] = next(iter(callers)) if len(callers) == 1 else ("lock", index)


def neighbours(
    tree: Dominators, shares: Sequence[float], queued: frozenset[int], most: int, turn: int
) -> list[frozenset[int]]:
    """Return placements that differ by one queue: removed, added, or moved along the streams; at
    most `most` of each kind.

    Each `turn` 0, 1, 2, ... returns others; the likely better ones come first.
    """
    cuts = [index for index in tree.order if tree.places[index] and tree.places[index] <= queued]
    found: dict[frozenset[int], None] = {}
    for index in _some(cuts, most, turn):
        found.setdefault(queued - tree.places[index])
    for index in _relieving(tree, shares, queued)[most * turn : most * (turn + 1)]:
        found.setdefault(queued | tree.places[index])
    steps = [step for step in (1, 2, 4, 8, 16, 32) if len(cuts) * 2 * step <= 4 * most or step == 1]
    for index in _some(cuts, max(1, most // len(steps)), turn):
        for step in steps:
            for other in (_up(tree, index, step), _down(tree, index, step)):
                if tree.places[other] and not tree.places[other] & queued:
                    found.setdefault((queued - tree.places[index]) | tree.places[other])
    return list(found)


def _some(cuts: Sequence[int], most: int, turn: int) -> Sequence[int]:
    """Return at most `most` cuts, spread over all of them; the next turn returns others."""
    stride = max(1, -(-len(cuts) // most))
    return cuts[turn % stride :: stride]


def _relieving(tree: Dominators, shares: Sequence[float], queued: frozenset[int]) -> list[int]:
    """Return the operators without a queue, first those whose queue would take the most work off
    their region."""
    region, below = {}, dict(enumerate(shares))
    whole: dict[int, float] = {}
    for index in reversed(tree.order):
        above = tree.parent[index]
        if above >= 0 and not (tree.places[index] and tree.places[index] <= queued):
            below[above] += below[index]
    for index in tree.order:
        above = tree.parent[index]
        begins = above < 0 or (tree.places[index] and tree.places[index] <= queued)
        region[index] = index if begins else region[above]
        whole[index] = below[region[index]]
    free = [
        index for index in tree.order if tree.places[index] and not tree.places[index] <= queued
    ]
    return sorted(free, key=lambda index: -min(below[index], whole[index] - below[index]))


def _up(tree: Dominators, index: int, steps: int) -> int:
    for _ in range(steps):
        if tree.parent[index] < 0:
            break
        index = tree.parent[index]
    return index


def _down(tree: Dominators, index: int, steps: int) -> int:
    for _ in range(steps):
        if len(tree.children[index]) != 1:
            break
        index = tree.children[index][0]
    return index
