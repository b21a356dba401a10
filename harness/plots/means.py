"""Means of arms with their intervals: a line, with markers whose fill shows how many runs settled,
and crosses for no mean.
"""

from __future__ import annotations

import math

import pandas as pd
from matplotlib.axes import Axes

from harness.measurement.interval import greatest_interval
from harness.plots import settled
from harness.plots.style import ModelStyle


def draw(
    ax: Axes, x: pd.Series, rows: pd.DataFrame, look: ModelStyle, label: str, size: float = 4.5
) -> None:
    """Draw the rows of one line at the places `x`: mean, lo, hi of the throughput table. `size` of
    markers, in points.
    """
    there = rows["mean"].notna()
    good, at = rows[there], x[there]
    y = good["mean"].astype(float)
    # NaN: no interval, no bar
    lengths = [(y - good["lo"]).to_numpy(float), (good["hi"] - y).to_numpy(float)]
    ax.errorbar(
        at,
        y,
        yerr=lengths,
        color=look.color,
        ls=look.line,
        lw=1.2,
        elinewidth=0.8,
        capsize=2,
        label=label,
    )
    for place, (_, row) in zip(at, good.iterrows(), strict=True):
        ax.plot(place, row["mean"], ls="", ms=size, zorder=4, **settled.filled(row, look))
    if not there.all():
        ax.plot(
            x[~there],
            [0] * int((~there).sum()),
            ls="",
            marker="x",
            color=look.color,
            clip_on=False,
            zorder=5,
        )


def best(rows: pd.DataFrame) -> pd.Series:
    """Return the row with the highest mean; its interval is that of the greatest true mean, and
    allows for the number of rows. Rows without a mean do not count.
    """
    known = rows[rows["mean"].notna()]
    row = known.loc[known["mean"].idxmax()].copy()
    row["lo"], row["hi"] = _greatest_ends(known)
    return row


def best_over_best(these: pd.DataFrame, those: pd.DataFrame) -> str:
    """Return the highest mean of some arms over that of others, with its interval where all have
    one: `0.41 [0.35, 0.48]`.
    """
    over, under = best(these), best(those)
    told = f"{over['mean'] / under['mean']:.2f}"
    if pd.isna([over["lo"], under["lo"]]).any():
        return told
    return f"{told} [{over['lo'] / under['hi']:.2f}, {over['hi'] / under['lo']:.2f}]"


def with_interval(row: pd.Series) -> str:
    """Return a ratio of the speedup table with its interval, which few repeats do not have: `97%
    [93%, 101%]`.
    """
    interval = "" if pd.isna(row["lo"]) else f" [{row['lo']:.0%}, {row['hi']:.0%}]"
    return f"{row['ratio']:.0%}{interval}"


def _greatest_ends(rows: pd.DataFrame) -> tuple[float, float]:
    columns = [rows[name].astype(float) for name in ("mean", "lo", "hi")]
    if any(column.isna().any() for column in columns):
        return math.nan, math.nan
    return greatest_interval(*columns, rows["n"].astype(int))
