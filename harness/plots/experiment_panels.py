"""Figure of any experiment: throughput of each arm over the parameter with the most values, a panel
for each combination of the others.

A misreading to avoid: an interval over three runs is wide; arms whose intervals overlap may still
differ. `millrace compare` tests that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from harness.plots import style

PANEL_INCHES = (3.6, 2.8)
MOST_COLUMNS = 3
LOGARITHMIC_FROM = 20.0  # ratio of the largest to the least value of an axis
NUDGE = 0.06  # between arms at one place, so that their bars do not hide each other

Parameters = Mapping[str, int | str]


def figure_of_experiment(
    table: pd.DataFrame, cells: Mapping[str, Parameters], title: str
) -> Figure:
    """Return the figure of a table (`experiments.results`). `cells`: topology and parameters of
    each cell, by its name.
    """
    across = _widest(list(cells.values()))
    others = table["cell"].map(lambda cell: _others(cells, cell, across))
    panels = dict(iter(table.groupby([table["machine"], others], sort=False)))
    columns = min(len(panels), MOST_COLUMNS)
    rows = -(-len(panels) // columns)
    arms = list(dict.fromkeys(table["arm"]))
    with style.applied():
        size = (PANEL_INCHES[0] * max(columns, 2), PANEL_INCHES[1] * rows + 0.8)
        figure, axes = plt.subplots(rows, columns, figsize=size, squeeze=False)
        for ax, ((machine, others), part) in zip(axes.flat, panels.items(), strict=False):
            is_simulated = bool(part["simulated"].iloc[0])
            where = f", simulated {machine}" if is_simulated else ""
            ax.set_title(f"{others}{where}", loc="left")
            ax.set_facecolor(style.SIMULATED if is_simulated else "white")
            _draw(ax, part, cells, across, arms)
        for ax in list(axes.flat)[len(panels) :]:
            ax.set_visible(False)
        models = dict(zip(table["arm"], table["model"], strict=True))
        keys = [style.key(arm, **_look(arm, models[arm], arms)) for arm in arms]
        style.title_with_legend(figure, title, keys)
    return figure


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
        ends = [
            (rows["mean"] - rows["lo"].fillna(rows["mean"])).to_numpy(),
            (rows["hi"].fillna(rows["mean"]) - rows["mean"]).to_numpy(),
        ]
        look = _look(arm, rows["model"].iloc[0] if len(rows) else "", arms)
        ax.errorbar(places, rows["mean"], yerr=ends, **look)
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
    ax.set_ylabel("tuples/s")


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
