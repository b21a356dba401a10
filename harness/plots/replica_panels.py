"""Adaptation of threads and replicas, over the cost of busy operators and over time: the form of
C-Stream's Figures 9 and 10.

A row for each machine. Over cost: throughput under each law, with one thread and one replica, and
with the threads and replicas that were best of those tried by hand; then the threads and replicas
that each law ended with. Over time: one run of each law.

A misreading to avoid: replicas are those of one busy operator, the mean if there are several. The
best by hand is the best of a few numbers of threads and replicas, equal for all operators, and more
of them than needed cost it little. Its interval is that of the greatest of their true means.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from harness.plots import cut_ends, means, places, provenance, settled, style
from harness.plots.style import ModelStyle

INTERVAL = "bars are 95 % Student-t intervals of the mean (an arrow names the end of a cut one)"
PANEL_INCHES = (3.1, 2.8)
DASHES, REPLICAS = (0, (3, 1.5)), "P"  # line and marker of replicas
MARKER = 5.0  # points

BASE, BY_HAND = "1 thread, 1 replica", "best by hand"
LOOKS: dict[str, ModelStyle] = {
    "cstream": ModelStyle("#d55e00", "s", "-"),
    "millrace": ModelStyle("#0072b2", "o", "-"),
    BY_HAND: ModelStyle("#009e73", "D", "-"),
    BASE: ModelStyle("#000000", "^", "-"),
}
"""Styles of the lines over cost. The laws come first, in the order of the panels over time."""

OPERATORS = ("#cc79a7", "#e69f00", "#56b4e9", "#8c6d31")
"""Colours of operators over time."""

COLUMNS = ["topology", "operators", "busy"]


def figure(tables: Mapping[str, pd.DataFrame], title: str, shown_us: int) -> Figure:
    """Return the figure from the rows of its experiment; over time at the cost that is nearest to
    `shown_us`.
    """
    table, timeline = tables["throughput"], tables["timeline"]
    rows = list(places.by_place(table))
    laws = [law for law in LOOKS if law in set(table["law"].dropna())]
    width, height = PANEL_INCHES
    with style.applied():
        columns = 2 + len(laws)
        drawing = style.plt.figure(figsize=(max(8.0, width * columns), height * len(rows) + 1.3))
        grid = drawing.add_gridspec(len(rows), columns)
        for number, (called, here) in enumerate(rows):
            lines = of_lines(here)
            rate, ends = (drawing.add_subplot(grid[number, column]) for column in (0, 1))
            draw_rates(rate, lines)
            rate.set_title("\n".join(filter(None, (called, "throughput at the sinks"))))
            rate.set_ylabel("[tuples/s]")
            ends.set_ylabel("threads and replicas")
            draw_ends(ends, {name: line for name, line in lines.items() if name in laws})
            ends.set_title("at the end")
            cost = nearest(here, shown_us)
            for column, law in enumerate(laws, start=2):
                ax = drawing.add_subplot(grid[number, column])
                draw_over_time(ax, one_run(places.at(timeline, cost), law))
                ax.set_ylabel("threads and replicas")
                ax.set_title(f"law {law}, {style.whole(cost['busy'])} µs")
                places.tint(ax, here)
            for ax in (rate, ends):
                ax.set_xlabel("time a tuple keeps an operator busy [µs]")
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


def of_lines(rows: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return the rows of each line, cheapest first."""
    fixed = rows[~rows["elastic"].astype(bool)]
    by_hand = fixed[(fixed["threads"] > 1) & fixed["mean"].notna()]
    cells = [means.best(cell) for _, cell in by_hand.groupby("cell")]
    best = pd.DataFrame(cells).astype(by_hand.dtypes) if cells else by_hand
    found = {law: rows[rows["law"] == law] for law in ("cstream", "millrace")}
    found |= {BY_HAND: best, BASE: fixed[(fixed["threads"] == 1) & (fixed["replicas"] == 1)]}
    return {name: line.sort_values("busy") for name, line in found.items() if len(line)}


