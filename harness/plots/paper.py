"""Shape of a figure for a paper: its width, font and title, and the columns that its panels have.

Panel functions draw for a screen. `fit` then moves the panels into as few columns as the asked
width has room for, so that text keeps its size and panels stay wide enough to be read.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.gridspec import GridSpecFromSubplotSpec, SubplotSpec

SCREEN_PT = 9.0  # size of text in figures for a screen
PAPER_PT = 7.0  # of text in figures of a given width: that of captions in many journals
TITLE_PT = 11.0  # of a figure's title, on a screen
LEAST_PANEL_INCHES = 2.2  # width of a panel with the ticks of its axis
PAPER_DPI = 300  # of pictures made of dots
CHARACTER_WIDTH = 0.56  # of the size of the text, on average


@dataclass(frozen=True)
class Shape:
    """Size and text of a figure. Without a width, it is as wide as its panels need."""

    width: float | None = None  # inches
    font: str | None = None
    font_size: float | None = None  # points
    titled: bool = True  # has its title, and the origin of its data at the foot
    foot: list[str] = field(default_factory=list)  # texts that were left out, for a caption

    @property
    def size(self) -> float:
        """Size of ordinary text, in points."""
        return self.font_size or (SCREEN_PT if self.width is None else PAPER_PT)

    def parameters(self) -> dict[str, object]:
        """Return the settings of matplotlib that differ from those of figures for a screen."""
        changed: dict[str, object] = dict.fromkeys(
            ("font.size", "axes.titlesize", "axes.labelsize"), self.size
        )
        if self.font is not None:
            changed["font.family"] = [self.font, "sans-serif"]
        if self.width is not None:
            changed |= {"savefig.dpi": PAPER_DPI, "lines.linewidth": 1.2, "lines.markersize": 4.5}
        return changed


SCREEN = Shape()
_SHAPE: ContextVar[Shape] = ContextVar("shape")


def shape() -> Shape:
    """Return the shape in which figures are drawn now."""
    return _SHAPE.get(SCREEN)


@contextmanager
def shaped(asked: Shape) -> Iterator[None]:
    """Draw figures in a shape: `with shaped(Shape(width=3.3)): …`."""
    before = _SHAPE.set(asked)
    try:
        yield
    finally:
        _SHAPE.reset(before)


class _Panel(NamedTuple):
    """Axes that move together: those in one place of the figure's grid."""

    place: SubplotSpec
    axes: list[Axes]

    @property
    def is_wide(self) -> bool:
        """True if it lies below several columns."""
        return len(self.place.colspan) > 1


def fit(figure: Figure) -> None:
    """Give a figure the width of the shape, with its panels in as many columns as have room.

    The columns that have no room follow below, so that panels keep the order in which they are
    read. Rows of panels that share their horizontal axes stay together.
    """
    width = shape().width
    panels = _panels(figure)
    if width is None or not panels:
        return
    grid = panels[0].place.get_gridspec()
    rows, columns = grid.get_geometry()
    ratios = grid.get_height_ratios() or [1.0] * rows
    inch = figure.get_figheight() * shape().size / SCREEN_PT / sum(ratios)
    across = columns_with_room(columns)
    lines: list[tuple[int, list[_Panel]]] = []
    for band in _bands(panels, rows):
        for first in range(0, columns, across):
            chosen = range(first, first + across)
            for row in band:
                line = [
                    panel
                    for panel in panels
                    if not (panel.is_wide and columns > across)
                    and panel.place.rowspan.start == row
                    and panel.place.colspan.start in chosen
                ]
                if line:
                    lines.append((row, line))
    if columns > across:
        lines += [(panel.place.rowspan.start, [panel]) for panel in panels if panel.is_wide]
    heights = [ratios[row] * inch for row, _ in lines]
    figure.set_size_inches(width, sum(heights))
    new = figure.add_gridspec(len(lines), across, height_ratios=heights)
    for number, (row, line) in enumerate(lines):
        of_row = [panel for panel in panels if panel.place.rowspan.start == row]
        for panel in line:
            column = panel.place.colspan.start % across
            last = min(column + len(panel.place.colspan), across)
            _move(panel, new[number, :] if panel.is_wide else new[number, column:last])
        _label(line[0], of_row, "left")
        _label(line[-1], of_row, "right")
        for panel in line:
            _wrap_title(panel, width / len(line))


