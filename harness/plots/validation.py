"""Validation of the simulator: predicted against measured throughput, and the errors by group.

Reads   validation.parquet   a row for each case: topology, cost [FLOP], payload [bytes], model,
                             arm, measured, low, high, predicted [tuples/s], error [share of
                             measured], runs, unsettled_used, unstable (`millrace validate`)
Draws   left: a marker for each case, on logarithmic axes, with the interval of the measured
        median; right: its error, once in the row of its arm, of its topology, of its cost and of
        its payload, with the row's median; both: bands of 15 % and 40 %

A misreading to avoid: a marker on the line was predicted well, which does not mean that it was
measured well; where the bar is long, the measurement itself is uncertain.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator, PercentFormatter

from harness.errors import UserError
from harness.plots import provenance, style

TABLES = ("validation",)
TITLE = "Throughput of this machine: predicted by the simulator against measured"
# targets for the worst and the median error, as a share of the measured value, and their greys
BANDS = ((0.40, "#f1f1f1"), (0.15, "#dcdcdc"))
ARMS = (
    "manual",
    "dedicated",
    "dynamic-1",
    "dynamic-2",
    "coroutine-2",
    "coroutine-2-random",
    "coroutine-2-replicas-2",
)
GROUPS = ("arm", "topology", "cost", "payload")
# largest error on the axis; markers of larger errors are at its edge with their value
MOST_ERROR = 1.0


def figure(tables: Mapping[str, pd.DataFrame]) -> Figure:
    """Return the figure from the table of a validation. Raises UserError, naming them, if columns
    are missing.
    """
    table = tables["validation"]
    wanted = (
        "topology",
        "cost",
        "payload",
        "model",
        "arm",
        "measured",
        "low",
        "high",
        "predicted",
        "error",
        "runs",
    )
    missing = [name for name in (*wanted, "unsettled_used", "unstable") if name not in table]
    if missing:
        raise UserError(
            f"the table validation lacks {', '.join(missing)}; `millrace validate` makes it"
        )
    with style.applied():
        drawing = style.plt.figure(figsize=(10.0, 5.4))
        left, right = drawing.subplots(1, 2, width_ratios=(1.15, 1))
        scatter(left, table)
        by_group(right, table)
        style.title_with_legend(drawing, TITLE, _legend(table))
        provenance.foot(drawing, _sentence(table))
    return drawing


def scatter(ax: Axes, table: pd.DataFrame) -> None:
    """Draw predicted against measured, a marker for each case; cases without one of the two are
    counted in a corner.
    """
    known = table[table["error"].notna() & (table["predicted"] > 0)]
    ax.set_xscale("log")
    ax.set_yscale("log")
    if len(known):
        values = known[["measured", "predicted"]].to_numpy(float)
        ends = np.array([values.min() / 1.6, values.max() * 1.6])
        for share, color in BANDS:
            ax.fill_between(
                ends, (1 - share) * ends, (1 + share) * ends, color=color, lw=0, zorder=0
            )
        ax.plot(ends, ends, color=style.FAINT, lw=0.8, zorder=1)
        ax.set_xlim(*ends)
        ax.set_ylim(*ends)
        ax.set_aspect("equal")
    for _, row in known.iterrows():
        look = style.of_model(row["model"])
        if row["runs"] > 1:
            ax.plot(
                [row["low"], row["high"]],
                [row["predicted"]] * 2,
                color=look.color,
                lw=0.9,
                zorder=2,
            )
        ax.plot(row["measured"], row["predicted"], ls="", markersize=4.5, zorder=3, **_marker(row))
    if len(known) < len(table):
        ax.text(
            0.97,
            0.03,
            f"{len(table) - len(known)} not shown",
            transform=ax.transAxes,
            ha="right",
            fontsize=7.5,
            color=style.INK,
        )
    ax.xaxis.set_major_formatter(style.rates())
    ax.yaxis.set_major_formatter(style.rates())
    ax.set_xlabel("measured at the sinks [tuples/s]")
    ax.set_ylabel("predicted [tuples/s]")


def by_group(ax: Axes, table: pd.DataFrame) -> None:
    """Draw signed errors, a row for each group, with the group's median; errors beyond the axis are
    at its edge with their value.
    """
    known = table[table["error"].notna()]
    rows = list(_groups(known))
    edge = min(max(known["error"].abs().max(), 0.5) if len(known) else 0.5, MOST_ERROR) * 1.08
    for share, color in BANDS:
        ax.axvspan(-share, share, color=color, lw=0, zorder=0)
    ax.axvline(0, color=style.FAINT, lw=0.8, zorder=1)
    for place, (_, group) in enumerate(rows):
        spread = np.linspace(-0.28, 0.28, len(group)) if len(group) > 1 else [0.0]
        for offset, (_, row) in zip(
            spread, group.sort_values("arm", kind="stable").iterrows(), strict=True
        ):
            ax.plot(
                np.clip(row["error"], -edge, edge),
                place + offset,
                ls="",
                markersize=3.5,
                zorder=3,
                **_marker(row),
            )
        ax.plot(
            [np.clip(group["error"].median(), -edge, edge)] * 2,
            [place - 0.4, place + 0.4],
            color=style.INK,
            lw=1.8,
            zorder=4,
        )
        beyond = group[group["error"].abs() > edge]["error"]
        if len(beyond):
            worst = beyond.loc[beyond.abs().idxmax()]
            side, inward = ("right", -6) if worst > 0 else ("left", 6)
            where = {
                "xy": (math.copysign(edge, worst), place),
                "xytext": (inward, 0),
                "textcoords": "offset points",
            }
            look = {
                "fontsize": 7,
                "color": style.INK,
                "bbox": {"fc": "white", "ec": "none", "pad": 0.6},
                "zorder": 5,
            }
            ax.annotate(f"{worst:+.0%}", **where, ha=side, va="center", **look)
    counts = [known[column].nunique() for column in GROUPS]
    for above in np.cumsum(counts)[:-1]:
        ax.axhline(above - 0.5, color=style.FAINT, lw=0.5, zorder=1)
    ax.set_xlim(-edge, edge)
    ax.set_ylim(len(rows) - 0.4, -0.6)
    ax.set_yticks(range(len(rows)), [name for name, _ in rows])
    ax.tick_params(axis="y", length=0)
    ax.grid(visible=False, axis="y")
    ax.xaxis.set_major_locator(MaxNLocator(nbins=6, steps=[1, 2, 5, 10]))
    ax.xaxis.set_major_formatter(PercentFormatter(xmax=1.0, symbol=" %"))
    ax.set_xlabel("error: predicted / measured − 1")


def _groups(known: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    orders = {"arm": ARMS, "topology": style.TOPOLOGIES}
    for column in GROUPS:
        values = known[column].unique()
        for value in style.in_order(values, orders[column]) if column in orders else sorted(values):
            if column in orders:
                name = value
            else:
                name = f"{column} {style.whole(value) if value else 'own'}"  # of an application
            yield name, known[known[column] == value]


def _marker(row: pd.Series) -> dict:
    look = style.of_model(row["model"])
    is_open = bool(row["unsettled_used"])
    return {
        "marker": look.marker,
        "color": look.color,
        "markerfacecolor": "white" if is_open else look.color,
    }


def _legend(table: pd.DataFrame) -> list[Line2D | Patch]:
    handles: list[Line2D | Patch] = []
    for name in style.in_order(table["model"], list(style.MODELS)):
        look = style.of_model(name)
        handles.append(style.key(color=look.color, ls="", marker=look.marker, label=name))
    handles += [
        Patch(color=color, label=f"± {share:.0%}".replace("%", " %"))
        for share, color in reversed(BANDS)
    ]
    handles.append(
        style.key(ls="", marker="|", markersize=9, markeredgewidth=1.8, label="median of a group")
    )
    if table["unsettled_used"].any():
        handles.append(style.key(ls="", marker="o", markerfacecolor="white", label="never settled"))
    return handles


def _sentence(table: pd.DataFrame) -> str:
    """Return the text at the foot: machine, number of runs, size of the errors."""
    models = ", ".join(sorted(table["cpu_model"].dropna().unique())) if "cpu_model" in table else ""
    counts = sorted({int(count) for count in table["runs"]} - {0})
    spread = (
        f"{counts[0]} to {counts[-1]}" if len(counts) > 1 else f"{counts[0]}" if counts else "0"
    )
    errors = table["error"].abs().dropna()
    found = (
        f"Absolute error: median {errors.median():.1%}, worst {errors.max():.1%}. ".replace(
            "%", " %"
        )
        if len(errors)
        else ""
    )
    return (
        f"Measured on {models or 'an unknown CPU'}: median of {spread} runs, each in a fresh "
        "process; bars: the interval of "
        "the median. Predicted: median of SIMULATED runs of the calibrated profile that differ in "
        "their seeds. "
        f"{found}{int(table['unstable'].sum())} of {len(table)} cases unstable (interval beyond ± "
        "20 % of the median)."
    )
