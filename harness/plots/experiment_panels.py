"""Figure of any experiment: throughput of each arm over the parameter with the most values, a panel
for each combination of the others. If its runs were explained, a second panel shows what the
threads of each arm spent their time on.

A misreading to avoid: an interval over three runs is wide; arms whose intervals overlap may still
differ. `millrace compare` tests that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import itemgetter

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from harness.machines.machine import LOCAL
from harness.measurement.interval import FEWEST_FOR_INTERVAL, range_of_two
from harness.plots import style
from harness.plots.time_bars import NamedBar, draw_time_bars, key_of_time

PANEL_INCHES = (3.6, 2.8)
MOST_COLUMNS = 3
LOGARITHMIC_FROM = 20.0  # ratio of the largest to the least value of an axis
MOST_BARS = 16  # of a panel; with more values of the parameter, its least and its largest are drawn
BAR_INCHES = 0.22
BAR_COLUMNS = ("mean", "lo", "hi", "n")
NUDGE = 0.06  # between arms at one place, so that their bars do not hide each other

Parameters = Mapping[str, int | str]

TimeUses = Mapping[tuple[str, str, str], Mapping[str, float]]
"""Shares of the threads' time by category, of a cell on a machine under an arm."""


def figure_of_experiment(
    table: pd.DataFrame, cells: Mapping[str, Parameters], title: str, uses: TimeUses | None = None
) -> Figure:
    """Return the figure of a table (`experiments.results`). `cells`: topology and parameters of
    each cell, by its name. `uses`: of the runs that were explained.
    """
    across = _widest(list(cells.values()))
    others = table["cell"].map(lambda cell: _others(cells, cell, across))
    panels = dict(iter(table.groupby([table["machine"], others], sort=False)))
    columns = min(len(panels), MOST_COLUMNS)
    rows = -(-len(panels) // columns)
    arms = list(dict.fromkeys(table["arm"]))
    bars = [_bars(part, cells, across, uses or {}) for part in panels.values()]
    heights = [PANEL_INCHES[1]] * rows
    if any(bars):  # below each row of panels, one of bars
        heights = [
            height
            for row in range(rows)
            for height in (
                PANEL_INCHES[1],
                BAR_INCHES * (max(map(len, bars[row * columns : (row + 1) * columns])) + 3),
            )
        ]
    with style.applied():
        size = (PANEL_INCHES[0] * max(columns, 2), sum(heights) + 0.8)
        figure, axes = plt.subplots(
            len(heights), columns, figsize=size, squeeze=False, height_ratios=heights
        )
        of_time = axes[1::2].flat if any(bars) else []
        for ax, ((machine, others), part) in zip(
            axes[:: 2 if any(bars) else 1].flat, panels.items(), strict=False
        ):
            is_simulated = bool(part["simulated"].iloc[0])
            where = f"simulated {machine}" if is_simulated else "" if machine == LOCAL else machine
            ax.set_title(", ".join(filter(None, (others, where))), loc="left")
            ax.set_facecolor(style.SIMULATED if is_simulated else "white")
            _draw(ax, part, cells, across, arms)
        for ax, own in zip(of_time, bars, strict=False):
            draw_time_bars(ax, own, 1.0)
            ax.set_xlabel(f"time of the threads, by {across} and arm")
        for ax in axes.flat:
            ax.set_visible(ax.has_data())
        models = dict(zip(table["arm"], table["model"], strict=True))
        keys = [style.key(arm, **_look(arm, models[arm], arms)) for arm in arms]
        keys += key_of_time([bar for own in bars for bar in own])
        style.title_with_legend(figure, title, keys)
    return figure


def _bars(
    table: pd.DataFrame, cells: Mapping[str, Parameters], across: str, uses: TimeUses
) -> list[NamedBar]:
    """Return a bar for each arm and value of the parameter."""
    found: dict[int | str, list[NamedBar]] = {}
    for cell, machine, arm in zip(table["cell"], table["machine"], table["arm"], strict=True):
        if (cell, machine, arm) in uses:
            value = cells[cell][across]
            bar = (f"{value} {arm}", uses[cell, machine, arm])
            found.setdefault(value, []).append(bar)
    values = sorted(found, key=lambda value: (isinstance(value, str), value))
    if sum(map(len, found.values())) > MOST_BARS:
        values = [values[0], values[-1]]
    return [bar for value in values for bar in sorted(found[value], key=itemgetter(0))]


def _draw(
    ax: Axes, table: pd.DataFrame, cells: Mapping[str, Parameters], across: str, arms: Sequence[str]
) -> None:
    values = [cells[cell][across] for cell in table["cell"]]
    order = list(dict.fromkeys(values))
    numbers = all(isinstance(value, int | float) for value in order)
    order = sorted(order, key=float) if numbers else order
    positive = numbers and min(order) > 0 and len(order) > 1
    logarithmic = positive and max(order) / min(order) >= LOGARITHMIC_FROM
    for arm, rows in table.assign(value=values).groupby("arm", sort=False):
        rows = rows.dropna(subset=["mean"]).sort_values(
            "value", key=lambda each: each.map(order.index)
        )
        shift = NUDGE * (arms.index(arm) - (len(arms) - 1) / 2)
        places = [(value if logarithmic else order.index(value) + shift) for value in rows["value"]]
        ends = [_bar_ends(*row) for row in zip(*(rows[name] for name in BAR_COLUMNS), strict=True)]
        look = _look(arm, rows["model"].iloc[0] if len(rows) else "", arms)
        lengths = [
            (mean - low, high - mean) for mean, (low, high) in zip(rows["mean"], ends, strict=True)
        ]
        ax.errorbar(places, rows["mean"], yerr=list(zip(*lengths, strict=True)) or None, **look)
    if logarithmic:
        ax.set_xscale("log")
    else:
        ax.set_xticks(range(len(order)), [f"{value}" for value in order])
    lowest, highest = table["mean"].min(), table["mean"].max()
    if lowest > 0 and highest / lowest >= LOGARITHMIC_FROM:
        ax.set_yscale("log")
        ax.set_ylim(lowest / 2, 2 * highest)
    else:  # an interval of few runs may be many times as high as the mean
        ax.set_ylim(0.0, 1.5 * highest or 1.0)
    ax.yaxis.set_major_formatter(style.rates())
    ax.set_xlabel(across)
    ax.set_ylabel(f"tuples/s\n{_bars_mean(table)}", fontsize="small")


def _bar_ends(mean: float, low: float, high: float, runs: int) -> tuple[float, float]:
    """Return the ends of a bar: of the interval, or of the range of two runs."""
    if runs < 2 or pd.isna(high):
        return mean, mean
    return (low, high) if runs >= FEWEST_FOR_INTERVAL else range_of_two(mean, high)


def _bars_mean(table: pd.DataFrame) -> str:
    """Return what the bars of a figure are, for its label."""
    few = table["n"] < FEWEST_FOR_INTERVAL
    if not few.any():
        return "bars: 95 % intervals"
    return f"bars: {'the range' if few.all() else 'ranges'} of fewer than 3 runs (more --repeats)"


def _look(arm: str, model: str, arms: Sequence[str]) -> dict[str, object]:
    """Return how an arm is drawn: as its model; the second arm of a model with another line."""
    of_model = style.of_model(model)
    same = [each for each in arms if each.split("-")[0] == arm.split("-")[0]]
    line = of_model.line if same.index(arm) == 0 else (0, (1 + same.index(arm), 1.5))
    return {"color": of_model.color, "marker": of_model.marker, "linestyle": line}


def _widest(cells: Sequence[Parameters]) -> str:
    """Return the parameter with the most values; numbers come first."""
    names = dict.fromkeys(name for cell in cells for name in cell)

    def worth(name: str) -> tuple[int, bool]:
        values = {cell[name] for cell in cells if name in cell}
        return len(values), all(isinstance(value, int | float) for value in values)

    return max((name for name in names if all(name in cell for cell in cells)), key=worth)


def _others(cells: Mapping[str, Parameters], cell: str, across: str) -> str:
    """Return what distinguishes the panel of a cell: the topology, and what varies besides."""
    varied = [
        f"{name}={value}"
        for name, value in cells[cell].items()
        if name not in (across, "topology")
        and len({str(each.get(name)) for each in cells.values()}) > 1
    ]
    return " ".join([str(cells[cell]["topology"]), *varied])
