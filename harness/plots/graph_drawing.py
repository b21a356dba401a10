"""A graph as a picture: operators, streams, and under a threading model its queues and who executes what.

Layers from left to right: an operator's *level* is the longest way to it from a source. Within a level operators are ordered by
the mean place of their neighbours (Sugiyama, Tagawa, Toda, IEEE SMC 11(2), 1981) and placed as near to them as this allows.
What would not fit is *folded*, so that any graph can be read: levels in the middle of a deep graph, joined operators together,
and the middle of a wide level. A *node* is an operator, several folded ones, or a bend of a stream that skips levels.

Lengths are in inches: the axes span the figure, so nothing is scaled and text is as large as it says.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch, PathPatch, Polygon, Rectangle
from matplotlib.path import Path
from matplotlib.textpath import TextPath

from harness.graph import Graph, Operator
from harness.models import DEFAULT_QUEUE_CAPACITY, Dedicated, Dynamic, Manual, Model
from harness.plots import style

MAX_LEVELS, FIRST_LEVELS, LAST_LEVELS = 10, 4, 3  # a deeper graph shows the first and last of its levels; 10: bushy fits
MAX_ROWS, FIRST_ROWS, LAST_ROWS = 27, 4, 3  # a wider level shows the first and last of its operators; 27: bushy fits
MAX_BENT = 40  # with more streams that skip levels, they run behind the boxes: a guess, not tuned
SWEEPS = 4  # over all levels, forth and back

TITLE, NAME, SMALL = 12.0, 9.0, 7.5  # points
BOX_HEIGHT, ROW = 0.38, 0.49
PADDING = 0.09  # between a box and its text
MARGIN = 0.25
GAP, GAP_OF_FAN, MAX_GAP = 0.36, 0.06, 0.9  # between levels; more where streams climb, so that they stay apart
QUEUE_WIDTH, QUEUE_HEIGHT = 0.19, 0.17
ARROW = 0.075
STACK = 0.035  # between the sheets of a folded node
LINE = 0.19  # of the legend

Color = str | tuple[float, float, float]


def _tint(color: str) -> Color:
    """A light shade of a colour, on which text is readable."""
    red, green, blue = to_rgb(color)
    return (red + 2) / 3, (green + 2) / 3, (blue + 2) / 3


POOL = "pool"
POOL_COLOR = _tint(style.of_model("dynamic").color)
FIRST_COLOR = _tint("#e69f00")  # of the first thread, in most graphs the only source's
THREAD_COLORS = tuple(map(_tint, ("#56b4e9", "#009e73", "#f0e442", "#cc79a7", "#0072b2", "#d55e00")))  # of the others, in turn
SEVERAL_COLOR = "#f0f0f0"


def figure(graph: Graph, model: Model | None = None, parameters: Mapping[str, int | str] | None = None) -> Figure:
    """The picture of a checked graph; without a model neither queues nor threads. `parameters` go into the heading."""
    layout = arrange(graph)
    executors = {} if model is None else threads_of(graph, model)
    with style.applied():
        return _Picture(graph, model, layout, executors).draw(_heading(graph, model, parameters or {}))


# -- who executes what --------------------------------------------------------------------------------------------------------


def has_queue(operator: Operator, model: Model | None) -> bool:
    """Whether the input ports of an operator have queues. A split's never do: it runs on the thread that submits to it."""
    return model is not None and not isinstance(model, Manual) and operator.kind not in ("source", "split")


def threads_of(graph: Graph, model: Model) -> dict[str, tuple[str, ...]]:
    """The threads that may execute each operator: `t1`, `t2`, … of sources, then of ports; `pool`: any of it."""
    feeding: dict[str, list[str]] = defaultdict(list)
    for stream in graph.streams:
        feeding[stream.target.operator].append(stream.source.operator)
    found: dict[str, tuple[str, ...]] = {}
    number = 0
    for operator in graph.operators.values():
        if operator.kind == "source":
            number += 1
            found[operator.name] = (f"t{number}",)
    for operator in graph.operators.values():
        if has_queue(operator, model):
            if isinstance(model, Dynamic):
                found[operator.name] = (POOL,)
            else:
                found[operator.name] = tuple(f"t{number + 1 + port}" for port in range(operator.inputs))
                number += operator.inputs
    for name in graph.topological_order():
        if name not in found:
            found[name] = tuple(dict.fromkeys(thread for origin in feeding[name] for thread in found[origin]))
    return found


