"""Picture of a graph: operators, streams, and under a threading model its queues and the threads
that execute each operator.

`graph_layout` decides the places; this file draws.

Lengths are in inches: the axes span the figure, so nothing is scaled and text has the size that is
given.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.layout_engine import PlaceHolderLayoutEngine
from matplotlib.patches import FancyBboxPatch, PathPatch, Polygon, Rectangle
from matplotlib.path import Path
from matplotlib.textpath import TextPath

from harness.graph import Graph, Operator, PortId
from harness.graph.kinds import SINK, SOURCE, SPLIT, WORK
from harness.models import (
    DEFAULT_QUEUE_CAPACITY,
    Coroutine,
    Manual,
    Model,
    PoolSize,
    PortQueue,
    Queue,
    pool_of,
    port_queues,
)
from harness.models.replicas import replicable
from harness.plots import style
from harness.plots.graph_layout import Edge, Node, arrange

TITLE, NAME, SMALL = 12.0, 9.0, 7.5  # points
BOX_HEIGHT, ROW = 0.38, 0.49
PADDING = 0.09  # between a box and its text
MARGIN = 0.25
# between levels; more where streams climb, so that they stay apart
GAP, GAP_OF_FAN, MAX_GAP = 0.36, 0.06, 0.9
QUEUE_WIDTH, QUEUE_HEIGHT = 0.19, 0.17
ARROW = 0.075
STACK = 0.035  # between the sheets of a folded node
LINE = 0.19  # height of a line of the legend

Color = str | tuple[float, float, float]


def _tint(color: str) -> Color:
    """Return a light shade of a colour, on which text is readable."""
    red, green, blue = to_rgb(color)
    return (red + 2) / 3, (green + 2) / 3, (blue + 2) / 3


POOL = "pool"
POOL_COLOR = _tint(style.of_model("dynamic").color)
FIRST_COLOR = _tint("#e69f00")  # the first thread; in most graphs it is the only source's
# the other threads, in turn
THREAD_COLORS = tuple(
    map(
        _tint,
        (
            *("#56b4e9", "#009e73", "#f0e442", "#cc79a7", "#0072b2", "#d55e00"),
            *("#6b4c9a", "#8c6d31", "#666666"),
        ),
    )
)
SEVERAL_COLOR = "#f0f0f0"


def figure(
    graph: Graph, model: Model | None = None, parameters: Mapping[str, int | str] | None = None
) -> Figure:
    """Return the picture of a checked graph; without a model neither queues nor threads.
    `parameters` go into the heading.
    """
    return below_each_other([(graph, model, parameters or {})])


def below_each_other(
    graphs: Sequence[tuple[Graph, Model | None, Mapping[str, int | str]]], foot: float = 0.0
) -> Figure:
    """Return the pictures of graphs below each other, each with the arguments of `figure`, and room
    of `foot` inches below the last.
    """
    pictures = [
        _Picture(graph, model, _heading(graph, model, parameters))
        for graph, model, parameters in graphs
    ]
    width = max(each.width for each in pictures)
    height = foot + sum(each.height for each in pictures)
    # Without any engine, a second format would be drawn with the engine of the style, which finds
    # no grid here
    drawn = Figure(figsize=(width, height), layout=PlaceHolderLayoutEngine(True, False))
    top = height
    with style.applied():
        for each in pictures:
            top -= each.height
            left = (width - each.width) / 2
            each.draw(
                drawn.add_axes(
                    (left / width, top / height, each.width / width, each.height / height)
                )
            )
    return drawn


# -- threads of each operator ----------------------------------------------------------------------


def threads_of(graph: Graph, model: Model) -> dict[str, tuple[str, ...]]:
    """Return the threads that may execute each operator: `t1`, `t2`, … of sources, then of ports;
    `pool`: any thread of the pool.
    """
    found: dict[str, dict[str, None]] = {name: {} for name in graph.operators}
    sources = [operator.name for operator in graph.operators.values() if operator.is_source]
    resumed = isinstance(model, Coroutine)
    for number, name in enumerate(sources, start=1):
        found[name][POOL if resumed else f"t{number}"] = None
    number = 0 if resumed else len(sources)
    called: dict[str, list[PortId]] = defaultdict(list)  # by operator
    for port, queue in zip(graph.input_ports(), port_queues(graph, model), strict=True):
        if queue.kind is Queue.CALLED:
            called[port.operator].append(port)
        elif queue.kind in (Queue.SCHEDULED, Queue.RESUMED):
            found[port.operator][POOL] = None
        else:
            number += 1
            found[port.operator][f"t{number}"] = None
    feeding = graph.predecessors()
    for name in graph.topological_order():
        for port in called[name]:
            for origin in feeding[port]:
                found[name].update(found[origin.operator])
    return {name: tuple(threads) for name, threads in found.items()}


# -- words -----------------------------------------------------------------------------------------


def node_text(
    graph: Graph, node: Node, executors: Mapping[str, tuple[str, ...]]
) -> tuple[str, str]:
    """Return the two lines in a node's box: its name; its kind or cost, and its threads. The second
    may be empty.
    """
    operators = [graph.operators[name] for name in node.names]
    threads = tuple(
        dict.fromkeys(thread for name in node.names for thread in executors.get(name, ()))
    )
    if len(operators) > 1:
        plain = all(
            operator.kind is not WORK or not (operator.busy_us or operator.costs)
            for operator in operators
        )
        costs = [operator.cost for operator in operators if operator.kind is WORK] if plain else []
        parts = [_cost_text(costs), _threads_text(threads)]
        return node.title or f"… {len(operators):,} more …", " · ".join(filter(None, parts))
    return _shortened(operators[0].name), " · ".join(
        filter(None, (_kind_text(operators[0]), _threads_text(threads)))
    )


def _kind_text(operator: Operator) -> str:
    """Return the work of an operator, in a few words."""
    match operator.kind.name:
        case "work":
            share = (
                f", passes {100 * operator.selectivity:g} %" if operator.selectivity < 1.0 else ""
            )
            if operator.busy_us:
                return f"{operator.busy_us:,g} µs{share}"
            return (
                _cost_text([flop for _, flop in operator.costs])
                if operator.costs
                else f"{operator.cost:,} FLOP"
            ) + share
        case "split":
            return f"1 to {operator.outputs:,}" + (
                f" by {operator.keys:,} keys" if operator.keys else ""
            )
        case "threaded_split":
            return f"1 to {operator.outputs:,}"
        case "elastic_load_balance":
            return f"1 to {operator.outputs:,}, {operator.initial_active_ports:,} active"
        case "barrier":
            return f"one of each of {operator.inputs:,}"
        case "filter":
            return f"passes {100 * operator.selectivity:g} %"
        case "source" if operator.rate or operator.rates:
            return f"{operator.rate:,g} tuples/s" if operator.rate else "bursts"
    return "" if operator.name == operator.kind.name else operator.kind.name


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
    """Return the title and the lines under it."""
    sources = sum(operator.is_source for operator in graph.operators.values())
    settings = ", ".join(f"{name}={value}" for name, value in parameters.items())
    size = f"{_count(len(graph.operators), 'operator')}, {_count(len(graph.streams), 'stream')}"
    lines = [graph.name, f"{settings}: {size}" if settings else size]
    if model is None:
        return lines
    kinds = [queue.kind for queue in port_queues(graph, model)]
    queues = len(kinds) - kinds.count(Queue.CALLED)
    own = "the thread of the source" if sources == 1 else f"the threads of {sources:,} sources"
    threads = []
    if Queue.SCHEDULED in kinds or isinstance(model, Coroutine):
        threads.append(_pool_size(pool_of(graph, model)))
    if Queue.THREADED in kinds:
        threads.append(_count(kinds.count(Queue.THREADED), "dedicated thread"))
    if isinstance(model, Coroutine):
        own = " and ".join(threads)
    else:
        own = " and ".join([", ".join(threads), own] if threads else [own])
    summary = f"{model.name}: {own}; {_count(queues, 'queue') if queues else 'no queues'}"
    if able := replicable(graph, model):
        summary += f"; {_count(len(able), 'operator')} may have replicas"
    return [*lines, summary]


def _pool_size(pool: PoolSize) -> str:
    if pool.elastic:
        return f"{pool.minimum:,} to {_count(pool.maximum, 'scheduler thread')}"
    return _count(pool.threads, "scheduler thread")


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


# -- the picture -----------------------------------------------------------------------------------


@lru_cache(maxsize=4096)
def text_width(text: str, points: float) -> float:
    """Return the width of a line of text, in inches."""
    return (
        TextPath((0, 0), text.replace("$", r"\$"), size=points).get_extents().width / 72
        if text.strip()
        else 0.0
    )


def _thread_color(number: int) -> Color:
    return FIRST_COLOR if number == 1 else THREAD_COLORS[(number - 2) % len(THREAD_COLORS)]


class _Picture:
    """Drawing of a layout. `y` counts downwards from the top of the figure."""

    def __init__(self, graph: Graph, model: Model | None, heading: Sequence[str]) -> None:
        layout, executors = arrange(graph), {} if model is None else threads_of(graph, model)
        self.graph = graph
        self.heading = heading
        self.model = model
        self.queues: dict[PortId, PortQueue] = {}
        if model is not None:
            found = zip(graph.input_ports(), port_queues(graph, model), strict=True)
            self.queues = {port: queue for port, queue in found if queue.kind is not Queue.CALLED}
        self.layout = layout
        self.executors = executors
        self.sources = sum(operator.is_source for operator in graph.operators.values())
        if isinstance(model, Coroutine):
            self.sources = 0  # with a thread of their own
        self.texts = {
            index: node_text(graph, node, executors)
            for index, node in enumerate(layout.nodes)
            if node.names
        }
        self.outputs: dict[int, list[int]] = defaultdict(list)
        self.inputs: dict[int, list[int]] = defaultdict(list)
        for link in layout.links:
            self.outputs[link.source].append(link.output)
            self.inputs[link.target].append(link.input)
        for ports in (*self.outputs.values(), *self.inputs.values()):
            ports[:] = sorted(set(ports))
        self._measure()

    def _measure(self) -> None:
        """Compute `width` and `height` from the contents, and the places of all boxes."""
        heading, self.legend = self.heading, self._legend_lines()
        self._set_columns()
        rows = [node.y for node in self.layout.nodes]
        top = MARGIN + 0.3 + LINE * (len(heading) - 1) + 0.25
        self.height = (
            top + (max(rows) - min(rows) + 1) * ROW + 0.2 + LINE * len(self.legend) + MARGIN
        )
        texts = [text_width(heading[0], TITLE), *(text_width(line, NAME) for line in heading[1:])]
        texts += [0.75 + text_width(line, NAME) for _, line in self.legend]
        self.width = max(self.right, *texts) + 2 * MARGIN
        self.shift = (self.width - self.right) / 2
        self.y = [top + (node.y - min(rows) + 0.5) * ROW for node in self.layout.nodes]

    def draw(self, axes: Axes) -> None:
        """Draw on axes that are `width` by `height` inches."""
        self.axes = axes
        self.axes.set(xlim=(0, self.width), ylim=(self.height, 0))
        self.axes.set_axis_off()
        for number, line in enumerate(self.heading):
            y = MARGIN + (0.12 if number == 0 else 0.3 + LINE * (number - 0.4))
            self._text(MARGIN, y, line, TITLE if number == 0 else NAME, "left", bold=number == 0)
        for link in self.layout.links:
            self._draw_stream(link)
        for index in self.texts:
            self._draw_node(index)
        for number, (symbol, line) in enumerate(self.legend):
            y = self.height - MARGIN - LINE * (len(self.legend) - number - 0.5)
            symbol(MARGIN + 0.2, y)
            self._text(MARGIN + 0.55, y, line, NAME, "left")

    def _set_columns(self) -> None:
        """Compute `left[level]` and `widths[level]`: place and width of the boxes of a level."""
        nodes = self.layout.nodes
        self.widths = [
            max((self._text_width(node) for node in level if nodes[node].names), default=0.0)
            + 2 * PADDING
            for level in self.layout.levels
        ]
        climb = [0.0] * len(self.widths)  # rows, by the level in which a stream arrives
        for link in self.layout.links:
            for source, target in zip(link.stops, link.stops[1:], strict=False):
                climb[nodes[target].level] = max(
                    climb[nodes[target].level], abs(nodes[source].y - nodes[target].y)
                )
        self.left: list[float] = []
        x = 0.0
        for level, width in enumerate(self.widths):
            queued = any(self._queued_ports(node) for node in self.layout.levels[level])
            if level:
                x += min(GAP + GAP_OF_FAN * climb[level], MAX_GAP) + (
                    QUEUE_WIDTH if queued else 0.0
                )
            self.left.append(x)
            x += width
        self.right = x

    def _text_width(self, index: int) -> float:
        name, more = self.texts[index]
        round_ = 2 * PADDING if self._is_round(index) else 0.0
        return max(text_width(name, NAME), text_width(more, SMALL)) + round_

    def _is_round(self, index: int) -> bool:
        """Return True for sources and sinks, the ends of the graph."""
        return all(
            self.graph.operators[name].kind in (SOURCE, SINK)
            for name in self.layout.nodes[index].names
        )

    def _queued_ports(self, index: int) -> list[int]:
        """Return the input ports with streams in the picture that have a queue; folded operators
        share them.
        """
        names = self.layout.nodes[index].names
        if len(names) == 1:
            return [port for port in self.inputs[index] if PortId(names[0], port) in self.queues]
        operators = [self.graph.operators[name] for name in names]
        queued = any(
            operator.input(port) in self.queues
            for operator in operators
            for port in range(operator.inputs)
        )
        return self.inputs[index] if queued else []

    def _edges(self, index: int) -> tuple[float, float]:
        """Return the left and right edge of a node's box, without queues and stacked sheets."""
        level = self.layout.nodes[index].level
        left = self.left[level] + self.shift
        return left, left + self.widths[level]

    def _port(self, index: int, port: int, ports: Sequence[int]) -> float:
        """Return the height of a port: the ports share the side of the box."""
        return self.y[index] + ((ports.index(port) + 0.5) / len(ports) - 0.5) * 0.75 * BOX_HEIGHT

    # -- symbols -----------------------------------------------------------------------------------

    def _draw_stream(self, link: Edge) -> None:
        x = self._edges(link.source)[1] + (
            2 * STACK if len(self.layout.nodes[link.source].names) > 1 else 0.0
        )
        y = self._port(link.source, link.output, self.outputs[link.source])
        vertices, codes = [(x, y)], [Path.MOVETO]
        tip = self._edges(link.target)[0] - (
            QUEUE_WIDTH if link.input in self._queued_ports(link.target) else 0.0
        )
        ends = [(*self._edges(bend), self.y[bend]) for bend in link.bends]
        ends.append(
            (
                tip - ARROW,
                tip - ARROW,
                self._port(link.target, link.input, self.inputs[link.target]),
            )
        )
        for left, right, there in ends:
            half = (x + left) / 2
            vertices += [(half, y), (half, there), (left, there), (right, there)]
            codes += [Path.CURVE4, Path.CURVE4, Path.CURVE4, Path.LINETO]
            x, y = right, there
        self.axes.add_patch(
            PathPatch(
                Path(vertices, codes),
                facecolor="none",
                edgecolor=style.FAINT,
                linewidth=0.8,
                zorder=1,
            )
        )
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
            self._draw_box(
                left + sheet * STACK, y - sheet * STACK, right - left, BOX_HEIGHT, color, rounding
            )
        for port in self._queued_ports(index):
            self._draw_queue(
                left - QUEUE_WIDTH,
                self._port(index, port, self.inputs[index]),
                len(self.inputs[index]),
            )
        name, more = self.texts[index]
        middle = (left + right) / 2
        self._text(middle, y - (0.075 if more else 0.0), name, NAME, "center")
        if more:
            self._text(middle, y + 0.09, more, SMALL, "center")

    def _draw_box(
        self,
        left: float,
        y: float,
        width: float,
        height: float,
        color: Color,
        rounding: float = 0.04,
    ) -> None:
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
        """Draw a queue: three slots."""
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

    # -- the legend --------------------------------------------------------------------------------

    def _legend_lines(self) -> list[tuple[Callable[[float, float], None], str]]:
        """Return a function that draws each symbol around a place, and the symbol's meaning."""
        counted = any(operator.kind is WORK for operator in self.graph.operators.values())
        computes = (
            ": what it computes for a tuple, in floating-point operations (FLOP)" if counted else ""
        )
        lines = [(self._swatch("white"), f"operator{computes}")]
        if self.model is not None:
            lines[0] = (self._swatch("white"), f"{lines[0][1]}, and the threads that execute it")
            if self.sources == 1:
                own, calls = "t1: the thread of the source", "; it calls everything downstream"
            else:
                own = f"t1 to t{self.sources}: the threads of the sources"
                calls = "; they call everything downstream"
            colors = [
                _thread_color(number + 1) for number in range(min(self.sources, len(THREAD_COLORS)))
            ]
            if self.sources > 0:
                alone = isinstance(self.model, Manual) and not self.queues
                lines.append((self._swatch(*colors), own + (calls if alone else "")))
        kinds = {queue.kind for queue in self.queues.values()}
        if Queue.SCHEDULED in kinds or isinstance(self.model, Coroutine):
            size = _pool_size(pool_of(self.graph, self.model))
            pool = "the only scheduler thread" if size == "1 scheduler thread" else f"any of {size}"
            lines.append((self._swatch(POOL_COLOR), f"{POOL}: {pool}"))
        if Queue.THREADED in kinds:
            each = "queue" if kinds == {Queue.THREADED} else "threaded port"
            lines.append(
                (
                    self._swatch(*THREAD_COLORS),
                    f"t{self.sources + 1} and on: a thread for each {each}",
                )
            )
        if any(len(set(self.executors.get(name, ()))) > 1 for name in self.executors):
            lines.append((self._swatch(SEVERAL_COLOR), "several threads may execute it"))
        operators = self.graph.operators.values()
        if self.queues:
            lines.append(
                (
                    lambda x, y: self._draw_queue(x - QUEUE_WIDTH / 2, y),
                    f"queue before an input port; tuples it holds: {self._holds()}",
                )
            )
            if any(
                operator.kind is SPLIT and operator.input(0) not in self.queues
                for operator in operators
            ):
                lines.append(
                    (self._blank, "a split has no queue: it runs on the thread that submits to it")
                )
            if any(operator.kind.balances for operator in operators):
                lines.append((self._blank, "a load balance takes the next buffer that has room"))
        if any(operator.kind is WORK and operator.outputs > 1 for operator in operators):
            lines.append(
                (self._blank, "an operator with several output ports sends tuples to them in turn")
            )
        if any(len(node.names) > 1 for node in self.layout.nodes):
            lines.append((self._sheets, "operators that are folded together"))
        return lines

    def _holds(self) -> str:
        """Return the capacities of the queues, in words."""
        given = {queue.capacity for queue in self.queues.values()}
        by_default = f"up to {DEFAULT_QUEUE_CAPACITY:,}"
        known = sorted(capacity for capacity in given if capacity is not None)
        words = ([by_default] if None in given else []) + [f"{capacity:,}" for capacity in known]
        return " or ".join(words) if len(words) <= 3 else f"from {known[0]:,} to {known[-1]:,}"

    def _swatch(self, *colors: Color) -> Callable[[float, float], None]:
        def draw(x: float, y: float) -> None:
            width = 0.36 / len(colors)
            for number, color in enumerate(colors):
                self._draw_box(x - 0.18 + number * width, y, width, 0.13, color, rounding=0.01)

        return draw

    def _sheets(self, x: float, y: float) -> None:
        for sheet in (2, 1, 0):
            self._draw_box(
                x - 0.18 + 0.03 * sheet, y + 0.03 - 0.03 * sheet, 0.3, 0.1, "white", rounding=0.01
            )

    def _blank(self, x: float, y: float) -> None:
        """Draw no symbol."""

    def _text(
        self, x: float, y: float, text: str, points: float, side: str, bold: bool = False
    ) -> None:
        weight = "bold" if bold else "normal"
        self.axes.text(
            x,
            y,
            text,
            size=points,
            ha=side,
            va="center",
            color=style.INK,
            weight=weight,
            zorder=4,
            parse_math=False,
        )
