"""M19 Figure 1: throughput against the share of operators under the dynamic model, beside the
result of multi-level elasticity.

Reads   throughput.parquet   model, arm, elastic, law, payload, mean, lo, hi [tuples/s at the
                             sinks], queued and places [ports], level [threads]; machine,
                             simulated, software
Draws   a row for each machine, a panel for each payload; y from 0; the dynamic model with a law
        that chooses the threads as a line over the share of ports with queues, each point with
        its threads; multilevel as a line across with a marker at the share it found

A misreading to avoid: the line across has no share axis; only its marker has. At 0 % the source's
own thread does all work.
"""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from harness.plots import places, provenance, queue_arms, settled, style
from harness.plots.queue_arms import MULTILEVEL
from harness.plots.thread_panels import INTERVAL, without_mean

PANEL_INCHES = (4.0, 2.4)  # a place's name needs the width
MIN_WIDTH = 8.6  # inches; the title needs them

AXES_POINTS = (240, 125)  # about the size of a panel between its axes [points of 1/72 inch]
MARKER, LINE, DIGIT = 8, 7, 4

Box = tuple[float, float, float, float]  # centre, width and height


def draw(ax: Axes, cell: pd.DataFrame) -> None:
    """Draw one cell on one machine; `cell` holds a row of the throughput table for each arm."""
    cell = cell.assign(share=100 * queue_arms.shares(cell))
    by_hand = cell[(cell["model"] == "dynamic") & cell["share"].notna()]
    for _, rows in by_hand.groupby(["elastic", "threads"], dropna=False):
        _line(ax, rows.sort_values("share"))
    found = list(queue_arms.in_order(cell[cell["model"] == MULTILEVEL]))
    for row in found:
        _found(ax, row)
    ax.set_xlim(-4, 104)
    ax.set_xticks([0, 25, 50, 75, 100])
    ax.yaxis.set_major_formatter(style.rates())
    places.tint(ax, cell)
    highest = cell[["mean", "hi"]].max().max()
    ax.set_ylim(0, 1.15 * highest if highest > 0 else 1)
    _tell_levels(ax, [row for _, row in by_hand.sort_values("share").iterrows()] + found)
    lost = cell[cell["mean"].isna()]
    for _, row in lost[lost.index.isin(by_hand.index)].iterrows():
        style.say_at_foot(ax, row["share"], without_mean(row))
    failed = [
        f"{row['arm']}: {without_mean(row)}"
        for _, row in lost[~lost.index.isin(by_hand.index)].iterrows()
    ]
    if failed:
        ax.text(0.03, 0.03, "\n".join(failed), transform=ax.transAxes, fontsize=7, va="bottom")


def figure(tables: Mapping[str, pd.DataFrame], title: str) -> Figure:
    """Return the figure from the rows of its experiment."""
    table = tables["throughput"]
    lines = [
        [(name, cell) for _, cell in of.groupby(["payload", "cell"])]
        for name, of in places.by_place(table)
    ]
    lines = places.side_by_side(lines)
    columns = max(map(len, lines))
    with style.applied():
        drawing, grid = style.grid(len(lines), columns, PANEL_INCHES, 1.2, MIN_WIDTH)
        for number, line in enumerate(lines):
            for column, (name, cell) in enumerate(line):
                ax = drawing.add_subplot(grid[number, column])
                draw(ax, cell)
                payload = f"payload {style.whole(cell['payload'].iloc[0])} B"
                ax.set_title("\n".join(filter(None, (name, payload))))
                ax.set_xlabel("ports with a queue [%]")
                if column == 0:
                    ax.set_ylabel("throughput at the sinks\n[tuples/s]")
        style.title_with_legend(
            drawing,
            title,
            [
                *queue_arms.legend(table),
                style.key(ls="", label="number: scheduler threads"),
                *settled.legend(table),
                *places.legend(table),
            ],
        )
        provenance.stamp(drawing, table, INTERVAL)
    return drawing


def _line(ax: Axes, rows: pd.DataFrame) -> None:
    """Draw one line over the shares, with a gap at an arm without a mean."""
    look = queue_arms.look(rows.iloc[0])
    spread = [
        (rows["mean"] - rows["lo"]).to_numpy(float),
        (rows["hi"] - rows["mean"]).to_numpy(float),
    ]
    ax.errorbar(rows["share"], rows["mean"], yerr=spread, color=look.color, ls=look.line, zorder=3)
    for _, row in rows[rows["mean"].notna()].iterrows():
        ax.plot(row["share"], row["mean"], ls="", ms=4.5, zorder=4, **settled.filled(row, look))


def _found(ax: Axes, row: pd.Series) -> None:
    look = queue_arms.look(row)
    if pd.isna(row["mean"]):
        return  # named as failed
    ax.axhline(row["mean"], color=look.color, ls=look.line, lw=1, zorder=2)
    if pd.notna(row["lo"]):
        ax.axhspan(row["lo"], row["hi"], color=look.color, alpha=0.16, lw=0, zorder=1)
    if pd.isna(row["share"]):
        return
    ax.plot(
        row["share"], row["mean"], ls="", ms=8, zorder=5, clip_on=False, **settled.filled(row, look)
    )


def _tell_levels(ax: Axes, rows: list[pd.Series]) -> None:
    """Write at each point the level of threads that its law settled on: above it, or where it
    covers no other point nor number.
    """
    shown = [row for row in rows if pd.notna(row["mean"]) and pd.notna(row["share"])]
    points = [_in_points(ax, row) for row in shown]
    taken = [(x, y, MARKER, MARKER) for x, y in points]
    for row, (x, y) in zip(shown, points, strict=True):
        if pd.isna(row["level"]):
            continue
        text = f"{row['level']:.3g}"
        width = DIGIT * len(text)
        right, above = (MARKER + width) / 2 + 1, (MARKER + LINE) / 2 + 1
        sides = [
            (0, above),
            (0, -above),
            *((across, up) for up in (0, above, -above) for across in (right, -right)),
        ]
        free = [
            side
            for side in sides
            if not any(_overlap((x + side[0], y + side[1], width, LINE), other) for other in taken)
        ]
        across, up = (free or sides)[0]
        taken.append((x + across, y + up, width, LINE))
        look = {"color": queue_arms.look(row).color} if row["model"] == MULTILEVEL else {}
        at = (row["share"], row["mean"])
        where = {
            "xytext": (across, up),
            "textcoords": "offset points",
            "ha": "center",
            "va": "center",
        }
        ax.annotate(
            text, at, **where, fontsize=6.5, path_effects=settled.TEXT_HALO, zorder=7, **look
        )


def _in_points(ax: Axes, row: pd.Series) -> tuple[float, float]:
    """Return the approximate place of a point in its panel [points of 1/72 inch]."""
    (left, right), (bottom, top) = ax.get_xlim(), ax.get_ylim()
    return AXES_POINTS[0] * (row["share"] - left) / (right - left), AXES_POINTS[1] * (
        row["mean"] - bottom
    ) / (top - bottom)


def _overlap(one: Box, other: Box) -> bool:
    return all(
        abs(one[axis] - other[axis]) < (one[axis + 2] + other[axis + 2]) / 2 for axis in (0, 1)
    )
