"""Positions of operators in the replay's picture, in CSS pixels; `picture` draws them.

`plots.graph_layout` gives the level of each operator, and the order in a level. Nothing is folded
here, up to `MAX_DRAWN` operators, as any port may get a queue. Small graphs have boxes with names,
large ones squares. A level that is too high is broken into columns, and a graph that is too long
into lines, like the lines of a text.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from harness.graph import Graph
from harness.plots.graph_layout import LayeredGraph, arrange

MAX_DRAWN = 2000  # operators; a larger graph is folded as in other pictures
MAX_NAMED = 60  # operators whose names are shown
MAX_ROWS = 40  # of a level
ASPECT = 1.7  # width over height that lines are broken for
MAX_LINES = 60
MAX_STRETCH = 4.0  # of the distance between columns
ROWS_BETWEEN_LINES = 1.5  # rows from the lowest of a line to the highest of the next
MAX_NAME = 14  # characters
CHARACTER_WIDTH = 6.3  # width of one at 11 px, generously


@dataclass(frozen=True)
class Size:
    """Size of an operator's box, and the distances to the next column and row."""

    width: float
    height: float
    column: float
    row: float


@dataclass(frozen=True)
class Spot:
    """Box with the operators that it represents; `x`, `y`: its left upper corner."""

    names: Sequence[str]
    x: float
    y: float


@dataclass(frozen=True)
class Drawing:
    """Picture: its size, boxes, and streams as the `d` of an SVG path."""

    width: float
    height: float
    box: Size
    named: bool  # whether boxes are large enough for names
    spots: Sequence[Spot]
    streams: str


def draw(graph: Graph) -> Drawing:
    """Place every operator of a graph."""
    layout = arrange(graph, fold=len(graph.operators) > MAX_DRAWN)
    named = sum(bool(node.names) for node in layout.nodes) <= MAX_NAMED
    return _Sheet(layout, _size(layout, named)).drawing(named)


def shortened(name: str) -> str:
    """Return a name that fits its box."""
    return (
        name if len(name) <= MAX_NAME else f"{name[: MAX_NAME // 2]}…{name[-(MAX_NAME // 2 - 1) :]}"
    )


def box_text(names: Sequence[str]) -> str:
    """Return the text in a box."""
    return shortened(names[0]) if len(names) == 1 else f"{len(names):,} more"


def _size(layout: LayeredGraph, named: bool) -> Size:
    if named:
        longest = max(len(box_text(node.names)) for node in layout.nodes if node.names)
        width = 14 + CHARACTER_WIDTH * longest
        return Size(width, 26.0, width + 38, 36.0)
    return Size(12.0, 12.0, 32.0, 18.0) if len(layout.nodes) <= 300 else Size(8.0, 8.0, 21.0, 12.0)


class _Sheet:
    """Layout in progress: `columns`, the number of each level; `rows`, the row of each node of each
    level.
    """

    def __init__(self, layout: LayeredGraph, box: Size) -> None:
        self.layout = layout
        self.box = box
        self.columns = [-(-len(level) // MAX_ROWS) for level in layout.levels]
        if max(self.columns) == 1:
            self.rows = [[layout.nodes[node].y for node in level] for level in layout.levels]
        else:  # levels beside one of a thousand operators must not be as high as that was
            self.rows = [
                _centred(len(level), columns)
                for level, columns in zip(layout.levels, self.columns, strict=True)
            ]
        self.highest, self.lowest = list(map(min, self.rows)), list(map(max, self.rows))
        self.places: dict[
            int, tuple[int, float, float]
        ] = {}  # of each node: its line, and its left upper corner

    def drawing(self, named: bool) -> Drawing:
        """Return the whole picture."""
        lines = self._lines()
        stretch = min(MAX_STRETCH, ASPECT / self._aspect(lines))
        if stretch > 1.0:  # a graph that is high and short has room for its streams
            self.box = replace(self.box, column=round(self.box.column * stretch))
        width, height = self._set(lines)
        nodes = self.layout.nodes
        spots = [
            Spot(node.names, *self.places[index][1:])
            for index, node in enumerate(nodes)
            if node.names
        ]
        return Drawing(width, height, self.box, named, spots, "".join(self._streams()))

    def _lines(self) -> list[range]:
        """Return the levels of each line, so many that the picture comes nearest to `ASPECT`."""
        most = len(self.columns)
        wishes = {-(-most // parts) for parts in range(1, min(most, MAX_LINES) + 1)}
        return min(
            (_parts(most, wish) for wish in wishes),
            key=lambda lines: abs(math.log(self._aspect(lines) / ASPECT)),
        )

    def _aspect(self, lines: Sequence[range]) -> float:
        """Return width over height."""
        width = max(sum(self.columns[level] for level in line) for line in lines) * self.box.column
        height = sum(self._extent(line)[1] + ROWS_BETWEEN_LINES for line in lines) * self.box.row
        return width / height

    def _extent(self, line: range) -> tuple[float, float]:
        """Return the highest row of a line, and the number of rows from there to its lowest."""
        highest = min(self.highest[level] for level in line)
        return highest, max(self.lowest[level] for level in line) - highest

    def _set(self, lines: Sequence[range]) -> tuple[float, float]:
        """Place all nodes; return the picture's size."""
        box = self.box
        margin = box.column - box.width
        top, width = box.row / 2, 0.0
        for number, line in enumerate(lines):
            highest, rows = self._extent(line)
            x = margin
            for level in line:
                nodes = self.layout.levels[level]
                height = -(-len(nodes) // self.columns[level])
                for place, (node, row) in enumerate(zip(nodes, self.rows[level], strict=True)):
                    self.places[node] = (
                        number,
                        x + place // height * box.column,
                        top + (row - highest) * box.row,
                    )
                x += self.columns[level] * box.column
            width = max(width, x)
            top += (rows + ROWS_BETWEEN_LINES) * box.row
        return width, top

    def _streams(self) -> Iterator[str]:
        """Yield the streams as curves, or as a stub at either end.

        A stream has stubs if it goes from one line to another, or into or out of the middle of a
        level in columns.
        """
        box, nodes = self.box, self.layout.nodes
        stub = (box.column - box.width) / 3
        for link in self.layout.links:
            for source, target in zip(link.stops, link.stops[1:], strict=False):
                line, x, y = self.places[source]
                there, right, lower = self.places[target]
                x += box.width if nodes[source].names else 0.0
                y, lower = y + box.height / 2, lower + box.height / 2
                if line != there or right - x > self.box.column:
                    yield f"M{x:.0f} {y:.0f}h{stub:.0f}M{right - stub:.0f} {lower:.0f}h{stub:.0f}"
                elif y == lower:
                    yield f"M{x:.0f} {y:.0f}H{right:.0f}"
                else:
                    half = (x + right) / 2
                    yield (
                        f"M{x:.0f} {y:.0f}C{half:.0f} {y:.0f} {half:.0f} {lower:.0f} "
                        f"{right:.0f} {lower:.0f}"
                    )


def _centred(many: int, columns: int) -> list[float]:
    """Return the row of each of `many` nodes that fill columns from top to bottom."""
    height = -(-many // columns)
    return [place % height - (height - 1) / 2 for place in range(many)]


def _parts(most: int, length: int) -> list[range]:
    return [range(first, min(first + length, most)) for first in range(0, most, length)]
