"""Multi-level elastic against every other arm: the distance of the law from the best queues and
threads.

Reads   throughput.parquet   topology, cost, payload, model, arm, mean, lo, hi [tuples/s at the
                             sinks], elastic, queued, level
        speedup.parquet      arm, against = other models: ratio, lo, hi, of repeats of the
                             same block
Draws   a line for each cell; an arm's rate over the highest mean of the *other* arms to the
        right, with its 95 % interval, the paler the fewer of its runs settled; at the end of the
        line the ratio of multi-level, with an interval that allows for the choice of the best
        (spark.speedup), and its queues and threads

A misreading to avoid: the best of several arms is also the luckiest one, so a perfect law is a
little below 100 % wherever arms are alike; the interval at the end of the line then has 100 % in
it. A bar is the interval of an arm's own mean.
"""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import PercentFormatter

from harness.plots import means, places, provenance, settled, style
from harness.plots.thread_panels import cost_key, shape_name

INTERVAL = "bars are 95 % intervals of the mean"
TARGET = 0.95
LINE_INCHES = 0.42


def figure(tables: Mapping[str, pd.DataFrame], title: str) -> Figure:
    """Return the figure from the rows of its experiment."""
    table, ratios = tables["throughput"], tables["speedup"]
    ratios = ratios[ratios["against"] == "other models"]
    cells = _cells(table)
    with style.applied():
        drawing = style.plt.figure(figsize=(9.5, LINE_INCHES * len(cells) + 2.0))
        ax = drawing.subplots()
        for place, (_, rows) in enumerate(cells):
            y = len(cells) - 1 - place
            if rows["simulated"].astype(bool).any():
                ax.axhspan(y - 0.5, y + 0.5, facecolor=style.SIMULATED, zorder=0)
            there = places.at_place(ratios, rows.iloc[0])
            _line(ax, y, rows, there[there["cell"] == rows["cell"].iloc[0]])
        ax.axvline(1.0, color=style.FAINT, linewidth=0.8)
        ax.axvline(TARGET, color=style.FAINT, linewidth=0.8, linestyle=":")
        ax.set_yticks(range(len(cells)), [name for name, _ in reversed(cells)])
        ax.set_ylim(-0.6, len(cells) - 0.4)
        ax.set_xlim(left=0.0)
        ax.xaxis.set_major_formatter(PercentFormatter(1.0))
        ax.set_xlabel(f"throughput over the highest mean of the other arms; dotted: {TARGET:.0%}")
        style.title_with_legend(
            drawing, title, [*_legend(table), *settled.legend(table), *places.legend(table)]
        )
        provenance.stamp(drawing, table, INTERVAL)
    return drawing


def _cells(table: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
    """Return the cells with their names, by topology, cost and payload; one machine after the
    other.
    """
    order = {name: place for place, name in enumerate(style.TOPOLOGIES)}
    named = []
    for called, there in places.by_place(table):
        cells = [rows for _, rows in there.groupby("cell")]
        cells.sort(
            key=lambda rows: (
                order.get(rows["topology"].iloc[0], 99),
                cost_key(rows["cost"].iloc[0]),
                rows["payload"].iloc[0],
            )
        )
        named += [
            (", ".join([_name(rows.iloc[0]), *([called] if called else [])]), rows)
            for rows in cells
        ]
    return named


def _name(row: pd.Series) -> str:
    cost = style.whole(int(row["cost"])) if str(row["cost"]).isdigit() else row["cost"]
    return f"{shape_name(row)}, cost {cost}, {style.whole(row['payload'])} B"


def _line(ax: Axes, y: int, rows: pd.DataFrame, ratios: pd.DataFrame) -> None:
    found = rows[rows["mean"].notna()]
    others = found[found["model"] != "multilevel"]
    if others.empty:
        ax.text(0.02, y, "nothing to compare with", va="center", fontsize=7.5, color=style.FAINT)
        return
    best = others["mean"].max()
    for _, row in found.iterrows():
        look = _look(row)
        ratio = row["mean"] / best
        spread = (
            None if pd.isna(row["lo"]) else [[ratio - row["lo"] / best], [row["hi"] / best - ratio]]
        )
        above = 3 if row["model"] == "multilevel" else 2
        ax.errorbar(
            ratio,
            y,
            xerr=spread,
            markersize=7,
            **settled.filled(row, look),
            linestyle="none",
            zorder=above,
        )
        if row["model"] == "multilevel":
            queues = (
                ""
                if pd.isna(row["queued"])
                else f"{row['queued']:.0f} queue{'' if round(row['queued']) == 1 else 's'}"
            )
            where = f", {queues}, {row['level']:.0f} thr." if queues else ""
            unsettled = "" if settled.all_settled(row) else f", {settled.words(row)}"
            ax.annotate(
                f"{_against_the_best(row, ratio, ratios)}{where}{unsettled}",
                (1.01, y),
                xycoords=("axes fraction", "data"),
                va="center",
                fontsize=7.5,
                color=style.INK,
            )
    lost = rows[rows["mean"].isna()]["arm"]
    if len(lost):
        ax.text(0.02, y, f"failed: {', '.join(lost)}", va="center", fontsize=7, color=style.FAINT)


def _against_the_best(row: pd.Series, ratio: float, ratios: pd.DataFrame) -> str:
    """Return the ratio to the best arm of another model, paired by repeat and with its interval;
    without pairs that of the means.
    """
    paired = ratios[ratios["arm"] == row["arm"]]
    return f"{ratio:.0%}" if paired.empty else means.with_interval(paired.iloc[0])


def _look(row: pd.Series) -> style.ModelStyle:
    if "-queued-" in row["arm"]:
        return BY_HAND
    return style.of_model(
        "elastic" if row["elastic"] and row["model"] == "dynamic" else row["model"]
    )


BY_HAND = style.ModelStyle(style.INK, "|", "-")


def _legend(table: pd.DataFrame) -> list[Line2D]:
    looks = {
        ("placed by hand" if "-queued-" in row["arm"] else _model(row)): _look(row)
        for _, row in table.iterrows()
    }
    return [
        style.key(color=look.color, marker=look.marker, linestyle="none", label=name)
        for name, look in sorted(
            looks.items(), key=lambda each: [*style.MODELS, "placed by hand"].index(each[0])
        )
    ]


def _model(row: pd.Series) -> str:
    return "elastic" if row["elastic"] and row["model"] == "dynamic" else row["model"]
