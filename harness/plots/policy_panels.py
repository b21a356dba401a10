"""Throughput and latency of C-Stream's scheduling policies, over threads or over a parameter: the
form of its Figures 4 to 8.

A row of columns for each machine, a column for each topology; throughput above, average latency
below, as in the paper. A policy keeps its colour and marker.

A misreading to avoid: a few tuples may dominate an average. Sources send as fast as they can, so
the latency is that of queues as full as they get.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import EngFormatter, LogLocator, NullFormatter

from harness.plots import cut_ends, means, places, provenance, settled, style
from harness.spark.stationary import PLACE

INTERVAL = "bars are 95 % Student-t intervals of the means (an arrow names the end of a cut one)"
COLUMN_INCHES = 3.1
ROW_INCHES = 2.5
MOST_COLUMNS = 4
# longest axis, in highest means: an interval of few runs may be many times as long
AXIS_LIMIT_FACTOR = 1.5
NS = 1e-9
LATENCIES = {"mean": "latency", "lo": "latency_lo", "hi": "latency_hi"}
"""Columns of the latency table, and their names beside the throughput."""


@dataclass(frozen=True)
class Across:
    """Column of the throughput table along the horizontal axis, and its name."""

    column: str
    name: str


THREADS = Across("threads", "threads")


def figure(
    tables: Mapping[str, pd.DataFrame],
    title: str,
    column: str,
    name: str,
    rate: str = "throughput at the sinks",
) -> Figure:
    """Return the figure from the rows of its experiment; `column`, `name`: those of `Across`;
    `rate`: meaning of the means in the throughput table.
    """
    table, across = joined(tables), Across(column, name)
    rows = panels(table)
    columns = max(map(len, rows))
    with style.applied():
        size = max(8.0, COLUMN_INCHES * columns + 0.6), 2 * ROW_INCHES * len(rows) + 1.4
        drawing = style.plt.figure(figsize=size)
        grid = drawing.add_gridspec(2 * len(rows), columns)
        for number, row in enumerate(rows):
            for place, (called, cells) in enumerate(row):
                above = drawing.add_subplot(grid[2 * number, place])
                below = drawing.add_subplot(grid[2 * number + 1, place], sharex=above)
                above.set_title("\n".join(filter(None, (called, called_topology(cells, across)))))
                draw(above, cells, across)
                draw_latency(below, cells, across)
                below.set_xlabel(across.name)
                for ax in (above, below):
                    places.tint(ax, cells)
                if place == 0:
                    above.set_ylabel(f"{rate}\n[tuples/s]")
                    below.set_ylabel("average latency")
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


def source_rates(tables: Mapping[str, pd.DataFrame], title: str, column: str, name: str) -> Figure:
    """Return the same figure with the rate of the source.

    The less operators pass on, the less arrives at the sinks. The rate that falls in the paper as
    they pass on more is that of the source. It follows from the tuples that all operators submit,
    of which each passes on an equal share.
    """
    table = tables["throughput"]
    each = table.apply(submitted_for_each, axis=1)
    rates = {rate: table[f"submitted_{rate}"] / each for rate in ("mean", "lo", "hi")}
    tables = {**tables, "throughput": table.assign(**rates)}
    return figure(tables, title, column, name, "tuples that the source sends")


def submitted_for_each(row: pd.Series) -> float:
    """Return the number of tuples that the source and all operators of a chain submit for each
    tuple of the source.
    """
    return sum((row["selectivity"] / 100) ** passed for passed in range(int(row["operators"]) + 1))


def panels(table: pd.DataFrame) -> list[Sequence[tuple[str, pd.DataFrame]]]:
    """Return the rows of each topology with the name of its place: places below each other, or side
    by side if each has one topology.
    """
    rows = [
        [
            (called, here[here["topology"] == topology])
            for topology in style.in_order(here["topology"], style.TOPOLOGIES)
        ]
        for called, here in places.by_place(table)
    ]
    return places.side_by_side(rows, MOST_COLUMNS)


def joined(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Return the throughput rows with the average latency of each, latency, and its interval,
    latency_lo to latency_hi [ns].
    """
    times = tables["latency"].rename(columns=LATENCIES)
    return tables["throughput"].merge(
        times[[*PLACE, "cell", "arm", *LATENCIES.values()]], how="left"
    )


