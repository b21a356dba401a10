"""M19 Figure 1: throughput against the share of operators under the dynamic model, beside what multi-level elasticity finds.

Reads   throughput.parquet   model, arm, elastic, law, payload, mean, lo, hi [tuples/s at the sinks], queued and places [ports],
                             level [threads]; machine, simulated, software
Draws   a row a machine, a panel a payload; y from 0; the dynamic model with a law that chooses the threads as a line over the
        share of ports with queues, each point with its threads; multilevel as a line across with a marker at the share it found

A misreading to avoid: the line across has no share axis; only its marker has. At 0 % all work is the source's own thread's.
"""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from harness.plots import places, provenance, queue_arms, style
from harness.plots.queue_arms import MULTILEVEL
from harness.plots.thread_panels import INTERVAL

TABLES = ("throughput",)
TITLE = "Throughput against the share of ports with queues, and what multi-level elasticity finds (M19 Figure 1)"
PANEL_INCHES = (3.0, 2.4)
MIN_WIDTH = 8.6  # inches; the title needs them


def draw(ax: Axes, cell: pd.DataFrame) -> None:
    """One cell on one machine; `cell` holds a row an arm of the throughput table."""
    cell = cell.assign(share=100 * queue_arms.shares(cell))
    by_hand = cell[(cell["model"] == "dynamic") & cell["mean"].notna() & cell["share"].notna()]
    for _, rows in by_hand.groupby(["elastic", "threads"], dropna=False):
        _line(ax, rows.sort_values("share"))
    for row in queue_arms.in_order(cell[cell["model"] == MULTILEVEL]):
        _found(ax, row)
    ax.set_xlim(-4, 104)
    ax.set_xticks([0, 25, 50, 75, 100])
    ax.yaxis.set_major_formatter(style.rates())
    places.tint(ax, cell)
    highest = cell[["mean", "hi"]].max().max()
    ax.set_ylim(0, 1.15 * highest if highest > 0 else 1)
    failed = cell[cell["mean"].isna()]["arm"]
    if len(failed):
        ax.text(0.03, 0.03, "\n".join(f"{arm}: failed" for arm in failed), transform=ax.transAxes, fontsize=7, va="bottom")


def figure(tables: Mapping[str, pd.DataFrame]) -> Figure:
    """The figure from the rows of its experiment."""
    table = tables["throughput"]
    lines = [[(name, cell) for _, cell in of.groupby(["payload", "cell"])] for name, of in places.by_place(table)]
    lines = places.side_by_side(lines)
    columns = max(map(len, lines))
    width, height = PANEL_INCHES
    with style.applied():
        drawing = style.plt.figure(figsize=(max(width * columns + 0.4, MIN_WIDTH), height * len(lines) + 1.2))
        grid = drawing.add_gridspec(len(lines), columns)
        for number, line in enumerate(lines):
            for column, (name, cell) in enumerate(line):
                ax = drawing.add_subplot(grid[number, column])
                draw(ax, cell)
                payload = f"payload {style.whole(cell['payload'].iloc[0])} B"
                ax.set_title("\n".join(filter(None, (name, payload))))
                ax.set_xlabel("ports with a queue [%]")
                if column == 0:
                    ax.set_ylabel("throughput at the sinks\n[tuples/s]")
        style.title_with_legend(drawing, TITLE, [*queue_arms.legend(table), *places.legend(table)])
        provenance.stamp(drawing, table, INTERVAL)
    return drawing


def _line(ax: Axes, rows: pd.DataFrame) -> None:
    """One line over the shares; a number at a point is the level of threads that its law settled on."""
    look = queue_arms.look(rows.iloc[0])
    spread = [(rows["mean"] - rows["lo"]).to_numpy(float), (rows["hi"] - rows["mean"]).to_numpy(float)]
    ax.errorbar(rows["share"], rows["mean"], yerr=spread, color=look.color, ls=look.line, marker=look.marker, ms=4.5, zorder=3)
    for _, row in rows[rows["level"].notna()].iterrows():
        at = (row["share"], row["mean"])
        ax.annotate(f"{row['level']:.3g}", at, xytext=(0, 6), textcoords="offset points", fontsize=6.5, ha="center", zorder=7)


def _found(ax: Axes, row: pd.Series) -> None:
    look = queue_arms.look(row)
    if pd.isna(row["mean"]):
        return  # named as failed
    ax.axhline(row["mean"], color=look.color, ls=look.line, lw=1, zorder=2)
    if pd.notna(row["lo"]):
        ax.axhspan(row["lo"], row["hi"], color=look.color, alpha=0.16, lw=0, zorder=1)
    if pd.isna(row["share"]):
        return
    face = "white" if row["unsettled_used"] else look.color
    ax.plot(row["share"], row["mean"], ls="", marker=look.marker, color=look.color, mfc=face, ms=8, zorder=5, clip_on=False)
    if pd.notna(row["level"]):
        at, text = (row["share"], row["mean"]), f"{row['level']:.3g}"
        ax.annotate(
            text, at, xytext=(0, -12), textcoords="offset points", fontsize=6.5, ha="center", color=look.color, zorder=7
        )
