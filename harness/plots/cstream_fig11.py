"""C-Stream Figure 11: threads for data parallelism of 12 busy operators, by two high thresholds of
utilisation.

Reads   throughput.parquet   arm, threads, elastic, law, level, mean, lo, hi [tuples/s at the
                             sinks], settled_share
        timeline.parquet     a row for each period: threads_requested, times [s]
Draws   a row for each machine: throughput over fixed threads, with a marker where each law ended;
        threads over time

A misreading to avoid: a law's marker stands at the mean of the levels of its runs. One whose
threads go up and down by one is between two numbers, and its marker is pale.
"""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from harness.plots import cut_ends, means, places, provenance, settled, style
from harness.plots.style import ModelStyle

INTERVAL = "bars are 95 % Student-t intervals of the mean (an arrow names the end of a cut one)"
WIDTH, HEIGHT = 9.4, 2.9
MARKER = 6.0  # points, of laws
FIXED = ModelStyle("#000000", "o", "-")
LOOKS: dict[str, tuple[str, ModelStyle]] = {
    "coroutine-elastic-utilisation-0.90": ("$U_h$ = 0.90", ModelStyle("#d55e00", "s", "-")),
    "coroutine-elastic-utilisation-0.95": (
        "$U_h$ = 0.95",
        ModelStyle("#cc79a7", "^", (0, (4, 1.5))),
    ),
    "coroutine-elastic-random": (
        "law millrace, with replicas",
        ModelStyle("#0072b2", "D", (0, (1.5, 1.2))),
    ),
}
"""Name and style of each arm."""


def figure(tables: Mapping[str, pd.DataFrame], title: str) -> Figure:
    """Return the figure from the rows of its experiment."""
    table, timeline = tables["throughput"], tables["timeline"]
    rows = list(places.by_place(table))
    with style.applied():
        drawing = style.plt.figure(figsize=(WIDTH, HEIGHT * len(rows) + 1.3))
        grid = drawing.add_gridspec(len(rows), 2)
        for number, (called, here) in enumerate(rows):
            rate, over_time = (drawing.add_subplot(grid[number, column]) for column in (0, 1))
            draw_rates(rate, here)
            rate.set_title("\n".join(filter(None, (called, "throughput at the sinks"))))
            draw_over_time(over_time, places.at_place(timeline, here.iloc[0]))
            over_time.set_title("threads of the first run")
            for ax in (rate, over_time):
                places.tint(ax, here)
        style.title_with_legend(
            drawing,
            title,
            [
                *legend(table),
                *settled.legend(table),
                *settled.crosses(table),
                *places.legend(table),
            ],
        )
        provenance.stamp(drawing, table, INTERVAL)
    return drawing


def draw_rates(ax: Axes, rows: pd.DataFrame) -> None:
    """Draw throughput over fixed threads, and the levels at which laws ended."""
    fixed = rows[~rows["elastic"].astype(bool)].sort_values("threads")
    means.draw(ax, fixed["threads"].astype(float), fixed, FIXED, "fixed")
    intervals = means.ends(fixed["threads"].astype(float), fixed, FIXED)
    for arm, (name, look) in LOOKS.items():
        found = rows[(rows["arm"] == arm) & rows["mean"].notna() & rows["level"].notna()]
        means.draw(ax, found["level"].astype(float), found, look, name, MARKER)
        intervals += means.ends(found["level"].astype(float), found, look)
    ax.set_ylim(0, 1.15 * rows["mean"].max() if rows["mean"].max() > 0 else 1)
    ax.yaxis.set_major_formatter(style.rates())
    ax.xaxis.set_major_locator(MaxNLocator(nbins=12, integer=True))
    ax.set_xlim(0, None)
    ax.set_xlabel("threads")
    ax.set_ylabel("[tuples/s]")
    cut_ends.draw(ax, intervals)


def draw_over_time(ax: Axes, rows: pd.DataFrame) -> None:
    """Draw threads period by period, of the first run of each law that did not fail."""
    for arm, (name, look) in LOOKS.items():
        runs = rows[(rows["arm"] == arm) & ~rows["failed"].astype(bool)].sort_values(
            ["repeat", "time_s"]
        )
        run = runs[runs["run_id"] == runs["run_id"].iloc[0]] if len(runs) else runs
        if len(run):
            stands = [
                float(run["time_s"].iloc[0] - run["elapsed_s"].iloc[0]),
                *run["time_s"].astype(float),
            ]
            levels = run["threads_requested"].astype(int).tolist()
            ax.plot(
                stands,
                [levels[0], *levels],
                drawstyle="steps-pre",
                color=look.color,
                ls=look.line,
                lw=1.4,
                label=name,
            )
    ax.set_ylim(0, max(2.0, 1.12 * ax.get_ylim()[1]))
    ax.yaxis.set_major_locator(MaxNLocator(nbins=6, integer=True))
    ax.set_xlim(0, None)
    ax.set_xlabel("time since the start [s]")
    ax.set_ylabel("threads")


def legend(table: pd.DataFrame) -> list[Line2D]:
    """Return the legend of the arms in the table."""
    there = set(table["arm"])
    handles = [style.key(color=FIXED.color, marker=FIXED.marker, ms=4, label="fixed threads")]
    return handles + [
        style.key(color=look.color, ls=look.line, marker=look.marker, label=name)
        for arm, (name, look) in LOOKS.items()
        if arm in there
    ]
