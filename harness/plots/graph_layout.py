"""Places of the operators of a graph in a picture. No drawing here.

Layers from left to right: an operator's *level* is the longest way to it from a source. Within a
level operators are ordered by the mean place of their neighbours (Sugiyama, Tagawa, Toda, IEEE SMC
11(2), 1981) and placed as near to them as this allows. Parts that would not fit are *folded*, so
that any graph can be read: levels in the middle of a deep graph, joined operators together, and the
middle of a wide level. In a typed graph operators differ by their function, so there operators with
equal functions side by side are folded, and each step stays visible. A *node* is an operator,
several folded ones, or a bend of a stream that skips levels.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from harness.graph import Graph

# a deeper graph shows the first and last of its levels; 10: bushy fits
MAX_LEVELS, FIRST_LEVELS, LAST_LEVELS = 10, 4, 3
# a wider level shows the first and last of its operators; 27: bushy fits
MAX_ROWS, FIRST_ROWS, LAST_ROWS = 27, 4, 3
MOST_STEPS = 24  # levels of a typed graph whose operators are folded side by side
MAX_BENT = 40  # with more streams that skip levels, they run behind the boxes: a guess, not tuned
ORDERING_SWEEPS = 4  # over all levels, forth and back


@dataclass
class Node:
    """Node of the picture. `names`: its operators; none for a bend. `y`: its place in rows,
    downwards. `title`: the function that all of them have.
    """

    names: list[str]
    level: int
    y: float = 0.0
    title: str = ""


class Edge(NamedTuple):
    """Stream of the picture: from a node's output port to a node's input port, by the bends between
    them.
    """

    source: int
    output: int
    target: int
    input: int
    bends: tuple[int, ...] = ()

    @property
    def stops(self) -> tuple[int, ...]:
        """All nodes that it touches."""
        return (self.source, *self.bends, self.target)


@dataclass
class LayeredGraph:
    """Nodes, referred to by index; `levels` has those of each level from top to bottom."""

    nodes: list[Node]
    links: list[Edge]
    levels: list[list[int]] = field(default_factory=list)


def arrange(graph: Graph, fold: bool = True) -> LayeredGraph:
    """Fold (unless `fold` is false), order and place the operators of a graph without cycles."""
    if fold and graph.typed_graph and _is_wide(graph):
        layout = _side_by_side(graph)
    else:
        layout = _layout(graph, *_fold_levels(graph, MAX_LEVELS if fold else len(graph.operators)))
    _order(layout)
    if fold and any(len(level) > MAX_ROWS for level in layout.levels):
        layout = _layout(graph, *_fold_rows(layout))
    _add_bends(layout)
    _order(layout)
    _place(layout)
    return layout


def levels_of(graph: Graph) -> dict[str, int]:
    """Return the longest way to each operator from a source, in streams."""
    downstream = graph.downstream()
    level = dict.fromkeys(graph.operators, 0)
    for name in graph.topological_order():
        for target in downstream[name]:
            level[target] = max(level[target], level[name] + 1)
    return level


def _is_wide(graph: Graph) -> bool:
    """Return True if a level would have to be folded, and few enough levels exist to show all of
    them.
    """
    width = Counter(levels_of(graph).values())
    return max(width.values()) > MAX_ROWS and len(width) <= MOST_STEPS


def _side_by_side(graph: Graph) -> LayeredGraph:
    """Return nodes of operators with equal level, kind and schemas, whose names differ only in
    numbers at the end.
    """
    groups: dict[tuple[object, ...], list[str]] = {}
    for name, level in levels_of(graph).items():
        typed = graph.operators[name].typed
        same = (
            level,
            name.rstrip("0123456789."),
            graph.operators[name].kind,
            typed and (typed.takes, typed.gives),
        )
        groups.setdefault(same, []).append(name)
    layout = _layout(graph, list(groups.values()), [key[0] for key in groups])
    for node, (_, title, *_) in zip(layout.nodes, groups, strict=True):
        node.title = f"{title} ×{len(node.names):,}"
    return layout


def _fold_levels(graph: Graph, most: int) -> tuple[list[list[str]], list[int]]:
    """Return groups of operators with their levels: those in the middle of more than `most` levels
    that are joined make one group.
    """
    level_of = levels_of(graph)
    depth = max(level_of.values()) + 1
    if depth <= most:
        return [[name] for name in graph.operators], list(level_of.values())
    tail = depth - LAST_LEVELS
    parent = {name: name for name, level in level_of.items() if FIRST_LEVELS <= level < tail}

    def root(name: str) -> str:
        while parent[name] != name:
            parent[name] = parent[parent[name]]
            name = parent[name]
        return name

    for stream in graph.streams:
        source, target = stream.source.operator, stream.target.operator
        if source in parent and target in parent:
            parent[root(target)] = root(source)
    groups: dict[str, list[str]] = {}
    levels: list[int] = []
    for name, level in level_of.items():
        key = root(name) if name in parent else name
        if key not in groups:
            groups[key] = []
            levels.append(
                min(level, FIRST_LEVELS) if level < tail else level - tail + FIRST_LEVELS + 1
            )
        groups[key].append(name)
    return list(groups.values()), levels


def _fold_rows(layout: LayeredGraph) -> tuple[list[list[str]], list[int]]:
    """Return the groups of a layout, those in the middle of a wide level put together."""
    groups: list[list[str]] = []
    levels: list[int] = []
    for number, level in enumerate(layout.levels):
        rows = [[node] for node in level]
        if len(level) > MAX_ROWS:
            rows = [*rows[:FIRST_ROWS], level[FIRST_ROWS:-LAST_ROWS], *rows[-LAST_ROWS:]]
        groups += [[name for node in row for name in layout.nodes[node].names] for row in rows]
        levels += [number] * len(rows)
    return groups, levels


def _layout(graph: Graph, groups: list[list[str]], level_of_group: list[int]) -> LayeredGraph:
    """Return a node for each group, in the given order within its level. Streams within a group
    vanish; between two groups, one is enough.
    """
    nodes = [Node(names, level) for names, level in zip(groups, level_of_group, strict=True)]
    levels: list[list[int]] = [[] for _ in range(max(level_of_group) + 1)]
    at: dict[str, int] = {}
    for index, node in enumerate(nodes):
        levels[node.level].append(index)
        for name in node.names:
            at[name] = index
    links: dict[tuple[int, ...], Edge] = {}
    for stream in graph.streams:
        source, target = at[stream.source.operator], at[stream.target.operator]
        if source != target:
            folded = len(nodes[source].names) > 1, len(nodes[target].names) > 1
            link = Edge(
                source,
                0 if folded[0] else stream.source.port,
                target,
                0 if folded[1] else stream.target.port,
            )
            links.setdefault((source, target) if any(folded) else link[:4], link)
    return LayeredGraph(nodes, list(links.values()), levels)


def _add_bends(layout: LayeredGraph) -> None:
    """Give every stream that skips levels a bend in each of them."""

    def skips(link: Edge) -> bool:
        return layout.nodes[link.target].level - layout.nodes[link.source].level > 1

    if sum(map(skips, layout.links)) > MAX_BENT:
        return
    for number, link in enumerate(layout.links):
        bends = []
        for level in range(layout.nodes[link.source].level + 1, layout.nodes[link.target].level):
            bends.append(len(layout.nodes))
            layout.nodes.append(Node([], level))
            layout.levels[level].append(bends[-1])
        layout.links[number] = link._replace(bends=tuple(bends))


def _neighbours(layout: LayeredGraph) -> tuple[dict[int, list[int]], dict[int, list[int]]]:
    """Return the nodes before and behind each node, in the order of the ports that join them."""
    before: dict[int, list[int]] = defaultdict(list)
    behind: dict[int, list[int]] = defaultdict(list)
    for link in layout.links:
        for source, target in zip(link.stops, link.stops[1:], strict=False):
            before[target].append(source)
            behind[source].append(target)
    return before, behind


def _order(layout: LayeredGraph) -> None:
    """Order each level by the mean place of its nodes' neighbours, 0 (top) to 1; nodes that are in
    order stay in place.
    """
    before, behind = _neighbours(layout)
    place = {
        node: (row + 0.5) / len(level) for level in layout.levels for row, node in enumerate(level)
    }
    for _ in range(ORDERING_SWEEPS):
        for neighbours, levels in ((before, layout.levels), (behind, reversed(layout.levels))):
            for level in levels:
                wish = {
                    node: _mean((place[other] for other in neighbours[node]), place[node])
                    for node in level
                }
                level.sort(key=wish.__getitem__)
                place.update((node, (row + 0.5) / len(level)) for row, node in enumerate(level))


def _place(layout: LayeredGraph) -> None:
    """Compute rows: one apart in the widest level; from there outwards, each as near to its
    neighbours as the order allows.
    """
    before, behind = _neighbours(layout)
    widest = max(range(len(layout.levels)), key=lambda number: len(layout.levels[number]))
    middle = (len(layout.levels[widest]) - 1) / 2
    for row, node in enumerate(layout.levels[widest]):
        layout.nodes[node].y = row - middle
    leftwards = ((number, behind) for number in range(widest - 1, -1, -1))
    rightwards = ((number, before) for number in range(widest + 1, len(layout.levels)))
    for number, neighbours in (*leftwards, *rightwards):
        level = layout.levels[number]
        wishes = [
            _mean((layout.nodes[other].y for other in neighbours[node]), 0.0) for node in level
        ]
        for node, y in zip(level, spaced(wishes), strict=True):
            layout.nodes[node].y = y


def spaced(wishes: Sequence[float]) -> list[float]:
    """Return places at least 1 apart, in the order given, with the least sum of squared distances
    from the wishes.

    Isotonic regression of `wish - rank` by pooling neighbours that are out of order (Ayer et al.,
    1955).
    """
    pools: list[tuple[float, int]] = []  # sum and number of the members
    for rank, wish in enumerate(wishes):
        total, count = wish - rank, 1
        while pools and pools[-1][0] * count >= total * pools[-1][1]:
            more, others = pools.pop()
            total, count = total + more, count + others
        pools.append((total, count))
    means = [total / count for total, count in pools for _ in range(count)]
    return [mean + rank for rank, mean in enumerate(means)]


def _mean(values: Iterable[float], otherwise: float) -> float:
    known = list(values)
    return sum(known) / len(known) if known else otherwise
