"""Graph as SVG. Only the classes of its boxes (`n`) and marks (`m`) change with time, in the order
of the document.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby

from harness.graph import Graph, Operator
from harness.graph.kinds import SINK, SOURCE, WORK
from harness.models import Queue
from harness.watch.drawing import Drawing, Spot, box_text, draw
from harness.watch.regions import SHARED_REGION, GraphRegions
from harness.watch.story import Story

MAX_MARKS = 6  # ports of a box that have a mark each; more share one
MARK_WIDTH = 4.5  # width [px]
MAX_TENTHS = 9


@dataclass(frozen=True)
class PictureState:
    """Content of the picture while some ports have queues, as `packed` text: a letter a box, a
    digit a mark.

    Letters: colours of regions from `a`, `x` for an operator that is called from several regions,
    or for folded operators of several. Digits: the share of a mark's ports that have a queue, 0 to
    9; 0 means that none has one.
    """

    boxes: str
    marks: str


class Picture:
    """Picture of a story's graph: `svg` draws it, `state` gives its content at a time."""

    def __init__(self, story: Story) -> None:
        self._story = story
        self._drawing = draw(story.graph)
        self._regions = GraphRegions(story.graph)
        index = {name: number for number, name in enumerate(story.graph.operators)}
        self._boxes = [[index[name] for name in spot.names] for spot in self._drawing.spots]
        self._marks = [
            _marks(story, spot) for spot in self._drawing.spots
        ]  # of each box: the ports of each mark
        self._states: dict[frozenset[str], PictureState] = {}

    def state(self, queued: frozenset[str]) -> PictureState:
        """Return the content of the picture while these ports have queues."""
        if queued not in self._states:
            regions = self._regions
            colours = regions.colours(regions.of(queued))
            boxes = "".join(
                _letter({colours[operator] for operator in operators}) for operators in self._boxes
            )
            marks = "".join(_share(ports, queued) for box in self._marks for ports in box)
            self._states[queued] = PictureState(packed(boxes), packed(marks))
        return self._states[queued]

    def svg(self, queued: frozenset[str]) -> str:
        """Return the picture while these ports have queues."""
        drawing, story = self._drawing, self._story
        state = self.state(queued)
        boxes, marks = unpacked(state.boxes), iter(unpacked(state.marks))
        many = len(story.graph.operators)
        label = (
            f"Graph of {many:,} operators, from left to right; its queues and regions are in "
            "the text beside it"
        )
        least, most = (
            share * drawing.width for share in ((0.8, 1.6) if drawing.named else (0.5, 2.4))
        )
        parts = [
            f'<svg id="graph" viewBox="0 0 {drawing.width:.0f} {drawing.height:.0f}" '
            'preserveAspectRatio="xMinYMin" role="img" '
            f'aria-label="{escape(label)}" style="min-width:{least:.0f}px;max-width:{most:.0f}px">',
            f'<path class="s" d="{drawing.streams}"/>',
        ]
        for spot, letter, ports in zip(drawing.spots, boxes, self._marks, strict=True):
            parts.append(self._box(drawing, spot, letter))
            parts += self._marks_of(drawing, spot, ports, marks)
        return "".join([*parts, "</svg>"])

    def _box(self, drawing: Drawing, spot: Spot, letter: str) -> str:
        box, graph = drawing.box, self._story.graph
        ends = all(graph.operators[name].kind in (SOURCE, SINK) for name in spot.names)
        rounding = f' rx="{box.height / 2:g}"' if ends else ""
        title = f"<title>{escape(_box_text(graph, spot.names))}</title>"
        rect = (
            f'<rect class="n {letter}" x="{spot.x:.0f}" y="{spot.y:.0f}" '
            f'width="{box.width:.0f}" height="{box.height:.0f}"'
        )
        rect += f"{rounding}>{title}</rect>"
        if not drawing.named:
            return rect
        text = escape(box_text(spot.names))
        return (
            f'{rect}<text x="{spot.x + box.width / 2:.0f}" '
            f'y="{spot.y + box.height / 2:.0f}">{text}</text>'
        )

    def _marks_of(
        self, drawing: Drawing, spot: Spot, marks: Sequence[Sequence[str]], digits: Iterable[str]
    ) -> list[str]:
        """Return the marks of a box, one below the other at its left edge."""
        height = drawing.box.height / max(1, len(marks))
        drawn = []
        for place, ports in enumerate(marks):
            always = all(self._story.ports[port] is Queue.THREADED for port in ports)
            kind = "m t" if always else "m"
            y = spot.y + place * height
            label = self._story.label(ports[0]) if len(ports) == 1 else f"{len(ports):,} ports"
            drawn.append(
                f'<rect class="{kind} q{next(iter(digits))}" x="{spot.x - MARK_WIDTH - 1:.1f}" '
                f'y="{y + 0.5:.1f}" width="{MARK_WIDTH:g}" '
                f'height="{height - 1:.1f}"><title>queue before '
                f"{escape(label)}{', its own thread' * always}</title></rect>"
            )
        return drawn


def _marks(story: Story, spot: Spot) -> list[list[str]]:
    """Return the ports of each mark of a box: ports that may have a queue, one a mark if they are
    few.
    """
    ports = [
        str(operator.input(port))
        for operator in map(story.graph.operators.__getitem__, spot.names)
        for port in range(operator.inputs)
    ]
    ports = [port for port in ports if story.ports[port] is not Queue.CALLED]
    if not ports:
        return []
    return [[port] for port in ports] if len(ports) <= MAX_MARKS else [ports]


def _letter(colours: set[int]) -> str:
    colour = colours.pop() if len(colours) == 1 else SHARED_REGION
    return "x" if colour == SHARED_REGION else "abcdefgh"[colour]


def _share(ports: Sequence[str], queued: frozenset[str]) -> str:
    """Return the share of ports with a queue as a digit."""
    return str(-(-MAX_TENTHS * sum(port in queued for port in ports) // len(ports)))


def _box_text(graph: Graph, names: Sequence[str]) -> str:
    """Return the text that a box shows under the pointer."""
    if len(names) > 1:
        return f"{len(names):,} operators, {names[0]} to {names[-1]}"
    operator: Operator = graph.operators[names[0]]
    work = f", {operator.cost:,} FLOP" if operator.kind is WORK and operator.cost else ""
    return f"{operator.name}: {operator.kind}{work}"


def packed(text: str) -> str:
    """Return a text as runs of characters: `a12 b x3` for twelve a, a b and three x. `unpacked` and
    replay.js undo it.
    """
    runs = ((character, sum(1 for _ in run)) for character, run in groupby(text))
    return " ".join(f"{character}{many if many > 1 else ''}" for character, many in runs)


def unpacked(text: str) -> str:
    """Return the text that was packed."""
    return "".join(run[0] * int(run[1:] or 1) for run in text.split())