def draw(ax: Axes, rows: pd.DataFrame, across: Across) -> None:
    """Draw the rates of one topology, a line for each policy; an arm without a mean is a cross on
    the axis.
    """
    for policy, look, line in lines(rows, across):
        means.draw(ax, line[across.column].astype(float), line, look, policy)
    mean, end = rows["mean"].max(), rows["hi"].max()
    highest = min(end, AXIS_LIMIT_FACTOR * mean) if end > mean else mean
    ax.set_ylim(0, 1.08 * highest if highest > 0 else 1)
    ax.yaxis.set_major_formatter(style.rates())
    _ticks(ax, rows, across)
    cut_ends.draw(
        ax,
        [
            end
            for _, look, line in lines(rows, across)
            for end in means.ends(line[across.column].astype(float), line, look)
        ],
    )


def draw_latency(ax: Axes, rows: pd.DataFrame, across: Across) -> None:
    """Draw the average latencies of one topology with their intervals over runs."""
    intervals: list[cut_ends.Ends] = []
    for policy, look, line in lines(rows, across):
        line = line[line["latency"].notna()]
        x = line[across.column].astype(float)
        y = line["latency"] * NS
        ax.errorbar(
            x,
            y,
            yerr=latency_bars(line),
            color=look.color,
            ls=look.line,
            lw=1.2,
            elinewidth=0.8,
            capsize=2,
            label=policy,
        )
        for place, height, (_, row) in zip(x, y, line.iterrows(), strict=True):
            ax.plot(place, height, ls="", ms=4.5, zorder=4, **settled.filled(row, look))
            if pd.notna(row["latency_lo"]):
                low, high = NS * row["latency_lo"], NS * row["latency_hi"]
                intervals.append(cut_ends.Ends(place, low, high, look.color))
    if rows["latency"].notna().any():  # an interval of few runs may be many times as long
        seen = rows["latency"].dropna() * NS
        ax.set_ylim(seen.min() / AXIS_LIMIT_FACTOR**2, seen.max() * AXIS_LIMIT_FACTOR**2)
    log_seconds(ax)
    _ticks(ax, rows, across)
    cut_ends.draw(ax, intervals, seconds)


def seconds(number: float) -> str:
    """Return a time for people, with 2 digits: `480 µs`, `2.1 s`."""
    return EngFormatter(unit="s", sep=" ")(float(f"{number:.2g}"))


def latency_bars(line: pd.DataFrame) -> np.ndarray:
    """Return the distances from the average latencies to the ends of their intervals [s]; NaN where
    there is none, which draws no bar.
    """
    mean, low, high = (line[name].to_numpy(float) for name in LATENCIES.values())
    return np.array([mean - low, high - mean]) * NS


def log_seconds(ax: Axes) -> None:
    """Set a logarithmic vertical axis of seconds; if it spans few decades, 2 and 5 times powers of
    ten have labels too.
    """
    ax.set_yscale("log")
    low, high = ax.get_ylim()
    ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if high < 1000 * low else (1,)))
    ax.yaxis.set_major_formatter(EngFormatter(unit="s", sep=" "))
    ax.yaxis.set_minor_formatter(NullFormatter())


def lines(
    rows: pd.DataFrame, across: Across
) -> Iterator[tuple[str, style.ModelStyle, pd.DataFrame]]:
    """Yield each policy with its style and its rows in order."""
    for policy in style.in_order(rows["policy"].dropna(), list(style.POLICIES)):
        look = style.POLICIES.get(policy, style.UNKNOWN_MODEL)
        yield policy, look, rows[rows["policy"] == policy].sort_values(across.column)


def legend(table: pd.DataFrame) -> list[Line2D]:
    """Return the legend of the policies in the table."""
    return [
        style.key(color=look.color, ls=look.line, marker=look.marker, ms=4.5, label=policy)
        for policy in style.in_order(table["policy"].dropna(), list(style.POLICIES))
        for look in (style.POLICIES.get(policy, style.UNKNOWN_MODEL),)
    ]


def called_topology(rows: pd.DataFrame, across: Across) -> str:
    """Return a topology with the sizes and threads that all its rows share: `replicated, width 12,
    4 threads`.
    """
    said = [str(rows["topology"].iloc[0])]
    sizes = {
        "width": "width {}",
        "operators": "{} operators",
        "depth": "depth {}",
        "threads": "{} threads",
    }
    for column, words in sizes.items():
        values = rows[column].dropna().unique()
        if column != across.column and len(values) == 1:
            said.append(words.format(style.whole(values[0])))
    return ", ".join(said)


def _ticks(ax: Axes, rows: pd.DataFrame, across: Across) -> None:
    values = sorted({float(value) for value in rows[across.column].dropna()})
    ax.set_xticks(values, [f"{value:g}" for value in values])
    room = 0.05 * (values[-1] - values[0]) or 0.5
    ax.set_xlim(values[0] - room, values[-1] + room)