# -- the layout ---------------------------------------------------------------------------------------------------------------


@dataclass
class Node:
    """`names`: the operators it stands for; none for a bend. `y`: its place in rows, downwards."""

    names: list[str]
    level: int
    y: float = 0.0


class Link(NamedTuple):
    """A stream of the picture: from a node's output port to a node's input port, by the bends between them."""

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
class Layout:
    """Nodes, referred to by index; `levels` has those of each level from top to bottom."""

    nodes: list[Node]
    links: list[Link]
    levels: list[list[int]] = field(default_factory=list)


def arrange(graph: Graph) -> Layout:
    """Fold, order and place the operators of a graph without cycles."""
    groups, level_of_group = _fold_levels(graph)
    layout = _layout(graph, groups, level_of_group)
    _order(layout)
    if any(len(level) > MAX_ROWS for level in layout.levels):
        layout = _layout(graph, *_fold_rows(layout))
    _add_bends(layout)
    _order(layout)
    _place(layout)
    return layout


def levels_of(graph: Graph) -> dict[str, int]:
    """The longest way to each operator from a source, in streams."""
    downstream = graph.downstream()
    level = dict.fromkeys(graph.operators, 0)
    for name in graph.topological_order():
        for target in downstream[name]:
            level[target] = max(level[target], level[name] + 1)
    return level


def _fold_levels(graph: Graph) -> tuple[list[list[str]], list[int]]:
    """Groups of operators with their levels: those in the middle levels of a deep graph that are joined make one group."""
    level_of = levels_of(graph)
    depth = max(level_of.values()) + 1
    if depth <= MAX_LEVELS:
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
            levels.append(min(level, FIRST_LEVELS) if level < tail else level - tail + FIRST_LEVELS + 1)
        groups[key].append(name)
    return list(groups.values()), levels


def _fold_rows(layout: Layout) -> tuple[list[list[str]], list[int]]:
    """The groups of a layout, those in the middle of a wide level put together."""
    groups: list[list[str]] = []
    levels: list[int] = []
    for number, level in enumerate(layout.levels):
        rows = [[node] for node in level]
        if len(level) > MAX_ROWS:
            rows = [*rows[:FIRST_ROWS], level[FIRST_ROWS:-LAST_ROWS], *rows[-LAST_ROWS:]]
        groups += [[name for node in row for name in layout.nodes[node].names] for row in rows]
        levels += [number] * len(rows)
    return groups, levels


def _layout(graph: Graph, groups: list[list[str]], level_of_group: list[int]) -> Layout:
    """A node for each group, in the given order within its level. Streams within a group vanish; between two, one is enough."""
    nodes = [Node(names, level) for names, level in zip(groups, level_of_group, strict=True)]
    levels: list[list[int]] = [[] for _ in range(max(level_of_group) + 1)]
    at: dict[str, int] = {}
    for index, node in enumerate(nodes):
        levels[node.level].append(index)
        for name in node.names:
            at[name] = index
    links: dict[tuple[int, ...], Link] = {}
    for stream in graph.streams:
        source, target = at[stream.source.operator], at[stream.target.operator]
        if source != target:
            folded = len(nodes[source].names) > 1, len(nodes[target].names) > 1
            link = Link(source, 0 if folded[0] else stream.source.port, target, 0 if folded[1] else stream.target.port)
            links.setdefault((source, target) if any(folded) else link[:4], link)
    return Layout(nodes, list(links.values()), levels)


def _add_bends(layout: Layout) -> None:
    """Give every stream that skips levels a bend in each of them."""

    def skips(link: Link) -> bool:
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


def _neighbours(layout: Layout) -> tuple[dict[int, list[int]], dict[int, list[int]]]:
    """The nodes before and behind each node, in the order of the ports that join them."""
    before: dict[int, list[int]] = defaultdict(list)
    behind: dict[int, list[int]] = defaultdict(list)
    for link in layout.links:
        for source, target in zip(link.stops, link.stops[1:], strict=False):
            before[target].append(source)
            behind[source].append(target)
    return before, behind


