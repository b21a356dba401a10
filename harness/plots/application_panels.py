"""Throughput of applications by arm, with the threads used. The form of M19 Figure 15.

A misreading to avoid: rates are of tuples at the sinks; for PacketAnalysis and the jobs of other
benchmarks, whose results may be few, of the tuples that all operators submit. An application that
makes many tuples of a record has a high rate, so bars compare within a panel only. Numbers on bars
are scheduler threads, or threaded ports by hand; the sources' own threads are added to them.
"""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from harness.plots import places, provenance, queue_arms, settled, style
from harness.plots.style import ModelStyle
from harness.plots.thread_panels import without_mean

INTERVAL = "error bars: 95 % interval of the mean"
PANEL_INCHES = (2.5, 2.6)
MIN_WIDTH = 8.6  # inches; the title needs them
PROFILED = (
    "Simulated operators have the costs and selectivities of a profiled run on the machine "
    "that simulated."
)

HAND_ARM = "hand"
BY_HAND = ModelStyle("#7f7f7f", "|", "-")
PORTS_BY_HAND = {"login-failures": 13, "vwap": 9, "wiki-word-count": 16}
"""Threaded ports, each with a thread, if they are placed by hand (docs/how-to/applications.md)."""

NAMES = {
    "login-failures": "LoginFailures",
    "vwap": "VWAP",
    "wiki-word-count": "WikiWordCount",
    "packet-analysis": "PacketAnalysis",
}
JOBS = {
    "nexmark-q1": "Nexmark query 1",
    "nexmark-q2": "Nexmark query 2",
    "nexmark-q5": "Nexmark query 5",
    "nexmark-q8": "Nexmark query 8",
    "word-count": "WordCount",
    "spike-detection": "SpikeDetection",
    "fraud-detection": "FraudDetection",
}
"""Jobs that other benchmarks know; nobody has placed threads in them by hand."""

RARE_RESULTS = {"packet-analysis", *JOBS}
"""Applications whose results are too few for a rate in a short run; the number of all tuples they
submit is in proportion to their input, too."""


def draw(ax: Axes, rows: pd.DataFrame) -> None:
    """Draw one application at one place: a bar for each arm; `rows` of the throughput table."""
    if rows["topology"].iloc[0] in RARE_RESULTS:
        rows = rows.assign(**{name: rows[f"submitted_{name}"] for name in ("mean", "lo", "hi")})
    arms = in_order(rows)
    highest = rows[["mean", "hi"]].max().max()
    for place, row in enumerate(arms):
        look = look_of(row)
        if pd.isna(row["mean"]):
            ax.text(
                place, 0, without_mean(row), rotation=90, fontsize=6.5, ha="center", va="bottom"
            )
            continue
        hatch = settled.hatch([row])
        face = {
            "facecolor": settled.shade(look.color, row["settled_share"]),
            "edgecolor": look.color,
            "hatch": hatch,
        }
        ax.bar(place, row["mean"], 0.8, zorder=3, **(face if hatch else {"color": look.color}))
        if pd.notna(row["lo"]):
            spread = [[row["mean"] - max(row["lo"], 0.0)], [row["hi"] - row["mean"]]]
            ax.errorbar(place, row["mean"], yerr=spread, color=style.INK, lw=1, zorder=4)
        top = row["mean"] if pd.isna(row["hi"]) else row["hi"]
        ax.annotate(
            threads_of(row),
            (place, top),
            xytext=(0, 2),
            textcoords="offset points",
            fontsize=7.5,
            ha="center",
            va="bottom",
            zorder=5,
        )
    ax.set_ylim(0, 1.18 * highest if highest > 0 else 1)
    ax.set_xlim(-0.6, max(len(arms), 1) - 0.4)
    ax.set_xticks([])
    ax.yaxis.set_major_formatter(style.rates())
    ax.grid(False, axis="x")
    places.tint(ax, rows)


