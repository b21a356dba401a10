"""Names written at the lines and points of a panel, so that it can be read without its legend.

Each name takes the place, of several around what it names, where it hides least: first other names
and the edges of the axes, then points of lines, then lines across.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes

from harness.plots import settled

NAME_PT = 7.0  # size of names
CHARACTER, LINE = 4.1, 8.5  # width of a character and height of a line of this size [points]
AWAY = 5.0  # points between a marker and its name
WORST, ON_POINT, ON_LINE = 1000.0, 20.0, 1.0  # costs: of hiding a name, a point, a line across
MARKER = 3.0  # points from the middle of a marker to its edge

Box = tuple[float, float, float, float]
"""Left, bottom, right, top, in points from the lower left of the axes."""


@dataclass(frozen=True)
class Name:
    """Text at points of the axes, in data coordinates; `across`: a line across, named above or
    below anywhere along it; `anchors`: points, the most fitting first.
    """

    text: str
    color: str
    anchors: Sequence[tuple[float, float]] = ()
    across: float | None = None


@dataclass(frozen=True)
class Panel:
    """Contents of axes that names must not hide. `size`: width and height of the axes [points],
    about; `curve`: points of a line in data coordinates; `points`: single ones; `flat`: heights of
    lines across; `boxes`: other texts.
    """

    size: tuple[float, float]
    curve: Sequence[tuple[float, float]] = ()
    points: Sequence[tuple[float, float]] = ()
    flat: Sequence[float] = ()
    boxes: Sequence[Box] = ()


def write(ax: Axes, names: Iterable[Name], panel: Panel) -> None:
    """Write names one after the other. The limits and scales of the axes are final."""
    to_points = ax.transData + ax.transAxes.inverted()

    def placed(points: Sequence[tuple[float, float]]) -> np.ndarray:
        return to_points.transform(np.reshape(points, (-1, 2))) * panel.size

    line, markers = _filled(placed(panel.curve)), placed([*panel.curve, *panel.points])
    flat = placed([(ax.get_xlim()[0], height) for height in panel.flat])[:, 1]
    boxes = list(panel.boxes)
    for name in names:
        width = CHARACTER * len(name.text)
        if name.across is None:
            choices = [
                (x + side * (AWAY + width / 2), y + up * (AWAY + LINE / 2))
                for x, y in placed(name.anchors)
                for side, up in ((1, -1), (1, 1), (-1, 1), (-1, -1), (0, 1.2), (0, -1.2))
            ]
        else:
            ((_, y),) = placed([(ax.get_xlim()[0], name.across)])
            choices = [
                (share * (panel.size[0] - 2 * AWAY - width) + AWAY + width / 2, y + up)
                for up in (LINE / 2 + 1.5, -LINE / 2 - 1.5)
                for share in (0.93, 0.0, 0.7, 0.45, 0.2)
            ]
        sized = [(x - width / 2, y - LINE / 2, x + width / 2, y + LINE / 2) for x, y in choices]
        costs = [
            _cost(box, number, boxes, line, markers, flat, panel)
            for number, box in enumerate(sized)
        ]
        best = sized[int(np.argmin(costs))]
        boxes.append(best)
        middle = np.mean([best[:2], best[2:]], axis=0) / panel.size
        ax.text(
            *middle,
            name.text,
            transform=ax.transAxes,
            ha="center",
            va="center",
            fontsize=NAME_PT,
            color=name.color,
            path_effects=settled.TEXT_HALO,
            zorder=7,
        )


def _filled(points: np.ndarray) -> np.ndarray:
    """Return points along a line, close to each other."""
    if len(points) < 2:
        return points
    parts = np.linspace(0.0, 1.0, 12)
    return np.concatenate([(1 - part) * points[:-1] + part * points[1:] for part in parts])


def _cost(
    box: Box,
    number: int,
    boxes: Sequence[Box],
    line: np.ndarray,
    markers: np.ndarray,
    flat: np.ndarray,
    panel: Panel,
) -> float:
    left, bottom, right, top = box
    is_out = left < 0 or bottom < 0 or right > panel.size[0] or top > panel.size[1] + 2
    hidden = sum(
        left < other[2] and other[0] < right and bottom < other[3] and other[1] < top
        for other in boxes
    )
    on_points = _within(line, box, 0.0) + _within(markers, box, MARKER)
    on_flat = ((flat > bottom + 1) & (flat < top - 1)).sum()
    return WORST * (is_out + hidden) + ON_POINT * on_points + ON_LINE * on_flat + 0.01 * number


def _within(points: np.ndarray, box: Box, margin: float) -> int:
    """Return the number of points in a box that is larger by a margin on each side."""
    left, bottom, right, top = box
    x, y = points.T
    across = (x > left - margin) & (x < right + margin)
    return int((across & (y > bottom - margin) & (y < top + margin)).sum())