def _order(layout: Layout) -> None:
    """Order each level by the mean place of its nodes' neighbours, 0 (top) to 1; what is in order stays as it was."""
    before, behind = _neighbours(layout)
    place = {node: (row + 0.5) / len(level) for level in layout.levels for row, node in enumerate(level)}
    for _ in range(SWEEPS):
        for neighbours, levels in ((before, layout.levels), (behind, reversed(layout.levels))):
            for level in levels:
                wish = {node: _mean((place[other] for other in neighbours[node]), place[node]) for node in level}
                level.sort(key=wish.__getitem__)
                place.update((node, (row + 0.5) / len(level)) for row, node in enumerate(level))


def _place(layout: Layout) -> None:
    """Rows: one apart in the widest level; from there outwards, each as near to its neighbours as the order allows."""
    before, behind = _neighbours(layout)
    widest = max(range(len(layout.levels)), key=lambda number: len(layout.levels[number]))
    middle = (len(layout.levels[widest]) - 1) / 2
    for row, node in enumerate(layout.levels[widest]):
        layout.nodes[node].y = row - middle
    leftwards = ((number, behind) for number in range(widest - 1, -1, -1))
    rightwards = ((number, before) for number in range(widest + 1, len(layout.levels)))
    for number, neighbours in (*leftwards, *rightwards):
        level = layout.levels[number]
        wishes = [_mean((layout.nodes[other].y for other in neighbours[node]), 0.0) for node in level]
        for node, y in zip(level, spaced(wishes), strict=True):
            layout.nodes[node].y = y


def spaced(wishes: Sequence[float]) -> list[float]:
    """Places at least 1 apart, in the order given, with the least sum of squared distances from the wishes.

    Isotonic regression of `wish - rank` by pooling neighbours that are out of order (Ayer et al., 1955).
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


# -- words --------------------------------------------------------------------------------------------------------------------


def node_text(graph: Graph, node: Node, executors: Mapping[str, tuple[str, ...]]) -> tuple[str, str]:
    """The two lines in a node's box: what it is; its kind or cost, and its threads. The second may be empty."""
    operators = [graph.operators[name] for name in node.names]
    threads = tuple(dict.fromkeys(thread for name in node.names for thread in executors.get(name, ())))
    if len(operators) > 1:
        parts = [_cost_text([operator.cost for operator in operators if operator.kind == "work"]), _threads_text(threads)]
        return f"… {len(operators):,} more …", " · ".join(filter(None, parts))
    operator = operators[0]
    if operator.kind == "work":
        kind = f"{operator.cost:,} FLOP"
    elif operator.kind == "split":
        kind = f"1 to {operator.outputs:,}"
    else:
        kind = "" if operator.name == operator.kind else operator.kind
    return _shortened(operator.name), " · ".join(filter(None, (kind, _threads_text(threads))))


def _cost_text(costs: list[int]) -> str:
    if not costs:
        return ""
    low, high = min(costs), max(costs)
    return f"{low:,} FLOP each" if low == high else f"{low:,} to {high:,} FLOP"


def _threads_text(threads: tuple[str, ...]) -> str:
    if len(threads) <= 2:
        return ", ".join(threads)
    if POOL in threads:
        return f"{POOL} and others"
    numbers = sorted(int(thread[1:]) for thread in threads)
    unbroken = numbers[-1] - numbers[0] + 1 == len(numbers)
    return f"t{numbers[0]} to t{numbers[-1]}" if unbroken else f"{len(numbers):,} threads"


def _shortened(name: str) -> str:
    return name if len(name) <= 18 else f"{name[:9]}…{name[-8:]}"