def figure(tables: Mapping[str, pd.DataFrame], title: str) -> Figure:
    """Return the figure from the rows of its experiment: a panel for each application and place."""
    table = tables["throughput"]
    names = style.in_order(table["topology"], tuple(NAMES | JOBS))
    lines = [
        [
            (called, own)
            for called, of in places.by_place(table)
            if len(own := of[of.index.isin(rows.index)])
        ]
        for name in names
        for _, rows in table[table["topology"] == name].groupby("sources", dropna=False)
    ]
    lines = places.side_by_side(lines)
    columns = max(map(len, lines))
    with style.applied():
        drawing, grid = style.grid(len(lines), columns, PANEL_INCHES, 1.4, MIN_WIDTH)
        for number, line in enumerate(lines):
            for column, (called, rows) in enumerate(line):
                ax = drawing.add_subplot(grid[number, column])
                draw(ax, rows)
                ax.set_title("\n".join(filter(None, (application(rows.iloc[0]), called))))
                where = place_of_rate(rows)
                if column == 0 or where != place_of_rate(line[column - 1][1]):
                    ax.set_ylabel(f"throughput {where}\n[tuples/s]")
        style.title_with_legend(
            drawing, title, [*_legend(table), *settled.hatches(table), *places.legend(table)]
        )
        provenance.stamp(drawing, table, INTERVAL)
        if table["simulated"].astype(bool).any():
            # in place of the sentence alone
            provenance.foot(drawing, f"{provenance.sentence(table, INTERVAL)} {PROFILED}")
    return drawing


def place_of_rate(rows: pd.DataFrame) -> str:
    """Return the place at which a panel's throughput is counted, in words."""
    return "over all operators" if rows["topology"].iloc[0] in RARE_RESULTS else "at the sinks"


def application(row: pd.Series) -> str:
    """Return the application of a row for people, with its number of sources if it may have
    several.
    """
    name = (NAMES | JOBS).get(row["topology"], row["topology"])
    if pd.isna(row["sources"]):
        return name
    return f"{name}, {style.whole(row['sources'])} source{'s' if row['sources'] > 1 else ''}"


def is_by_hand(row: pd.Series) -> bool:
    """Return True if the threaded ports of a row were placed by hand."""
    return row["placement"] == HAND_ARM


def called(row: pd.Series) -> str:
    """Return an arm's name for people."""
    return "by hand" if is_by_hand(row) else queue_arms.called(row)


def look_of(row: pd.Series) -> ModelStyle:
    """Return the style of an arm."""
    return BY_HAND if is_by_hand(row) else queue_arms.look(row)


def threads_of(row: pd.Series) -> str:
    """Return the number of threads beside the sources': of the pool, or of ports by hand; "" under
    models that have no such number.
    """
    if is_by_hand(row):
        ports = PORTS_BY_HAND | (
            {} if pd.isna(row["sources"]) else {"packet-analysis": 16 * int(row["sources"]) + 1}
        )
        return str(ports.get(row["topology"], ""))
    if row["model"] == "manual":
        return "0"
    threads = row["level"] if pd.notna(row["level"]) else row["threads"]
    return "" if pd.isna(threads) else f"{threads:.3g}"


def in_order(rows: pd.DataFrame) -> list[pd.Series]:
    """Return arms in the paper's order: manual, by hand, then those that adapt, M19's law before
    ours; other models in their own order.
    """
    known = {"manual": 0, "dedicated": 2, "dynamic": 3, "multilevel": 4, "coroutine": 6}

    def rank(row: pd.Series) -> tuple:
        ours = row["model"] == queue_arms.MULTILEVEL and row["law"] == queue_arms.OURS
        return (
            1 if is_by_hand(row) else known.get(row["model"], 9) + ours,
            bool(row["elastic"]),
            called(row),
        )

    return sorted((row for _, row in rows.iterrows()), key=rank)


def _legend(table: pd.DataFrame) -> list[Artist]:
    found = {
        called(row): Patch(color=look_of(row).color, label=called(row)) for row in in_order(table)
    }
    return [*found.values(), style.key(ls="", label="number: threads beside the sources'")]
