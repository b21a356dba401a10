"""Latency below saturation: over the rate that a source offers, up to the rate at which each
runtime saturates, a column for each graph.

Reads   throughput.parquet   cell, topology, its sizes, cost, payload, rate, model, peer, arm,
                             final, mean [tuples/s at the sinks], settled_share
        latency.parquet      cell, arm, p50, p99 [ns] with their least and greatest
Draws   above the median, below the 99th percentile. A line has a point for each offered rate that
        the arm keeps up with, and ends with a bar at the most that it can, measured with a source
        at full speed. Points of finalists are larger and have their range over runs. Labels stand
        at the lines' ends; below stands at each rate which of ours and which peer has the least
        99th percentile.

A tie is where the ranges of the two overlap. Of two equal arms with six runs each they are apart in
2 / C(12, 6) = 0.2 % of cases, as all orders of the runs are equally likely. Of three arms of ours
and three peers that are all equal, any two are apart in at most 2 % of cases.

A misreading to avoid: the end of a line is no latency, only a rate. There queues fill, and latency
is that of full queues.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import EngFormatter

from harness.measurement.finals import KEPT_UP
from harness.plots import means, places, provenance, settled, style
from harness.plots.thread_panels import cost_name, shape_name
from harness.spark.stationary import PLACE

NS = 1e-9
QUANTILES = {"p50": "median latency", "p99": "99th percentile of latency"}
RANGES = [f"{name}_{end}" for name in QUANTILES for end in ("least", "greatest")]
COLUMN_INCHES, HEIGHT_INCHES = 8.0, 10.5
LABEL_GAP = 0.031  # from label to label, of a panel's height
MARKER_PT = 4.5
SECONDS = EngFormatter(unit="s", sep=" ")
FEWEST_FOR_RANGE = 5  # runs of an arm: with fewer, ranges of equal arms are often apart
NOTE_CHARACTERS = 130  # of a line below a column
NOTE = "medians over runs; bars go from the least to the greatest run"


class RateLine(NamedTuple):
    """Line of an arm: rates that it keeps up with [tuples/s], and the most that it can; NaN if that
    is not known.
    """

    name: str
    look: style.ModelStyle
    ours: bool
    points: pd.DataFrame
    most: float


def figure(tables: Mapping[str, pd.DataFrame], title: str) -> Figure:
    """Return the figure from the rows of its experiment."""
    table = with_latency(tables)
    graphs = list(by_graph(table))
    with style.applied():
        size = COLUMN_INCHES * len(graphs), HEIGHT_INCHES
        drawing = style.plt.figure(figsize=size)
        axes = drawing.subplots(len(QUANTILES), len(graphs), squeeze=False, sharex="col")
        for column, (called, rows) in enumerate(graphs):
            drawn = list(lines(rows))
            axes[0][column].set_title(called)
            for row, quantile in enumerate(QUANTILES):
                draw(axes[row][column], drawn, quantile)
                places.tint(axes[row][column], rows)
            below = axes[-1][column]
            below.set_xlabel("offered rate [tuples/s]")
            said = [verdict(at_rate) for _, at_rate in rows[rows["rate"] > 0].groupby("rate")]
            silent = [line.name for line in drawn if line.points.empty]
            if silent:
                text = f"keep up with none of these rates: {', '.join(silent)}"
                said.append(textwrap.fill(text, NOTE_CHARACTERS))
            below.annotate(
                "\n".join(filter(None, said)),
                (0.0, -0.12),
                xycoords="axes fraction",
                va="top",
                fontsize=7.5,
                linespacing=1.5,
                color=style.INK,
            )
        for row, label in enumerate(QUANTILES.values()):
            axes[row][0].set_ylabel(label)
        end = Line2D([], [], color=style.INK, ls=":", marker="|", ms=9, label="saturates here")
        style.title_with_legend(
            drawing, title, [end, *settled.legend(table), *places.legend(table)]
        )
        provenance.stamp(drawing, table, NOTE)
    return drawing


def with_latency(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Return the throughput table with the quantiles of each arm's latency."""
    return tables["throughput"].merge(
        tables["latency"][[*PLACE, "cell", "arm", *QUANTILES, *RANGES]], how="left"
    )