def columns_with_room(most: int) -> int:
    """Return the number of columns of panels, of at most so many, for which the shape has room."""
    width = shape().width
    return most if width is None else max(1, min(most, int(width / LEAST_PANEL_INCHES)))


def grow(figure: Figure, inches: float) -> None:
    """Make room for a text above or below the panels of a figure of given width."""
    if shape().width is not None:
        figure.set_figheight(figure.get_figheight() + inches)


def _bands(panels: list[_Panel], rows: int) -> list[list[int]]:
    """Return the rows of a figure; those that share a horizontal axis are in one list."""
    shares = set()
    for panel in panels:
        for other in panels:
            above, below = panel.place.rowspan.start, other.place.rowspan.start
            if above < below and any(
                ax.get_shared_x_axes().joined(ax, each) for ax in panel.axes for each in other.axes
            ):
                shares |= set(range(above + 1, below + 1))
    bands: list[list[int]] = []
    for row in range(rows):
        if row in shares:
            bands[-1].append(row)
        else:
            bands.append([row])
    return bands


def _panels(figure: Figure) -> list[_Panel]:
    found: dict[tuple[int, int], _Panel] = {}
    for ax in figure.axes:
        place = ax.get_subplotspec()
        if place is not None and ax.get_visible():
            top = place.get_topmost_subplotspec()
            where = (top.rowspan.start, top.colspan.start)
            found.setdefault(where, _Panel(top, [])).axes.append(ax)
    return [found[where] for where in sorted(found)]


def _move(panel: _Panel, place: SubplotSpec) -> None:
    inner: dict[GridSpecFromSubplotSpec, GridSpecFromSubplotSpec] = {}
    for ax in panel.axes:
        old = ax.get_subplotspec()
        grid = old.get_gridspec()
        if isinstance(grid, GridSpecFromSubplotSpec):
            rows, columns = grid.get_geometry()
            if grid not in inner:
                inner[grid] = place.subgridspec(
                    rows, columns, height_ratios=grid.get_height_ratios(), hspace=0.06
                )
            ax.set_subplotspec(inner[grid][old.rowspan.start, old.colspan.start])
        else:
            ax.set_subplotspec(place)


def _label(panel: _Panel, of_row: list[_Panel], side: str) -> None:
    """Give the first or last panel of a line the labels that another one of its old row had."""
    for number, ax in enumerate(panel.axes):
        if ax.yaxis.get_label_position() != side:
            continue
        labels = [each.axes[number].get_ylabel() for each in of_row if number < len(each.axes)]
        ax.set_ylabel(ax.get_ylabel() or next(filter(None, labels), ""))
        if side == "left" and ax.get_shared_y_axes().get_siblings(ax) != [ax]:
            ax.tick_params(labelleft=True)


def _wrap_title(panel: _Panel, inches: float) -> None:
    for ax in panel.axes:
        for where in ("left", "center"):
            if title := ax.get_title(where):
                ax.set_title("\n".join(wrapped(title, 0.85 * inches)), loc=where)


def wrapped(text: str, inches: float, points: float | None = None) -> list[str]:
    """Return a text in lines of at most a width, at the size of ordinary text or another one."""
    columns = max(12, int(inches * 72 / (CHARACTER_WIDTH * (points or shape().size))))
    return [part for line in text.split("\n") for part in textwrap.wrap(line, columns)]


def balanced(text: str, inches: float, points: float | None = None) -> list[str]:
    """Return the fewest lines of at most a width that hold a text, of like lengths."""
    lines = wrapped(text, inches, points)
    for share in (0.9, 0.8, 0.7, 0.6):
        narrower = wrapped(text, share * inches, points)
        if len(narrower) > len(lines):
            break
        lines = narrower
    return lines
