"""Latency against throughput for every scheduling policy of co-routines, a column for each
topology: a figure of our own.

Reads   throughput.parquet   topology, policy, threads, mean, lo, hi [tuples/s at the sinks],
                             settled_share
        latency.parquet      cell, arm, mean [ns]
Draws   a point for each policy and number of threads, joined by policy in the order of threads; to
        the right is faster, below is sooner, so the best policies are at the lower right

A misreading to avoid: latencies are those of sources at full speed, with queues as full as a policy
lets them get.
"""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from harness.plots import places, policy_panels, provenance, settled, style
from harness.plots.policy_panels import (
    NS,
    THREADS,
    called_topology,
    joined,
    latency_bars,
    legend,
    lines,
    log_seconds,
    panels,
)

INTERVAL = "bars are 95 % Student-t intervals of the means"


def figure(tables: Mapping[str, pd.DataFrame], title: str) -> Figure:
    """Return the figure from the rows of its experiment."""
    table = joined(tables)
    rows = panels(table)
    columns = max(map(len, rows))
    with style.applied():
        drawing = style.plt.figure(
            figsize=(max(8.0, policy_panels.COLUMN_INCHES * columns + 0.6), 3.2 * len(rows) + 1.4)
        )
        grid = drawing.add_gridspec(len(rows), columns)
        for number, row in enumerate(rows):
            for column, (called, cells) in enumerate(row):
                ax = drawing.add_subplot(grid[number, column])
                ax.set_title("\n".join(filter(None, (called, called_topology(cells, THREADS)))))
                draw(ax, cells)
                ax.set_xlabel("throughput at the sinks [tuples/s]")
                places.tint(ax, cells)
                if column == 0:
                    ax.set_ylabel("average latency")
        numbers = style.key(ls="", label="number: threads")
        keys = [*legend(table), *settled.legend(table), numbers, *places.legend(table)]
        style.title_with_legend(drawing, title, keys)
        provenance.stamp(drawing, table, INTERVAL)
    return drawing


def draw(ax: Axes, rows: pd.DataFrame) -> None:
    """Draw one topology. For each number of threads, the highest of its points is labelled with
    that number.
    """
    known = rows[rows["mean"].notna() & rows["latency"].notna()]
    for policy, look, line in lines(known, THREADS):
        x, y = line["mean"].astype(float), line["latency"].astype(float) * NS
        # NaN: no interval, no bar
        lengths = [(x - line["lo"]).to_numpy(float), (line["hi"] - x).to_numpy(float)]
        drawn = {"color": look.color, "ls": look.line, "lw": 0.9, "elinewidth": 0.7, "capsize": 2}
        ax.errorbar(x, y, xerr=lengths, yerr=latency_bars(line), label=policy, zorder=2, **drawn)
        for _, row in line.iterrows():
            ax.plot(
                row["mean"], row["latency"] * NS, ls="", ms=5, zorder=3, **settled.filled(row, look)
            )
    if len(known):
        highest = known.loc[known.groupby("threads")["latency"].idxmax()]
        for _, row in highest.iterrows():
            said = {
                "xytext": (0, 6),
                "textcoords": "offset points",
                "ha": "center",
                "fontsize": 7,
                "color": style.FAINT,
            }
            ax.annotate(
                f"{int(row['threads'])}",
                (row["mean"], row["latency"] * NS),
                **said,
                path_effects=settled.TEXT_HALO,
            )
    log_seconds(ax)
    ax.set_xlim(left=0)
    ax.xaxis.set_major_locator(MaxNLocator(5))
    ax.xaxis.set_major_formatter(style.rates())
