"""How many runs of a mean became stationary: what its marker and words tell. Means are over all correct runs.

A simulated run that never settled has no throughput at the sinks worth the name: its queues still fill. The tables then have
what its graph got through, hops executed over the hops of a tuple. That is another quantity, and its marker is half full.
"""

from __future__ import annotations

from typing import Any

import pandas as pd
from matplotlib.artist import Artist
from matplotlib.colors import to_rgb
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.patheffects import withStroke

from harness.plots import style

Color = tuple[float, float, float]

HOPS = "never settled, simulated:\nhops executed, not at sinks"
UNSETTLED_HATCH, HOPS_HATCH = "////", "xxxx"

HALO = [withStroke(linewidth=2.0, foreground="white")]
"""Around a text that lines may cross."""


def filled(row: pd.Series, look: style.ModelStyle) -> dict[str, Any]:
    """The marker of a throughput row, as `Axes.plot` takes it. It is full of its colour if all runs became stationary, white if
    none did, and in between has so much of the colour as is the share of them that did; half full if it is of hops executed.
    """
    shape = {"marker": look.marker, "color": look.color}
    if is_of_hops(row):
        return shape | {"fillstyle": "bottom", "markerfacecolor": look.color, "markerfacecoloralt": "white"}
    return shape | {"markerfacecolor": shade(look.color, row["settled_share"])}


def is_of_hops(row: pd.Series) -> bool:
    """Whether the mean is, in part at least, of hops executed and not of tuples at the sinks."""
    return row["mean_of"] in ("hops executed", "both")


def shade(color: str, share: float) -> Color:
    """So much of a colour, the rest white."""
    red, green, blue = (1 - share * (1 - channel) for channel in to_rgb(color))
    return red, green, blue


def all_settled(row: pd.Series) -> bool:
    """Whether every run of a mean became stationary."""
    return not row["settled_share"] < 1


def words(row: pd.Series) -> str:
    """How many runs became stationary: `never settled`, `2 of 3 settled`; "" if all did."""
    if all_settled(row):
        return ""
    runs, unsettled = int(row["n"]), int(row["unsettled"])
    return "never settled" if unsettled == runs else f"{runs - unsettled} of {runs} settled"


def legend(table: pd.DataFrame) -> list[Artist]:
    """What fills mean, of those that a figure has besides full ones."""
    shares = table["settled_share"][~_of_hops(table)].dropna()
    shown = {"never settled": (0.0, shares == 0), "half of the runs settled": (0.5, (shares > 0) & (shares < 1))}
    handles = [
        Line2D([], [], color=style.INK, ls="", marker="o", markerfacecolor=shade(style.INK, share), label=label)
        for label, (share, there) in shown.items()
        if there.any()
    ]
    if _of_hops(table).any():
        half = {"fillstyle": "bottom", "markerfacecolor": style.INK, "markerfacecoloralt": "white"}
        handles.append(Line2D([], [], color=style.INK, ls="", marker="o", label=HOPS, **half))
    return handles


def hatch(rows: list[pd.Series]) -> str:
    """Of a bar that stands for the ratio of two rows: "" if all runs of both became stationary."""
    if any(map(is_of_hops, rows)):
        return HOPS_HATCH
    return "" if all(map(all_settled, rows)) else UNSETTLED_HATCH


def hatches(table: pd.DataFrame) -> list[Artist]:
    """What hatchings mean, of those that bars of a figure have."""
    told = {"not all runs settled": UNSETTLED_HATCH, HOPS: HOPS_HATCH}
    found = {hatch([row]) for _, row in table[table["mean"].notna()].iterrows()}
    look = {"facecolor": "white", "edgecolor": style.INK}
    return [Patch(**look, hatch=kind, label=label) for label, kind in told.items() if kind in found]


def _of_hops(table: pd.DataFrame) -> pd.Series:
    return table["mean"].notna() & table.apply(is_of_hops, axis=1)