def sustained(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of arms that keep up with their rate, the least 99th percentile first; of
    finalists alone if there are any.
    """
    rows = means.compared(rows[rows["mean"].notna()])
    return rows[rows["mean"] >= KEPT_UP * rows["rate"]].sort_values(["p99", "arm"])


def overlap(one: pd.Series, other: pd.Series) -> bool:
    """Return True if the ranges of the 99th percentiles of two arms overlap, so that they are a
    tie.
    """
    return bool(
        one["p99_least"] <= other["p99_greatest"] and other["p99_least"] <= one["p99_greatest"]
    )


def is_of_few_runs(row: pd.Series) -> bool:
    """Return True if the range of an arm is of too few runs to tell it from others."""
    return row["n"] < FEWEST_FOR_RANGE


def verdict(rows: pd.DataFrame) -> str:
    """Return the least 99th percentile of ours and of the peers at one rate, each with its range
    over runs: `10 k: manual 53 µs [50 µs, 61 µs], tbb 78 µs [60 µs, 80 µs]: a tie`. "" without
    either.
    """
    rows = sustained(rows)
    sides = rows[rows["peer"].isna()], rows[rows["peer"].notna()]
    if any(side.empty for side in sides):
        return ""
    first, second = (side.iloc[0] for side in sides)
    few = is_of_few_runs(first) or is_of_few_runs(second)
    end = ": too few runs to tell" if few else ": a tie" if overlap(first, second) else ""
    return f"{style.rate(first['rate'])}: {_in_words(first)}, {_in_words(second)}{end}"


def _in_words(row: pd.Series) -> str:
    middle, least, greatest = (
        SECONDS(float(f"{row[name] * NS:.2g}")) for name in ("p99", "p99_least", "p99_greatest")
    )
    return f"{row['arm']} {middle}" + ("" if row["n"] == 1 else f" [{least}, {greatest}]")


def by_graph(table: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield each graph with its costs and payload: its name, and its rows at all rates."""
    for called, rows in places.rows_by_topology(table):
        shapes = rows.apply(shape_name, axis=1)
        for (shape, cost, payload), part in rows.groupby([shapes, "cost", "payload"], sort=False):
            said = [shape, cost_name(cost), f"{style.whole(payload)} bytes", called]
            yield ", ".join(filter(None, said)), part


def lines(rows: pd.DataFrame) -> Iterator[RateLine]:
    """Yield the line of each arm of a graph: ours first, each in the order of its style."""
    order = [*style.MODELS, *style.PEERS]
    arms = rows.drop_duplicates("arm")
    rank = arms["model"].map(lambda name: order.index(name) if name in order else len(order))
    for _, arm in arms.assign(rank=rank).sort_values(["rank", "arm"]).iterrows():
        own = rows[rows["arm"] == arm["arm"]]
        paced = own[own["rate"] > 0].sort_values("rate")
        most = own[own["rate"] == 0]["mean"].max()
        yield RateLine(
            arm["arm"],
            style.of_arm(arm["model"], arm["arm"]),
            pd.isna(arm["peer"]),
            paced[keeps_up(paced)],
            most,
        )


def keeps_up(paced: pd.DataFrame) -> pd.Series:
    """Return True for each row of an arm, in the order of their rates, whose sinks get what its
    source offers, as far as that is so at all lower rates: then the arm has saturated.
    """
    return (paced["mean"] >= KEPT_UP * paced["rate"]).astype(int).cummin().astype(bool)


def draw(ax: Axes, drawn: list[RateLine], quantile: str) -> None:
    """Draw the lines of one graph, and their labels beside the panel."""
    ends: list[tuple[float, float, RateLine]] = []
    for line in drawn:
        points = line.points[line.points[quantile] > 0]
        if points.empty:
            continue
        x, y = points["rate"].to_numpy(float), points[quantile].to_numpy(float) * NS
        width = 2.2 if line.ours else 1.0
        ax.plot(x, y, color=line.look.color, ls=line.look.line, lw=width, zorder=2)
        for place, value, (_, row) in zip(x, y, points.iterrows(), strict=True):
            ax.errorbar(
                place,
                value,
                yerr=_ends(row, quantile),
                ls="",
                ms=MARKER_PT + 2.0 * bool(row["final"]),
                elinewidth=0.8,
                capsize=2,
                zorder=3,
                **settled.filled(row, line.look),
            )
        end = x[-1]
        if line.most > end:
            end = line.most
            ax.plot([x[-1], end], [y[-1]] * 2, color=line.look.color, ls=":", lw=width)
            ax.plot(end, y[-1], color=line.look.color, marker="|", ms=9, ls="")
        ends.append((y[-1], end, line))
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.xaxis.set_major_formatter(style.rates())
    ax.yaxis.set_major_formatter(EngFormatter(unit="s", sep=" "))
    _label(ax, ends)


def _ends(row: pd.Series, quantile: str) -> list[list[float]] | None:
    """Return the lengths of the bar of a finalist's quantile [s], for matplotlib; of others
    None.
    """
    if not row["final"]:
        return None
    least, greatest = row[f"{quantile}_least"], row[f"{quantile}_greatest"]
    return [[(row[quantile] - least) * NS], [(greatest - row[quantile]) * NS]]


def _label(ax: Axes, ends: list[tuple[float, float, RateLine]]) -> None:
    """Write the name of each line beside the panel, with a thin line from its end. Lines and labels
    have the same order from below, so that few cross.
    """
    if not ends:
        return
    ends.sort(key=lambda each: each[0])
    low, high = np.log10(ax.get_ylim())
    wanted = [(np.log10(y) - low) / (high - low) for y, _, _ in ends]
    for height, (y, x, line) in zip(spread_out(wanted, LABEL_GAP), ends, strict=True):
        ax.annotate(
            line.name,
            (x, y),
            xytext=(1.04, height),
            textcoords="axes fraction",
            fontsize=8,
            fontweight="bold" if line.ours else "normal",
            color=style.INK,
            va="center",
            annotation_clip=False,
            arrowprops={"arrowstyle": "-", "color": line.look.color, "lw": 0.7, "alpha": 0.8},
            zorder=1,
        )


def spread_out(wanted: list[float], gap: float) -> list[float]:
    """Return heights in the given order, each near to the wanted one, and `gap` apart at least.

    `wanted` ascends. Neighbours that are too close become a group around their mean.
    """
    groups: list[list[float]] = []  # of wanted heights
    for height in wanted:
        groups.append([height])
        while len(groups) > 1 and _top(groups[-2], gap) + gap > _bottom(groups[-1], gap):
            groups[-2:] = [groups[-2] + groups[-1]]
    return [_bottom(group, gap) + place * gap for group in groups for place in range(len(group))]


def _bottom(group: list[float], gap: float) -> float:
    return sum(group) / len(group) - gap * (len(group) - 1) / 2


def _top(group: list[float], gap: float) -> float:
    return sum(group) / len(group) + gap * (len(group) - 1) / 2
