"""Shares of accurate scenarios by kind and law: a panel of the figure of the SASO bench.

A cell is the share of scenarios with noise up to 5 % in which the law settled at 97 % of the best
or above, bold for the best law of the kind. Behind a kind's name is the number of these scenarios.
Kinds that only score are below the line.
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
    shares, counts = shares_by_kind(table)[laws], counts_by_kind(table)
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
        line = held_out.index(True) - 0.5
        ax.axhline(line, color=style.INK, lw=1.2)
        for middle, text in (
            ((line - 0.5) / 2, "chosen on"),
            ((line + len(held_out) - 0.5) / 2, "held out"),
        ):
            ax.annotate(
                text,
                (1.0, middle),
                xycoords=("axes fraction", "data"),
                xytext=(4, 0),
                textcoords="offset points",
                rotation=270,
                va="center",
            )
    ax.set_xticks(range(len(laws)), laws, rotation=30, ha="right")
    names = [f"{kind} ({counts[held, kind]})" for held, kind in shares.index]
    ax.set_yticks(range(len(shares)), names, fontsize=6)
    ax.tick_params(length=0)
    ax.grid(visible=False)
    ax.set_title(
        f"share of scenarios at {100 * ACCURATE_SHARE:g} % of the best [%], by kind; "
        f"noise up to {100 * MAX_QUIET_NOISE:g} %"
    )


def shares_by_kind(table: pd.DataFrame) -> pd.DataFrame:
    """Return the share of accurate scenarios with little noise, a row for each kind and a column
    for each law."""
    quiet = _quiet(table)
    accurate = quiet.assign(accurate=quiet["accuracy"] >= ACCURATE_SHARE)
    return accurate.pivot_table("accurate", ["held_out", "kind"], "law", aggfunc="mean")


def counts_by_kind(table: pd.DataFrame) -> pd.Series:
    """Return the number of scenarios with little noise of each kind, indexed as the shares."""
    return _quiet(table).groupby(["held_out", "kind"])["scenario"].nunique()


def _quiet(table: pd.DataFrame) -> pd.DataFrame:
    return table[table[["noise", "drift"]].max(axis=1) <= MAX_QUIET_NOISE]
