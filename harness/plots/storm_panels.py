"""Our models beside Storm, topology by topology: the form of C-Stream Figures 12 and 13.

A panel for each machine. Topologies are along the axis; above each are the rates of all arms, ours
first, and the ratio of our best to Storm's best with its interval, which allows for the choices.

A misreading to avoid: Storm runs on this machine only. Compare simulated results within their
panel.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from harness.plots import cut_ends, means, places, provenance, settled, style
from harness.plots.thread_panels import shape_name

INTERVAL = "bars are 95 % Student-t intervals of the mean (an arrow names the end of a cut one)"
COLUMN_INCHES, LEAST_INCHES, HEIGHT_INCHES = 5.0, 9.0, 4.6
GROUP_WIDTH = 0.7  # of the arms of a topology together; 1 is the distance to the next topology
AXIS_END = 1.28  # end of the axis, in highest rates: leaves room for the comparison
GROWN_ROOM = 0.38  # added to it where adapting arms have labels
VERDICT_PT = 7.5  # size of the comparison, of three lines
MARKERS = "vXPDos"  # for several arms of one model


def figure(tables: Mapping[str, pd.DataFrame], title: str) -> Figure:
    """Return the figure from the rows of its experiment."""
    table = tables["throughput"]
    looks = arm_looks(table)
    panels = list(places.by_place(table))
    with style.applied():
        size = max(LEAST_INCHES, COLUMN_INCHES * len(panels)), HEIGHT_INCHES
        drawing = style.plt.figure(figsize=size)
        for ax, (called, rows) in zip(
            drawing.subplots(1, len(panels), squeeze=False)[0], panels, strict=True
        ):
            draw(ax, rows, looks)
            ax.set_title(called)
            places.tint(ax, rows)
        drawing.axes[0].set_ylabel("throughput at the sinks [tuples/s]")
        style.title_with_legend(
            drawing,
            title,
            [
                *_legend(table, looks),
                *settled.legend(table),
                *settled.crosses(table),
                *places.legend(table),
            ],
        )
        provenance.stamp(drawing, table, INTERVAL)
    return drawing


def arm_looks(table: pd.DataFrame) -> dict[str, style.ModelStyle]:
    """Return each arm with its style, ours first: the colour of its model, or peer, and a marker of
    its own.
    """
    models = dict(zip(table["arm"], table["model"], strict=True))
    threads = dict(
        zip(
            table["arm"],
            table["threads"].where(table["level"].isna(), math.inf).fillna(0),
            strict=True,
        )
    )
    order = [*style.MODELS, *style.PEERS]
    arms = sorted(
        models,
        key=lambda arm: (
            order.index(models[arm]) if models[arm] in order else len(order),
            threads[arm],
            arm,
        ),
    )
    looks: dict[str, style.ModelStyle] = {}
    for arm in arms:
        look = style.of_model(models[arm])
        same = sum(models[other] == models[arm] for other in looks)
        looks[arm] = style.ModelStyle(
            look.color, MARKERS[same % len(MARKERS)] if same else look.marker, look.line
        )
    return looks


def draw(ax: Axes, rows: pd.DataFrame, looks: Mapping[str, style.ModelStyle]) -> None:
    """Draw the rates at one place. An arm without a mean is a cross on the axis."""
    topologies = style.in_order(rows["topology"], style.TOPOLOGIES)
    rows = rows.sort_values(
        "topology", key=lambda names: names.map(topologies.index), kind="stable"
    )
    shapes = dict(iter(rows.groupby(rows.apply(called_cell, axis=1), sort=False)))
    arms = [arm for arm in looks if arm in set(rows["arm"])]
    step = GROUP_WIDTH / max(1, len(arms))
    intervals: list[cut_ends.Ends] = []
    for place, cell in enumerate(shapes.values()):
        adapting = 0
        for _, row in cell.iterrows():
            x = place + step * (arms.index(row["arm"]) - (len(arms) - 1) / 2)
            look = looks[row["arm"]]
            if pd.isna(row["mean"]):
                ax.plot(x, 0, ls="none", marker="x", color=look.color, clip_on=False, zorder=5)
                continue
            spread = (
                None
                if pd.isna(row["lo"])
                else [[row["mean"] - max(row["lo"], 0.0)], [row["hi"] - row["mean"]]]
            )
            ax.errorbar(
                x,
                row["mean"],
                yerr=spread,
                ls="none",
                ms=6,
                elinewidth=0.8,
                capsize=2,
                **settled.filled(row, look),
            )
            if pd.notna(row["lo"]):
                intervals.append(cut_ends.Ends(x, row["lo"], row["hi"], look.color))
            if pd.notna(row["level"]):
                above = (9, 28)[adapting % 2]  # in turns: neighbours must not overlap
                adapting += 1
                ax.annotate(
                    grown(row),
                    (x, row["mean"]),
                    (0, above),
                    textcoords="offset points",
                    ha="center",
                    va="bottom",
                    fontsize=6.5,
                    color=style.FAINT,
                )
        style.say_on_top(ax, place, verdict(cell), fontsize=VERDICT_PT)
    highest = rows[["mean", "hi"]].min(axis=1).max() if rows["mean"].notna().any() else 1.0
    highest = max(highest, rows["mean"].max())
    ax.set_ylim(0, (AXIS_END + GROWN_ROOM * rows["level"].notna().any()) * highest)
    ax.yaxis.set_major_formatter(style.rates())
    ax.set_xlim(-0.5, len(shapes) - 0.5)
    ax.set_xticks(range(len(shapes)), list(shapes))
    cut_ends.draw(ax, intervals, clear_pt=VERDICT_PT * 4)


def grown(row: pd.Series) -> str:
    """Return the final state of an adapting run: `12 threads`, and below it `6.5 replicas`: the
    mean of those that may have any.
    """
    replicas = "" if pd.isna(row["replicas"]) else f"\n{row['replicas']:.3g} replicas"
    return f"{row['level']:.0f} threads{replicas}"


def called_cell(row: pd.Series) -> str:
    """Return a cell for people, on several lines: `chain`, `12 operators`, `100 µs a tuple`."""
    return "\n".join([*shape_name(row).split(", "), f"{style.whole(row['busy'])} µs a tuple"])


def verdict(rows: pd.DataFrame) -> str:
    """Return the highest rate of ours over that of Storm in one cell, on three lines: `ours`, `1.04
    [0.98, 1.10]`, `of Storm`; "" without either.
    """
    known = rows[rows["mean"].notna()]
    storm, ours = known[known["peer"].notna()], known[known["peer"].isna()]
    if storm.empty or ours.empty:
        return ""
    return f"ours\n{means.best_over_best(ours, storm)}\nof Storm"


def _legend(table: pd.DataFrame, looks: Mapping[str, style.ModelStyle]) -> list[Line2D]:
    peers = table[table["peer"].notna()]
    versions = dict(zip(peers["arm"], peers["peer"].str.split().str[-1], strict=True))
    return [
        style.key(
            ls="none",
            color=look.color,
            marker=look.marker,
            ms=6,
            label=f"{arm} {versions[arm]}" if arm in versions else arm,
        )
        for arm, look in looks.items()
    ]
