"""Means of arms with their intervals: a line, with markers whose fill shows how many runs settled,
and crosses for no mean.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import pandas as pd
from matplotlib.axes import Axes

from harness.measurement.interval import FEWEST_FOR_INTERVAL, greatest_interval
from harness.plots import settled
from harness.plots.cut_ends import Ends
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


def compared(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of one cell that comparisons are of: those of finalists, whose final runs did
    not choose them; or all rows of a cell without final runs.
    """
    final = rows["final"].fillna(False).astype(bool)
    return rows[final] if final.any() else rows


def bar(row: pd.Series) -> list[list[float]] | None:
    """Return the lengths of the bar of a mean, for matplotlib; None for a mean of too few runs."""
    if row["n"] < FEWEST_FOR_INTERVAL or pd.isna(row["lo"]):
        return None
    return [[row["mean"] - max(row["lo"], 0.0)], [row["hi"] - row["mean"]]]


def ends(x: pd.Series, rows: pd.DataFrame, look: ModelStyle) -> list[Ends]:
    """Return the intervals of the rows of one line at the places `x`, for `cut_ends`."""
    known = rows["mean"].notna() & rows["lo"].notna()
    return [
        Ends(float(place), row["lo"], row["hi"], look.color)
        for place, (_, row) in zip(x[known], rows[known].iterrows(), strict=True)
    ]


def best(rows: pd.DataFrame) -> pd.Series:
    """Return the row with the highest mean; its interval is that of the greatest true mean, and
    allows for the number of rows. Rows without a mean do not count.
    """
    known = rows[rows["mean"].notna()]
    row = known.loc[known["mean"].idxmax()].copy()
    row["lo"], row["hi"] = _greatest_ends(known)
    return row


class Share(NamedTuple):
    """Ratio of two means with its interval; NaN for none. As text: `0.41 [0.35, 0.48]`."""

    ratio: float
    lo: float
    hi: float

    @property
    def is_tie(self) -> bool:
        """True if the interval leaves open which is greater."""
        return self.lo <= 1.0 <= self.hi

    def __str__(self) -> str:
        interval = "" if math.isnan(self.lo) else f" [{self.lo:.2f}, {self.hi:.2f}]"
        return f"{self.ratio:.2f}{interval}"


def best_over_best(these: pd.DataFrame, those: pd.DataFrame) -> Share:
    """Return the highest mean of some arms over that of others, with its interval where all have
    one. It allows for the choice on both sides, among however many arms.
    """
    over, under = best(these), best(those)
    return Share(over["mean"] / under["mean"], over["lo"] / under["hi"], over["hi"] / under["lo"])


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
