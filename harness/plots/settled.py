"""Number of runs of a mean that became stationary: its display by markers and words. Means are over
all correct runs.

A simulated point of which a run never settled is left out: its queues still fill, and more events
would give another number. The arm is named in its stead. A law may go on for ever, so that a point
under a law is left out only if none of its runs settled. Where some did, the tables have the rate
of the graph, hops executed over the hops of a tuple. That is another quantity, and its marker is
half full.
"""

from __future__ import annotations

from typing import Any

import pandas as pd
from matplotlib.artist import Artist
from matplotlib.colors import to_rgb
from matplotlib.patches import Patch
from matplotlib.patheffects import withStroke

from harness.plots import style

Color = tuple[float, float, float]

HOPS_NOTE = "never settled, simulated:\nhops executed, not at sinks"
UNSETTLED_HATCH, HOPS_HATCH = "////", "xxxx"

TEXT_HALO = [withStroke(linewidth=2.0, foreground="white")]
"""Halo around a text that lines may cross."""


def without_unsettled(table: pd.DataFrame) -> pd.DataFrame:
    """Return a throughput table without the means of simulated arms that are not stationary."""
    lost = table.apply(is_left_out, axis=1).astype(bool)
    shown = [name for name in ("mean", "lo", "hi", "band_lo", "band_hi") if name in table]
    return table.assign(**{name: table[name].where(~lost) for name in shown})


def is_left_out(row: pd.Series) -> bool:
    """Return True if an arm of the throughput table is simulated and not stationary."""
    if not row["simulated"] or not row["n"]:
        return False
    return row["unsettled"] >= (row["n"] if row["elastic"] else 1)


def filled(row: pd.Series, look: style.ModelStyle) -> dict[str, Any]:
    """Return the marker of a throughput row, as arguments of `Axes.plot`. It has the full colour if
    all runs became stationary, is white if none did, and in between is mixed by the share of those
    that did; half full if the rate is of hops executed.
    """
    shape = {"marker": look.marker, "color": look.color}
    if is_of_hops(row):
        return shape | {
            "fillstyle": "bottom",
            "markerfacecolor": look.color,
            "markerfacecoloralt": "white",
        }
    return shape | {"markerfacecolor": shade(look.color, row["settled_share"])}


def is_of_hops(row: pd.Series) -> bool:
    """Return True if the mean is, in part at least, of hops executed and not of tuples at the
    sinks.
    """
    return row["mean_of"] in ("hops executed", "both")


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


def legend(table: pd.DataFrame) -> list[Artist]:
    """Return the legend of the fills that a figure has, except the full one."""
    shares = table["settled_share"][~_of_hops(table)].dropna()
    shown = {
        "never settled": (0.0, shares == 0),
        "half of the runs settled": (0.5, (shares > 0) & (shares < 1)),
    }
    handles = [
        style.key(ls="", marker="o", markerfacecolor=shade(style.INK, share), label=label)
        for label, (share, there) in shown.items()
        if there.any()
    ]
    if _of_hops(table).any():
        half = {"fillstyle": "bottom", "markerfacecolor": style.INK, "markerfacecoloralt": "white"}
        handles.append(style.key(ls="", marker="o", label=HOPS_NOTE, **half))
    return handles


def hatch(rows: list[pd.Series]) -> str:
    """Return the hatching of a bar for the ratio of two rows: "" if all runs of both became
    stationary.
    """
    if any(map(is_of_hops, rows)):
        return HOPS_HATCH
    return "" if all(map(all_settled, rows)) else UNSETTLED_HATCH


def hatches(table: pd.DataFrame) -> list[Artist]:
    """Return the legend of the hatchings that bars of a figure have."""
    meanings = {"not all runs settled": UNSETTLED_HATCH, HOPS_NOTE: HOPS_HATCH}
    found = {hatch([row]) for _, row in table[table["mean"].notna()].iterrows()}
    look = {"facecolor": "white", "edgecolor": style.INK}
    return [
        Patch(**look, hatch=kind, label=label) for label, kind in meanings.items() if kind in found
    ]


def _of_hops(table: pd.DataFrame) -> pd.Series:
    return table["mean"].notna() & table.apply(is_of_hops, axis=1)
