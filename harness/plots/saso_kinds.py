"""Shares of accurate scenarios by kind and law: a panel of the figure of the SASO bench.

A cell is the share of scenarios with noise up to 5 % in which the law settled at 97 % of the best
or above, bold for the best law of the kind. Kinds that only score are below the line.
"""

from __future__ import annotations

import pandas as pd
from matplotlib.axes import Axes

from harness.bench.accuracy import ACCURATE_SHARE, MAX_QUIET_NOISE
from harness.plots import style

COLUMNS = ("kind", "held_out", "accuracy", "noise", "drift")
CELL_HEIGHT = 0.19  # inches
DARK = 0.55  # share from which the text of a cell is white


def draw_kinds(ax: Axes, table: pd.DataFrame, laws: list[str]) -> None:
    """Draw a row for each kind and a column for each law."""
    shares = shares_by_kind(table)[laws]
    ax.imshow(shares, cmap="Blues", vmin=0.0, vmax=1.0, aspect="auto")
    for row, (_, of_kind) in enumerate(shares.iterrows()):
        for column, share in enumerate(of_kind):
            ax.text(
                column,
                row,
                f"{100 * share:.0f}",
                ha="center",
                va="center",
                fontsize=6,
                color="white" if share > DARK else style.INK,
                weight="bold" if share == of_kind.max() else "normal",
            )
    held_out = list(shares.index.get_level_values("held_out"))
    if True in held_out and False in held_out:
        ax.axhline(held_out.index(True) - 0.5, color=style.INK, lw=1.2)
    ax.set_xticks(range(len(laws)), laws, rotation=30, ha="right")
    ax.set_yticks(range(len(shares)), shares.index.get_level_values("kind"), fontsize=6)
    ax.tick_params(length=0)
    ax.grid(visible=False)
    ax.set_title(
        f"share of scenarios at {ACCURATE_SHARE:.0%} of the best [%], by kind".replace("%", " %", 1)
    )


def shares_by_kind(table: pd.DataFrame) -> pd.DataFrame:
    """Return the share of accurate scenarios with little noise, a row for each kind and a column
    for each law."""
    quiet = table[table[["noise", "drift"]].max(axis=1) <= MAX_QUIET_NOISE]
    accurate = quiet.assign(accurate=quiet["accuracy"] >= ACCURATE_SHARE)
    return accurate.pivot_table("accurate", ["held_out", "kind"], "law", aggfunc="mean")
