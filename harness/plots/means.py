"""Means of arms with their intervals: a line, with markers whose fill shows how many runs settled,
and crosses for no mean.
"""

from __future__ import annotations

import pandas as pd
from matplotlib.axes import Axes

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
