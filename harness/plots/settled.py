"""Number of runs of a mean that became stationary: its display by markers and words. Means are over
all correct runs.

A simulated point of which a run never settled is left out: its queues still fill, and more events
would give another number. The arm is named in its stead. A law may go on for ever. So a point under
a law is the mean of those of its runs that settled, and the figure says how many did. It is left
out if none did.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import pandas as pd
from matplotlib.artist import Artist
from matplotlib.colors import to_rgb
from matplotlib.patches import Patch
from matplotlib.patheffects import withStroke

from harness.plots import places, style

Color = tuple[float, float, float]

UNSETTLED_HATCH = "////"

MEANS = (
    "mean",
    "lo",
    "hi",
    "band_lo",
    "band_hi",
    "submitted_mean",
    "submitted_lo",
    "submitted_hi",
    "context_switches_mean",
    "runnable_mean",
)
"""Columns of the throughput table that figures draw, and that a run makes."""

ENDS = ("_lo", "_hi")
OF_SETTLED = (
    *MEANS[:3],
    *MEANS[5:8],
    *(f"{name}{end}" for name in ("level", "queued", "replicas") for end in ("", *ENDS)),
)
"""Columns that the table has a second time, as settled_mean and so on, over the settled runs."""

CHOOSES_QUEUES = "multilevel"  # model whose laws place queues; elsewhere they are a setting

TEXT_HALO = [withStroke(linewidth=2.0, foreground="white")]
"""Halo around a text that lines may cross."""


def stationary(tables: Mapping[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """Return the tables of a figure without what is not stationary: of an arm that is left out, its
    rates, its latencies and the ratios with it. Latencies of settled runs alone are not known.
    """
    kept = dict(tables)
    if "throughput" not in kept:
        return kept
    rates = kept["throughput"] = without_unsettled(kept["throughput"])
    changed = rates[rates.apply(is_left_out, axis=1) | rates.apply(is_of_some_runs, axis=1)]
    if changed.empty:
        return kept
    if "latency" in kept:
        kept["latency"] = _without_latencies(kept["latency"], changed)
    if "speedup" in kept:
        kept["speedup"] = _without_ratios(kept["speedup"], rates, changed)
    return kept


def without_unsettled(table: pd.DataFrame) -> pd.DataFrame:
    """Return a throughput table without the numbers of simulated arms that are not stationary. An
    arm under a law of which some runs settled has the means of these runs.
    """
    some, lost = (table.apply(test, axis=1).astype(bool) for test in (is_of_some_runs, is_left_out))
    table = _of_settled_runs(table, some)
    lost |= some & table["mean"].isna()
    chosen = {
        "level": lost & table["elastic"].astype(bool),
        "replicas": lost & table["elastic"].astype(bool),
        "queued": lost & (table["model"] == CHOOSES_QUEUES),
    }
    hidden = dict.fromkeys(MEANS, lost) | {
        f"{name}{end}": rows for name, rows in chosen.items() for end in ("", *ENDS)
    }
    return table.assign(
        **{name: table[name].mask(rows) for name, rows in hidden.items() if name in table}
    )


def is_left_out(row: pd.Series) -> bool:
    """Return True if an arm of the throughput table is simulated and not stationary."""
    if not row["simulated"] or not row["n"]:
        return False
    return row["unsettled"] >= (row["n"] if row["elastic"] else 1)


def is_of_some_runs(row: pd.Series) -> bool:
    """Return True if an arm is simulated under a law, and some of its runs settled and some not."""
    return bool(row["simulated"] and row["elastic"] and 0 < row["unsettled"] < row["n"])


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


def _of_settled_runs(table: pd.DataFrame, some: pd.Series) -> pd.DataFrame:
    """Return the table with the means of the settled runs in some of its rows. A table that does
    not know them gets none.
    """
    if not some.any():
        return table
    means = {
        name: table[name].where(~some, table.get(f"settled_{name}", math.nan))
        for name in OF_SETTLED
        if name in table
    }
    factor = (means["mean"] / table["mean"]).where(some, 1.0)
    bands = {name: table[name] * factor for name in ("band_lo", "band_hi") if name in table}
    rate = table["mean_of"].mask(some, "tuples at the sinks")
    return table.assign(**means, **bands, mean_of=rate)


def _key(table: pd.DataFrame, arm: str = "arm") -> pd.MultiIndex:
    """Return the place, the cell and an arm of each row."""
    return pd.MultiIndex.from_frame(table[[*places.COLUMNS, "cell", arm]].astype(str))


def _without_latencies(latency: pd.DataFrame, changed: pd.DataFrame) -> pd.DataFrame:
    lost = pd.Series(_key(latency).isin(_key(changed)), index=latency.index)
    names = [name for name in latency.select_dtypes("float") if name not in places.COLUMNS]
    return latency.assign(**{name: latency[name].mask(lost) for name in names})


def _without_ratios(
    ratios: pd.DataFrame, rates: pd.DataFrame, changed: pd.DataFrame
) -> pd.DataFrame:
    """Return the ratios of stationary arms. One with an arm of which some runs settled is that of
    the two means, and its interval goes from the least to the greatest ratio of their ends. The
    best of several arms is not chosen anew: such a ratio has no interval.
    """
    own, rival = _key(ratios), _key(ratios, "rival")
    touched = own.isin(_key(changed)) | rival.isin(_key(changed))
    means = rates.set_index(_key(rates))[["mean", "lo", "hi"]].astype(float)
    means = means[~means.index.duplicated()]
    over, under = (means.reindex(key).set_index(ratios.index) for key in (own, rival))
    alone = ratios["against"] == "manual"
    made = ratios.assign(
        ratio=ratios["ratio"].mask(touched, over["mean"] / under["mean"]),
        lo=ratios["lo"].mask(touched, (over["lo"] / under["hi"]).where(alone)),
        hi=ratios["hi"].mask(touched, (over["hi"] / under["lo"]).where(alone)),
    )
    return made[made["ratio"].notna()]