def _heading(graph: Graph, model: Model | None, parameters: Mapping[str, int | str]) -> list[str]:
    """The title and what stands under it."""
    sources = sum(operator.kind == "source" for operator in graph.operators.values())
    queues = sum(operator.inputs for operator in graph.operators.values() if has_queue(operator, model))
    settings = ", ".join(f"{name}={value}" for name, value in parameters.items())
    size = f"{_count(len(graph.operators), 'operator')}, {_count(len(graph.streams), 'stream')}"
    lines = [graph.name, f"{settings}: {size}" if settings else size]
    if model is None:
        return lines
    own = "the thread of the source" if sources == 1 else f"the threads of {sources:,} sources"
    if isinstance(model, Dynamic):
        own = f"{_count(model.threads or 0, 'scheduler thread')} and {own}"
    elif isinstance(model, Dedicated):
        own = f"{_count(queues, 'dedicated thread')} and {own}"
    return [*lines, f"{model.name}: {own}; {_count(queues, 'queue') if queues else 'no queues'}"]


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


# -- the picture --------------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=4096)
def text_width(text: str, points: float) -> float:
    """Width of a line of text, in inches."""
    return TextPath((0, 0), text.replace("$", r"\$"), size=points).get_extents().width / 72 if text.strip() else 0.0


def _thread_color(number: int) -> Color:
    return FIRST_COLOR if number == 1 else THREAD_COLORS[(number - 2) % len(THREAD_COLORS)]