def draw_rates(ax: Axes, lines: Mapping[str, pd.DataFrame]) -> None:
    """Draw throughput over cost; an arm without a mean is a cross on the axis."""
    for name, line in lines.items():
        means.draw(ax, line["busy"].astype(float), line, LOOKS[name], name, MARKER)
    highest = max(
        (line["mean"].max() for line in lines.values() if line["mean"].notna().any()), default=0.0
    )
    ax.set_ylim(0, 1.15 * highest or 1)
    ax.yaxis.set_major_formatter(style.rates())
    _ticks(ax, lines)
    cut_ends.draw(
        ax,
        [
            end
            for name, line in lines.items()
            for end in means.ends(line["busy"].astype(float), line, LOOKS[name])
        ],
    )


def draw_ends(ax: Axes, lines: Mapping[str, pd.DataFrame]) -> None:
    """Draw the threads and replicas that laws ended with, over cost: means of the runs."""
    for name, line in lines.items():
        look, line = LOOKS[name], line[line["level"].notna()]
        x = line["busy"].astype(float)
        ax.plot(
            x,
            line["level"].astype(float),
            color=look.color,
            marker=look.marker,
            ms=MARKER,
            label=f"{name}, threads",
        )
        options = {"ls": DASHES, "marker": REPLICAS, "label": name}
        ax.plot(x, line["replicas"].astype(float), color=look.color, ms=MARKER, **options)
    _whole_from_zero(ax)
    _ticks(ax, lines)


def one_run(rows: pd.DataFrame, law: str) -> pd.DataFrame:
    """Return the periods of the first run under a law that did not fail."""
    rows = rows[(rows["law"] == law) & ~rows["failed"].astype(bool)]
    return (
        rows[rows["run_id"] == rows.sort_values("repeat")["run_id"].iloc[0]].sort_values("time_s")
        if len(rows)
        else rows
    )


def draw_over_time(ax: Axes, run: pd.DataFrame) -> None:
    """Draw threads, and the replicas of each operator that ever had several, period by period of
    one run.
    """
    if run.empty:
        style.say_no_samples(ax)
        return
    ends = run["time_s"].astype(float)
    stands = [ends.iloc[0] - float(run["elapsed_s"].iloc[0]), *ends]
    levels = run["threads_requested"].astype(int).tolist()
    ax.plot(
        stands,
        [levels[0], *levels],
        drawstyle="steps-pre",
        color=style.INK,
        lw=1.6,
        label="threads",
    )
    counts = [json.loads(text) if isinstance(text, str) else {} for text in run["replicas"]]
    names = sorted({name for count in counts for name in count})
    for number, name in enumerate(names):
        had = [count.get(name, 1) for count in counts]
        look = {
            "color": OPERATORS[number % len(OPERATORS)],
            "ls": DASHES if number % 2 else "-",
            "lw": 1.3,
        }
        ax.plot(stands, [had[0], *had], drawstyle="steps-pre", label=f"replicas of {name}", **look)
    if names:
        ax.legend(fontsize=7, loc="lower right")
    ax.set_xlim(0, stands[-1])
    ax.set_xlabel("time since the start [s]")
    _whole_from_zero(ax)


def nearest(rows: pd.DataFrame, shown_us: int) -> pd.Series:
    """Return a row of the cell whose cost is nearest."""
    return rows.loc[(rows["busy"].astype(float) - shown_us).abs().idxmin()]


def legend(table: pd.DataFrame) -> list[Line2D]:
    """Return the legend of lines over cost; threads are full lines, replicas dashed."""
    names = [name for name in LOOKS if name in of_lines(table)]
    handles = [
        style.key(
            color=LOOKS[name].color,
            marker=LOOKS[name].marker,
            ms=MARKER,
            label=f"law {name}" if name not in (BASE, BY_HAND) else name,
        )
        for name in names
    ]
    return [
        *handles,
        style.key(label="threads"),
        style.key(ls=DASHES, marker=REPLICAS, ms=MARKER, label="replicas an operator"),
    ]


def _whole_from_zero(ax: Axes) -> None:
    ax.set_ylim(0, max(2.0, 1.12 * ax.get_ylim()[1]))
    ax.yaxis.set_major_locator(MaxNLocator(nbins=6, integer=True))


def _ticks(ax: Axes, lines: Mapping[str, pd.DataFrame]) -> None:
    values = sorted({float(value) for line in lines.values() for value in line["busy"]}) or [0.0]
    ax.set_xticks(values, [f"{value:g}" for value in values])
    room = 0.08 * (values[-1] - values[0]) or 0.5
    ax.set_xlim(values[0] - room, values[-1] + room)
