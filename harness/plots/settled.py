"""How many runs of a mean became stationary: what its marker and words tell. Means are over all correct runs."""

from __future__ import annotations

import pandas as pd
from matplotlib.artist import Artist
from matplotlib.colors import to_rgb
from matplotlib.lines import Line2D

from harness.plots import style

Color = tuple[float, float, float]


def fill(color: str, row: pd.Series) -> Color:
    """What fills the marker of a throughput row: its colour if all runs became stationary, white if none did, and in between so
    much of the colour as is the share of them that did.
    """
    return shade(color, row["settled_share"])


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
    shares = table["settled_share"].dropna()
    shown = {"never settled": (0.0, shares == 0), "half of the runs settled": (0.5, (shares > 0) & (shares < 1))}
    return [
        Line2D([], [], color=style.INK, ls="", marker="o", markerfacecolor=shade(style.INK, share), label=label)
        for label, (share, there) in shown.items()
        if there.any()
    ]
