"""Other runtimes beside ours: throughput and latency over the cost of a tuple, a column for each
shape of a graph and each payload.

Reads   throughput.parquet   cell, topology, its sizes, payload, cost, model, peer, arm, final,
                             mean, lo, hi [tuples/s at the sinks], n, settled_share
        latency.parquet      cell, arm, p50 [ns] with its least and greatest
Draws   above: rates, with intervals those of finalists, which are larger, and at each cost which
        peer is fastest, as a share of the fastest of ours with its interval; a pipeline without
        operators, source and sink alone, stands before the costs; below: median latency from source
        to sink, of sources at full speed, so with queues as full as they get

A misreading to avoid: a share is the ratio of two means, each the luckiest of several finalists.
Its interval allows for that; one that includes 1 leaves open which is faster.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import EngFormatter

from harness.plots import means, places, provenance, settled, style
from harness.plots.thread_panels import cost_key, shape_name
from harness.spark.stationary import PLACE

INTERVAL = (
    "bars are 95 % Student-t intervals of the mean, of arms with few runs none; those of a latency "
    "go from the least to the greatest run"
)
LATENCY = ("p50", "p50_least", "p50_greatest")  # columns of the latency table [ns]
TICK_INCHES, LEAST_TICKS, LEAST_INCHES = 1.25, 1.6, 8.0
DODGE = 0.035
"""Share of the distance between two costs, from arm to arm: intervals must not hide each other."""

DODGED = 0.8  # of that distance, all arms together at most
VERDICTS = 0.28  # of the height of a panel is left to the verdicts, which have five lines
ALONE = "source and\nsink alone"
MARKER_PT = 4.5
NS = 1e-9


def figure(tables: Mapping[str, pd.DataFrame], title: str) -> Figure:
    """Return the figure from the rows of its experiment."""
    table = tables["throughput"].merge(
        tables["latency"][[*PLACE, "cell", "arm", *LATENCY]], how="left"
    )
    columns = list(_columns(table))
    ticks = [max(LEAST_TICKS, len(_costs(rows))) for _, rows in columns]
    with style.applied():
        width = max(LEAST_INCHES, TICK_INCHES * sum(ticks))
        drawing = style.plt.figure(figsize=(width, 7.2))
        axes = drawing.subplots(2, len(columns), squeeze=False, sharex="col", width_ratios=ticks)
        for (called, rows), (above, below) in zip(columns, axes.T, strict=True):
            above.set_title(called)
            draw(above, rows)
            draw_latency(below, rows)
            for ax in (above, below):
                places.tint(ax, rows)
        axes[0][0].set_ylabel("tuples/s at the sinks")
        axes[1][0].set_ylabel("median latency, sources at full speed")
        handles = [*_legend(table), *settled.legend(table), *places.legend(table)]
        style.title_with_legend(drawing, title, handles)
        provenance.stamp(drawing, table, INTERVAL)
    return drawing


def draw(ax: Axes, rows: pd.DataFrame) -> None:
    """Draw the rates of one topology. An arm without a mean is named at the foot of its cost."""
    costs = _costs(rows)
    for name, look, line, shift in _lines(rows):
        line = line[line["mean"].notna()]
        x = [costs.index(cost) + shift for cost in _work(line)]
        ax.plot(
            x,
            line["mean"],
            color=look.color,
            linestyle=look.line,
            linewidth=_width(line),
            label=name,
            zorder=2,
        )
        for place, (_, row) in zip(x, line.iterrows(), strict=True):
            ax.errorbar(
                place,
                row["mean"],
                yerr=means.bar(row),
                **settled.filled(row, look),
                markersize=_size(row),
                elinewidth=0.8,
                capsize=2,
                linestyle="none",
                zorder=3,
            )
    ax.set_yscale("log")
    ax.yaxis.set_major_formatter(style.rates())
    for place, cost in enumerate(costs):
        here = rows[_work(rows) == cost]
        style.say_on_top(ax, place, verdict(here), fontsize=7)
        lost = here[here["mean"].isna()]["arm"]
        if len(lost):
            text = "failed:\n" + "\n".join(lost)
            ax.annotate(
                text,
                (place, 0.01),
                xycoords=("data", "axes fraction"),
                ha="center",
                fontsize=6.5,
                color=style.FAINT,
            )
    low, high = ax.get_ylim()
    ax.set_ylim(top=high * (high / low) ** (VERDICTS / (1.0 - VERDICTS)))
    _cost_axis(ax, costs)


def draw_latency(ax: Axes, rows: pd.DataFrame) -> None:
    """Draw the median latencies of one topology."""
    costs = _costs(rows)
    for _, look, line, shift in _lines(rows):
        line = line[line["p50"].notna()]
        x = [costs.index(cost) + shift for cost in _work(line)]
        ax.errorbar(
            x,
            line["p50"] * NS,
            yerr=latency_range(line),
            elinewidth=0.8,
            capsize=2,
            color=look.color,
            linestyle=look.line,
            linewidth=_width(line),
            marker=look.marker,
            markersize=5,
        )
    ax.set_yscale("log")
    ax.yaxis.set_major_formatter(EngFormatter(unit="s", sep=" "))
    _cost_axis(ax, costs)
    ax.set_xlabel("cost of a work operator\n[FLOP a tuple]")


def _columns(table: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield each shape with one payload: its title, and its rows. A pipeline without operators goes
    with the first of its payload.
    """
    several = table["payload"].nunique() > 1
    for called, rows in places.rows_by_topology(table):
        alone = rows[_is_alone(rows)]
        there = rows[~_is_alone(rows)]
        shapes = there.apply(shape_name, axis=1) if len(there) else pd.Series(dtype=str)
        if there.empty:
            yield _title(rows.iloc[0], called, several), rows
        for (_, payload), part in there.groupby([shapes, "payload"], sort=False):
            beside = alone[alone["payload"] == payload]
            alone = alone.drop(beside.index)
            yield _title(part.iloc[0], called, several), pd.concat([beside, part])


