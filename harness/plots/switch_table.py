"""Context switches and load, as a table in a figure: P17 §5.1 gives those of dedicated and dynamic
in its text.

A misreading to avoid: neither is bad by itself. Many switches for each tuple are; and with more
runnable threads than CPUs some wait, but a waiting thread does not block others if they share no
lock.
"""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from harness.plots import places, style, thread_panels
from harness.plots.thread_panels import by_cost, cost_name

MODELS = ("dedicated", "dynamic")
NOTHING = "–"
ROW_INCHES = 0.24
HEAD_LINES = 3
COLUMNS = ("context switches/s", "runnable\nthreads")
WIDTHS = (0.46, 0.15, 0.1, 0.19, 0.1)


def figure(
    tables: Mapping[str, pd.DataFrame], title: str, topology: str, assumed: str = ""
) -> Figure:
    """Return throughput against scheduler threads, and below it the table of one topology."""
    switches = lines(tables["throughput"], topology)
    below = thread_panels.Below(lambda ax: draw(ax, switches, topology), height(switches))
    return thread_panels.figure(tables, title, below=below if switches else None, assumed=assumed)


def lines(table: pd.DataFrame, topology: str) -> list[list[str]]:
    """Return a row for each place and cost: its name; then for each model context switches a
    second, and the load: threads that ran or waited for a CPU.

    For dynamic, the fixed level with the highest mean counts; the row names it. `table`: rows of
    the throughput table. A cell that lacks one of the models has no row, and without numbers of
    switches there is no table.
    """
    found = []
    for called, rows in places.rows_by_topology(table[table["topology"] == topology]):
        for cell in by_cost(rows):
            best = [_best(cell, model) for model in MODELS]
            if all(row is not None for row in best):
                head = ", ".join(filter(None, (called, cost_name(cell["cost"].iloc[0]))))
                found.append([head, *(text for row in best for text in _of(row))])
    return found


def draw(ax: Axes, rows: list[list[str]], topology: str) -> None:
    """Draw the rows that `lines` made of a topology, on axes of their own."""
    ax.set_axis_off()
    heads = [topology, *(f"{model}:\n{column}" for model in MODELS for column in COLUMNS)]
    drawn = ax.table(
        [heads, *rows], loc="center", cellLoc="right", colWidths=WIDTHS, edges="horizontal"
    )
    drawn.auto_set_font_size(False)
    drawn.set_fontsize(7)
    for (line, column), cell in drawn.get_celld().items():
        cell.set_height((HEAD_LINES if line == 0 else 1) / (len(rows) + HEAD_LINES))
        cell.set_edgecolor(style.GRID)
        if column == 0:
            cell.get_text().set_horizontalalignment("left")


def height(rows: list[list[str]]) -> float:
    """Return the height of the table in inches."""
    return ROW_INCHES * (len(rows) + HEAD_LINES)


def _best(cell: pd.DataFrame, model: str) -> pd.Series | None:
    rows = cell[(cell["model"] == model) & ~cell["elastic"].astype(bool) & cell["mean"].notna()]
    rows = rows[rows["context_switches_mean"].notna() & (rows["duration_mean"] > 0)]
    return None if rows.empty else rows.loc[rows["mean"].astype(float).idxmax()]


def _of(row: pd.Series) -> list[str]:
    switches = style.whole(row["context_switches_mean"] / row["duration_mean"])
    runnable = NOTHING if pd.isna(row["runnable_mean"]) else f"{row['runnable_mean']:,.1f}"
    level = (
        ""
        if pd.isna(row["threads"])
        else f" ({int(row['threads'])} thread{'s' if row['threads'] > 1 else ''})"
    )
    return [switches + level, runnable]
