"""Number of runs of a mean that became stationary: its display by markers and words.

Arms that `harness.spark.stationary` leaves out are named in the figure, and so is the number of
runs where only some of them count.
"""

from __future__ import annotations

from typing import Any

import pandas as pd
from matplotlib.artist import Artist
from matplotlib.colors import to_rgb
from matplotlib.patches import Patch
from matplotlib.patheffects import withStroke

from harness.plots import style
from harness.spark.stationary import is_of_some_runs

Color = tuple[float, float, float]

UNSETTLED_HATCH = "////"

TEXT_HALO = [withStroke(linewidth=2.0, foreground="white")]
"""Halo around a text that lines may cross."""


def filled(row: pd.Series, look: style.ModelStyle) -> dict[str, Any]:
    """Return the marker of a throughput row, as arguments of `Axes.plot`. It has the full colour if
    all runs became stationary, is white if none did, and in between is mixed by the share of those
    that did.
    """
    face = shade(look.color, row["settled_share"])
    return {"marker": look.marker, "color": look.color, "markerfacecolor": face}


def shade(color: str, share: float) -> Color:
    """Return a colour mixed with white; `share` is the part of the colour."""
    red, green, blue = (1 - share * (1 - channel) for channel in to_rgb(color))
    return red, green, blue


def all_settled(row: pd.Series) -> bool:
    """Return True if every run of a mean became stationary."""
    return not row["settled_share"] < 1


def words(row: pd.Series) -> str:
    """Return the number of runs that became stationary: `never settled`, `2 of 3 settled`; "" if
    all did.
    """
    if all_settled(row):
        return ""
    runs, unsettled = int(row["n"]), int(row["unsettled"])
    return "never settled" if unsettled == runs else f"{runs - unsettled} of {runs} settled"


def words_of_lost(row: pd.Series) -> str:
    """Return why an arm is left out: `never settled`, `1 of 3 never settled`."""
    runs, unsettled = int(row["n"]), int(row["unsettled"])
    return "never settled" if unsettled == runs else f"{unsettled} of {runs} never settled"


def words_of_some_runs(row: pd.Series) -> str:
    """Return `3 of 10 settled` for a mean of the settled runs alone, "" for another."""
    return words(row) if is_of_some_runs(row) and pd.notna(row["mean"]) else ""


def legend(table: pd.DataFrame) -> list[Artist]:
    """Return the legend of the fills that a figure has, except the full one."""
    shares = table["settled_share"][table["mean"].notna()].dropna()
    shown = {
        "never settled": (0.0, shares == 0),
        "some of the runs settled": (0.5, (shares > 0) & (shares < 1)),
    }
    return [
        style.key(ls="", marker="o", markerfacecolor=shade(style.INK, share), label=label)
        for label, (share, there) in shown.items()
        if there.any()
    ]


def crosses(table: pd.DataFrame) -> list[Artist]:
    """Return the legend of the crosses that stand for arms without a mean; empty without any."""
    lost = table[table["mean"].isna()]
    if lost.empty:
        return []
    unsettled = (lost["unsettled"] > 0) & (lost["failed"] == 0)
    meaning = (
        "left out: not stationary"
        if unsettled.all()
        else "no mean"
        if unsettled.any() or not lost["failed"].all()
        else "failed"
    )
    return [style.key(ls="", marker="x", label=meaning)]


def hatch(rows: list[pd.Series]) -> str:
    """Return the hatching of a bar for the ratio of two rows: "" if all runs of both became
    stationary.
    """
    return "" if all(map(all_settled, rows)) else UNSETTLED_HATCH


def hatches(table: pd.DataFrame) -> list[Artist]:
    """Return the legend of the hatchings that bars of a figure have."""
    drawn = table[table["mean"].notna()]
    if drawn.empty or drawn.apply(all_settled, axis=1).all():
        return []
    look = {"facecolor": "white", "edgecolor": style.INK, "hatch": UNSETTLED_HATCH}
    return [Patch(**look, label="not all runs settled")]