def _title(row: pd.Series, called: str, several: bool) -> str:
    shape = shape_name(row).replace(", ", "\n", 1)
    payload = f"{style.whole(row['payload'])} bytes" if several else ""
    return "\n".join(filter(None, [shape, payload, called]))


def _is_alone(rows: pd.DataFrame) -> pd.Series:
    return rows["operators"] == 0


def _work(rows: pd.DataFrame) -> pd.Series:
    """Return what the tuples of each row pass: `ALONE`, or operators of a cost."""
    return rows["cost"].where(~_is_alone(rows), ALONE)


def latency_range(line: pd.DataFrame) -> np.ndarray:
    """Return the distances from the median latencies to the least and the greatest run [s]."""
    middle, least, greatest = (line[name].to_numpy(float) for name in LATENCY)
    return np.array([middle - least, greatest - middle]) * NS


def verdict(rows: pd.DataFrame) -> str:
    """Return the fastest peer of one cell, and its mean over the highest of ours: `go 0.41 [0.35,
    0.48] of ours`; where the interval leaves open which is faster, a tie. "" without either. If
    there are finalists, it is of them alone.
    """
    known = means.compared(rows[rows["mean"].notna()])
    peers, ours = known[known["peer"].notna()], known[known["peer"].isna()]
    if peers.empty or ours.empty:
        return ""
    best = peers.sort_values(["mean", "arm"], ascending=[False, True]).iloc[0]
    share = means.best_over_best(peers, ours)
    # costs are close together
    ratio, arm = str(share).replace(" ", "\n", 1), best["arm"].replace("-batched", "-\nbatched")
    return f"{arm}\n{ratio}\nof ours{': a tie' if share.is_tie else ''}"


def _lines(rows: pd.DataFrame):
    """Yield the arms in their order, ours first: name, style, rows by cost, and how far to the side
    they are drawn.
    """
    arms = _arms(rows)
    shift = min(DODGE, DODGED / len(arms))
    for place, (name, model) in enumerate(arms):
        line = rows[rows["arm"] == name]
        line = line.iloc[_work(line).map(_work_key).argsort(kind="stable")]
        yield name, style.of_arm(model, name), line, shift * (place - (len(arms) - 1) / 2)


def _arms(rows: pd.DataFrame) -> list[tuple[str, str]]:
    named = rows.drop_duplicates("arm")
    order = [*style.MODELS, *style.PEERS]
    ranked = {
        arm: (order.index(model) if model in order else len(order), arm)
        for arm, model in _pairs(named)
    }
    return sorted(_pairs(named), key=lambda each: ranked[each[0]])


def _pairs(rows: pd.DataFrame) -> list[tuple[str, str]]:
    return list(zip(rows["arm"], rows["model"], strict=True))


def _size(row: pd.Series) -> float:
    return MARKER_PT + 1.5 * bool(row["final"])


def _width(line: pd.DataFrame) -> float:
    return 1.0 if line["peer"].notna().any() else 2.0


def _costs(rows: pd.DataFrame) -> list[str]:
    return sorted(_work(rows).unique(), key=_work_key)


def _work_key(work: str) -> tuple:
    return (work != ALONE, () if work == ALONE else cost_key(work))


def _cost_axis(ax: Axes, costs: list[str]) -> None:
    ax.set_xlim(-0.5, len(costs) - 0.5)
    ax.set_xticks(
        range(len(costs)),
        [style.whole(int(cost)) if str(cost).isdigit() else str(cost) for cost in costs],
    )


def _legend(table: pd.DataFrame) -> list[Line2D]:
    labels = {row["arm"]: row["peer"] for _, row in table[table["peer"].notna()].iterrows()}
    return [
        style.key(
            color=look.color,
            marker=look.marker,
            linestyle=look.line,
            linewidth=1.0 if name in labels else 2.0,
            label=labels.get(name, name),
        )
        for name, model in _arms(table)
        for look in (style.of_arm(model, name),)
    ]
