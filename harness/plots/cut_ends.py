"""Ends of intervals beyond the axes: an arrow at the edge, with the value of the end.

An interval of few runs may be many times as long as its mean is high. An axis as long as that would
press all the rest together, so figures cut such an interval and say where it ends.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from matplotlib.axes import Axes

from harness.plots import settled, style

VALUE_PT = 6.5  # size of the value of an end
NEIGHBOUR = 0.045  # part of the axis within which the values of two ends would overlap
RIGHT_PART = 0.8  # of the axis, in which values stand left of their arrow


class Ends(NamedTuple):
    """Interval at a place of the horizontal axis, in a colour."""

    x: float
    low: float
    high: float
    color: str


def draw(
    ax: Axes,
    intervals: Sequence[Ends],
    written: Callable[[float], str] = style.rate,
    clear_pt: float = 0.0,
) -> bool:
    """Draw an arrow where an interval goes on beyond the vertical axis, with the value of its end;
    values near each other stand one below the other. Return True if there is any. `clear_pt`:
    height below the upper edge that is left free.

    The limits of the axes are final.
    """
    bottom, top = ax.get_ylim()
    is_cut = False
    for side, marker, down in ((top, "^", True), (bottom, "v", False)):
        beyond = [each for each in intervals if (each.high > top if down else each.low < bottom)]
        taken: list[float] = []
        for each in sorted(beyond, key=lambda each: each.x):
            is_cut = True
            ax.plot(
                each.x, side, marker=marker, ms=4, ls="", color=each.color, clip_on=False, zorder=5
            )
            place = _share(ax, each.x)
            lines = sum(abs(place - other) < NEIGHBOUR for other in taken)
            taken.append(place)
            away = VALUE_PT * (1.2 * lines + (0.5 if down else 1.1)) + (clear_pt if down else 0.0)
            is_right = place > RIGHT_PART
            ax.annotate(
                written(each.high if down else each.low),
                (each.x, side),
                xytext=(-5 if is_right else 5, -away if down else away),
                textcoords="offset points",
                ha="right" if is_right else "left",
                va="center",
                fontsize=VALUE_PT,
                color=each.color,
                path_effects=settled.TEXT_HALO,
                zorder=8,
            )
    return is_cut


def _share(ax: Axes, x: float) -> float:
    """Return a place of the horizontal axis as a part of its length."""
    to_part = ax.transData + ax.transAxes.inverted()
    return float(to_part.transform((x, ax.get_ylim()[0]))[0])