class _Picture:
    """Draws a layout. `y` counts downwards from the top of the figure."""

    def __init__(self, graph: Graph, model: Model | None, layout: Layout, executors: Mapping[str, tuple[str, ...]]) -> None:
        self.graph = graph
        self.model = model
        self.layout = layout
        self.executors = executors
        self.sources = sum(operator.kind == "source" for operator in graph.operators.values())
        self.texts = {index: node_text(graph, node, executors) for index, node in enumerate(layout.nodes) if node.names}
        self.outputs: dict[int, list[int]] = defaultdict(list)
        self.inputs: dict[int, list[int]] = defaultdict(list)
        for link in layout.links:
            self.outputs[link.source].append(link.output)
            self.inputs[link.target].append(link.input)
        for ports in (*self.outputs.values(), *self.inputs.values()):
            ports[:] = sorted(set(ports))

    def draw(self, heading: list[str]) -> Figure:
        """The figure, as large as it must be."""
        legend = self._legend_lines()
        self._set_columns()
        rows = [node.y for node in self.layout.nodes]
        top = MARGIN + 0.3 + LINE * (len(heading) - 1) + 0.25
        height = top + (max(rows) - min(rows) + 1) * ROW + 0.2 + LINE * len(legend) + MARGIN
        texts = [text_width(heading[0], TITLE), *(text_width(line, NAME) for line in heading[1:])]
        texts += [0.75 + text_width(line, NAME) for _, line in legend]
        width = max(self.right, *texts) + 2 * MARGIN
        self.shift = (width - self.right) / 2
        self.y = [top + (node.y - min(rows) + 0.5) * ROW for node in self.layout.nodes]
        drawn = Figure(figsize=(width, height), layout="none")
        self.axes: Axes = drawn.add_axes((0, 0, 1, 1))
        self.axes.set(xlim=(0, width), ylim=(height, 0))
        self.axes.set_axis_off()
        for number, line in enumerate(heading):
            y = MARGIN + (0.12 if number == 0 else 0.3 + LINE * (number - 0.4))
            self._text(MARGIN, y, line, TITLE if number == 0 else NAME, "left", bold=number == 0)
        for link in self.layout.links:
            self._draw_stream(link)
        for index in self.texts:
            self._draw_node(index)
        for number, (symbol, line) in enumerate(legend):
            y = height - MARGIN - LINE * (len(legend) - number - 0.5)
            symbol(MARGIN + 0.2, y)
            self._text(MARGIN + 0.55, y, line, NAME, "left")
        return drawn

    def _set_columns(self) -> None:
        """`left[level]` and `widths[level]`: where the boxes of a level stand."""
        nodes = self.layout.nodes
        self.widths = [
            max((self._text_width(node) for node in level if nodes[node].names), default=0.0) + 2 * PADDING
            for level in self.layout.levels
        ]
        climb = [0.0] * len(self.widths)  # rows, by the level in which a stream arrives
        for link in self.layout.links:
            for source, target in zip(link.stops, link.stops[1:], strict=False):
                climb[nodes[target].level] = max(climb[nodes[target].level], abs(nodes[source].y - nodes[target].y))
        self.left: list[float] = []
        x = 0.0
        for level, width in enumerate(self.widths):
            queued = any(self._is_queued(node) for node in self.layout.levels[level])
            if level:
                x += min(GAP + GAP_OF_FAN * climb[level], MAX_GAP) + (QUEUE_WIDTH if queued else 0.0)
            self.left.append(x)
            x += width
        self.right = x

    def _text_width(self, index: int) -> float:
        name, more = self.texts[index]
        round_ = 2 * PADDING if self._is_round(index) else 0.0
        return max(text_width(name, NAME), text_width(more, SMALL)) + round_

    def _is_round(self, index: int) -> bool:
        """Sources and sinks are: the ends of the graph."""
        return all(self.graph.operators[name].kind in ("source", "sink") for name in self.layout.nodes[index].names)

    def _is_queued(self, index: int) -> bool:
        return any(has_queue(self.graph.operators[name], self.model) for name in self.layout.nodes[index].names)

    def _edges(self, index: int) -> tuple[float, float]:
        """Left and right edge of a node's box, without queues and stacked sheets."""
        level = self.layout.nodes[index].level
        left = self.left[level] + self.shift
        return left, left + self.widths[level]

    def _port(self, index: int, port: int, ports: Sequence[int]) -> float:
        """Where a port is: they share the side of the box."""
        return self.y[index] + ((ports.index(port) + 0.5) / len(ports) - 0.5) * 0.75 * BOX_HEIGHT

    # -- what is drawn --------------------------------------------------------------------------------------------------------

    def _draw_stream(self, link: Link) -> None:
        x = self._edges(link.source)[1] + (2 * STACK if len(self.layout.nodes[link.source].names) > 1 else 0.0)
        y = self._port(link.source, link.output, self.outputs[link.source])
        vertices, codes = [(x, y)], [Path.MOVETO]
        tip = self._edges(link.target)[0] - (QUEUE_WIDTH if self._is_queued(link.target) else 0.0)
        ends = [(*self._edges(bend), self.y[bend]) for bend in link.bends]
        ends.append((tip - ARROW, tip - ARROW, self._port(link.target, link.input, self.inputs[link.target])))
        for left, right, there in ends:
            half = (x + left) / 2
            vertices += [(half, y), (half, there), (left, there), (right, there)]
            codes += [Path.CURVE4, Path.CURVE4, Path.CURVE4, Path.LINETO]
            x, y = right, there
        self.axes.add_patch(PathPatch(Path(vertices, codes), facecolor="none", edgecolor=style.FAINT, linewidth=0.8, zorder=1))
        self._draw_arrowhead(tip, y)

    def _draw_arrowhead(self, tip: float, y: float) -> None:
        corners = [(tip, y), (tip - ARROW, y - ARROW / 2), (tip - ARROW, y + ARROW / 2)]
        self.axes.add_patch(Polygon(corners, facecolor=style.FAINT, edgecolor="none", zorder=3))

    def _draw_node(self, index: int) -> None:
        node = self.layout.nodes[index]
        left, right = self._edges(index)
        y = self.y[index]
        color = self._color(node)
        rounding = BOX_HEIGHT / 2 if self._is_round(index) else 0.04
        for sheet in (2, 1, 0) if len(node.names) > 1 else (0,):
            self._draw_box(left + sheet * STACK, y - sheet * STACK, right - left, BOX_HEIGHT, color, rounding)
        if self._is_queued(index):
            for port in self.inputs[index]:
                self._draw_queue(left - QUEUE_WIDTH, self._port(index, port, self.inputs[index]), len(self.inputs[index]))
        name, more = self.texts[index]
        middle = (left + right) / 2
        self._text(middle, y - (0.075 if more else 0.0), name, NAME, "center")
        if more:
            self._text(middle, y + 0.09, more, SMALL, "center")

    def _draw_box(self, left: float, y: float, width: float, height: float, color: Color, rounding: float = 0.04) -> None:
        self.axes.add_patch(
            FancyBboxPatch(
                (left, y - height / 2),
                width,
                height,
                boxstyle=f"round,pad=0,rounding_size={rounding}",
                facecolor=color,
                edgecolor=style.INK,
                linewidth=0.8,
                zorder=2,
            )
        )

    def _draw_queue(self, left: float, y: float, ports: int = 1) -> None:
        """A queue: three slots."""
        height = min(QUEUE_HEIGHT, 0.65 * BOX_HEIGHT / ports)
        for slot in range(3):
            self.axes.add_patch(
                Rectangle(
                    (left + slot * QUEUE_WIDTH / 3, y - height / 2),
                    QUEUE_WIDTH / 3,
                    height,
                    facecolor="white",
                    edgecolor=style.INK,
                    linewidth=0.7,
                    zorder=3,
                )
            )

    def _color(self, node: Node) -> Color:
        threads = {thread for name in node.names for thread in self.executors.get(name, ())}
        if len(threads) != 1:
            return "white" if self.model is None else SEVERAL_COLOR
        thread = threads.pop()
        if thread == POOL:
            return POOL_COLOR
        return _thread_color(int(thread[1:]))

    # -- the legend -----------------------------------------------------------------------------------------------------------

    def _legend_lines(self) -> list[tuple[Callable[[float, float], None], str]]:
        """What draws each symbol, around the place it is given, and what the symbol means."""
        lines = [(self._swatch("white"), "operator: what it computes for a tuple, in floating-point operations (FLOP)")]
        if self.model is not None:
            lines[0] = (self._swatch("white"), f"{lines[0][1]}, and the threads that execute it")
            if self.sources == 1:
                own, calls = "t1: the thread of the source", "; it calls everything downstream"
            else:
                own, calls = f"t1 to t{self.sources}: the threads of the sources", "; they call everything downstream"
            colors = [_thread_color(number + 1) for number in range(min(self.sources, len(THREAD_COLORS)))]
            lines.append((self._swatch(*colors), own + (calls if isinstance(self.model, Manual) else "")))
        if isinstance(self.model, Dynamic):
            pool = (
                "the only scheduler thread" if self.model.threads == 1 else f"any of {self.model.threads:,} scheduler threads"
            )
            lines.append((self._swatch(POOL_COLOR), f"{POOL}: {pool}"))
        if isinstance(self.model, Dedicated):
            lines.append((self._swatch(*THREAD_COLORS), f"t{self.sources + 1} and on: a thread for each queue"))
        if any(len(set(self.executors.get(name, ()))) > 1 for name in self.executors):
            lines.append((self._swatch(SEVERAL_COLOR), "several threads may execute it"))
        operators = self.graph.operators.values()
        if isinstance(self.model, Dynamic | Dedicated):
            given = self.model.queue_capacity
            holds = f"{given:,}" if given else f"{DEFAULT_QUEUE_CAPACITY:,}, fewer if memory is short"
            lines.append(
                (lambda x, y: self._draw_queue(x - QUEUE_WIDTH / 2, y), f"queue before an input port; tuples it holds: {holds}")
            )
            if any(operator.kind == "split" for operator in operators):
                lines.append((self._blank, "a split has no queue: it runs on the thread that submits to it"))
        if any(operator.kind == "work" and operator.outputs > 1 for operator in operators):
            lines.append((self._blank, "an operator with several output ports sends tuples to them in turn"))
        if any(len(node.names) > 1 for node in self.layout.nodes):
            lines.append((self._sheets, "operators that are folded together"))
        return lines

    def _swatch(self, *colors: Color) -> Callable[[float, float], None]:
        def draw(x: float, y: float) -> None:
            width = 0.36 / len(colors)
            for number, color in enumerate(colors):
                self._draw_box(x - 0.18 + number * width, y, width, 0.13, color, rounding=0.01)

        return draw

    def _sheets(self, x: float, y: float) -> None:
        for sheet in (2, 1, 0):
            self._draw_box(x - 0.18 + 0.03 * sheet, y + 0.03 - 0.03 * sheet, 0.3, 0.1, "white", rounding=0.01)

    def _blank(self, x: float, y: float) -> None:
        """No symbol."""

    def _text(self, x: float, y: float, text: str, points: float, side: str, bold: bool = False) -> None:
        weight = "bold" if bold else "normal"
        self.axes.text(
            x, y, text, size=points, ha=side, va="center", color=style.INK, weight=weight, zorder=4, parse_math=False
        )
