"""Figure of any experiment: throughput of each arm over the parameter with the most values, a panel
for each combination of the others. If its runs were explained, a second panel shows what the
threads of each arm spent their time on.

A misreading to avoid: an interval over three runs is wide; arms whose intervals overlap may still
differ. `millrace compare` tests that.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from operator import itemgetter

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from harness.measurement.interval import FEWEST_FOR_INTERVAL, range_of_two
from harness.plots import cut_ends, means, paper, places, provenance, settled, style
from harness.plots.style import ModelStyle
from harness.plots.thread_panels import spread_ticks
from harness.plots.time_bars import NamedBar, draw_time_bars, key_of_time
from harness.spark.stationary import is_of_some_runs

PANEL_INCHES = (3.6, 2.8)
MOST_COLUMNS = 3
LOGARITHMIC_FROM = 20.0  # ratio of the largest to the least value of an axis
MOST_BARS = 16  # of a panel; with more values of the parameter, its least and its largest are drawn
BAR_INCHES = 0.22
BAR_COLUMNS = ("mean", "lo", "hi", "n")
NUDGE = 0.06  # between arms at one place, so that their bars do not hide each other
LOCAL_ALONE = "local (measured)"
NOT_VARIED = {
    "variants": 0,
    "variants_failed": 0,
    "variants_reached": 0,
    "band_lo": math.nan,
    "band_hi": math.nan,
}
"""Columns of Spark's table that say how means vary with the constants of a machine."""

Parameters = Mapping[str, int | str]

Looks = Mapping[str, ModelStyle]
"""Style of each arm, in the order of the arms."""

TimeUses = Mapping[tuple[str, str, str], Mapping[str, float]]
"""Shares of the threads' time by category, of a cell on a machine under an arm."""


def figure_of_experiment(
    table: pd.DataFrame, cells: Mapping[str, Parameters], title: str, uses: TimeUses | None = None
) -> Figure:
    """Return the figure of a table (`experiments.results`), with panels and arms in its order.
    `cells`: topology and parameters of each cell, by its name. `uses`: of the runs that were
    explained.
    """
    table = table.assign(**{name: value for name, value in NOT_VARIED.items() if name not in table})
    across = _widest(list(cells.values()))
    others = table["cell"].map(lambda cell: _others(cells, cell, across))
    place = table.apply(places.name, axis=1)
    if set(place) == {LOCAL_ALONE}:
        place = place.map(lambda _: "")
    panels = dict(iter(table.groupby([place, others], sort=False)))
    columns = paper.columns_with_room(min(len(panels), MOST_COLUMNS))
    rows = -(-len(panels) // columns)
    looks = _looks(table)
    bars = [_bars(part, cells, across, uses or {}, list(looks)) for part in panels.values()]
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
        is_cut = False
        for ax, ((where, others), part) in zip(
            axes[:: 2 if any(bars) else 1].flat, panels.items(), strict=False
        ):
            called = "\n".join(filter(None, (others, where)))
            lines = paper.wrapped(called, paper.shape().width or PANEL_INCHES[0])
            ax.set_title("\n".join(lines), loc="left")
            places.tint(ax, part)
            is_cut |= _draw(ax, part, cells, across, looks)
        for ax, own in zip(of_time, bars, strict=False):
            draw_time_bars(ax, own, 1.0)
            ax.set_xlabel(f"time of the threads, by {across} and arm")
        for ax in axes.flat:
            ax.set_visible(ax.has_data())
        keys = [
            style.key(arm, look.color, marker=look.marker, ls=look.line)
            for arm, look in looks.items()
        ]
        keys += settled.legend(table)
        keys += settled.crosses(table)
        keys += [*places.legend(table), *key_of_time([bar for own in bars for bar in own])]
        meaning = _meaning_of_bars(table, is_cut)
        if paper.shape().width is None and paper.shape().titled:
            text = provenance.sentence(table, meaning)
            figure.set_figheight(figure.get_figheight() + provenance.height_of(figure, text))
        style.title_with_legend(figure, title, keys)
        provenance.stamp(figure, table, meaning)
    return figure


def _bars(
    table: pd.DataFrame,
    cells: Mapping[str, Parameters],
    across: str,
    uses: TimeUses,
    arms: Sequence[str],
) -> list[NamedBar]:
    """Return a bar for each arm and value of the parameter."""
    found: dict[int | str, list[tuple[int, NamedBar]]] = {}
    for cell, machine, arm in zip(table["cell"], table["machine"], table["arm"], strict=True):
        if (cell, machine, arm) in uses:
            value = cells[cell][across]
            bar = arms.index(arm), (f"{_tick(value)} {arm}", uses[cell, machine, arm])
            found.setdefault(value, []).append(bar)
    values = sorted(found, key=lambda value: (isinstance(value, str), value))
    if sum(map(len, found.values())) > MOST_BARS:
        values = [values[0], values[-1]]
    return [bar for value in values for _, bar in sorted(found[value], key=itemgetter(0))]


def _draw(
    ax: Axes, table: pd.DataFrame, cells: Mapping[str, Parameters], across: str, looks: Looks
) -> bool:
    """Draw a panel; return True if an interval goes on beyond the axis."""
    values = [cells[cell][across] for cell in table["cell"]]
    order = list(dict.fromkeys(values))
    numbers = all(isinstance(value, int | float) for value in order)
    order = sorted(order, key=float) if numbers else order
    positive = numbers and min(order) > 0 and len(order) > 1
    logarithmic = positive and max(order) / min(order) >= LOGARITHMIC_FROM
    if logarithmic:
        ax.set_xscale("log")
        ax.xaxis.set_major_locator(FixedLocator(spread_ticks(order)))
        ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: style.short(value)))
        ax.xaxis.set_minor_locator(NullLocator())
    else:
        ax.set_xticks(range(len(order)), [_tick(value) for value in order])
    _limit(ax, table["mean"])
    intervals: list[cut_ends.Ends] = []
    for number, (arm, look) in enumerate(looks.items()):
        rows = table.assign(value=values)[table["arm"] == arm].sort_values(
            "value", key=lambda each: each.map(order.index)
        )
        shift = NUDGE * (number - (len(looks) - 1) / 2)
        at = [(value if logarithmic else order.index(value) + shift) for value in rows["value"]]
        x, drawn = pd.Series(at, index=rows.index, dtype=float), rows["mean"].notna()
        good = rows[drawn]
        of_some = good.apply(is_of_some_runs, axis=1).astype(bool)
        good = good.assign(n=good["n"] - good["unsettled"].where(of_some, 0))
        ends = [_bar_ends(*row) for row in zip(*(good[name] for name in BAR_COLUMNS), strict=True)]
        lines = good.assign(lo=[low for low, _ in ends], hi=[high for _, high in ends])
        means.draw(ax, x[drawn], lines, look, arm)
        if not drawn.all():  # the bounds of an empty line would be at the figure's corner
            ax.plot(
                x[~drawn],
                [0.0] * int((~drawn).sum()),
                ls="",
                marker="x",
                color=look.color,
                transform=ax.get_xaxis_transform(),
                clip_on=False,
                zorder=5,
            )
        intervals += [
            cut_ends.Ends(place, low, high, look.color)
            for place, (low, high) in zip(x[drawn], ends, strict=True)
        ]
    ax.yaxis.set_major_formatter(style.rates())
    ax.set_xlabel(across)
    ax.set_ylabel("throughput at the sinks\n[tuples/s]")
    return cut_ends.draw(ax, intervals)


def _limit(ax: Axes, rates: pd.Series) -> None:
    """Set the vertical axis by the means: an interval of few runs may be many times as high."""
    lowest, highest = rates.min(), rates.max()
    if lowest > 0 and highest / lowest >= LOGARITHMIC_FROM:
        ax.set_yscale("log")
        ax.set_ylim(lowest / 2, 2 * highest)
    else:
        ax.set_ylim(0.0, 1.5 * highest if highest > 0 else 1.0)


def _tick(value: int | str) -> str:
    """Return the label of a value of a parameter."""
    return style.short(value) if isinstance(value, int | float) else str(value)


def _bar_ends(mean: float, low: float, high: float, runs: int) -> tuple[float, float]:
    """Return the ends of a bar: of the interval, or of the range of two runs; NaN for no bar."""
    if runs < 2 or pd.isna(high):
        return math.nan, math.nan
    return (low, high) if runs >= FEWEST_FOR_INTERVAL else range_of_two(mean, high)


def _meaning_of_bars(table: pd.DataFrame, is_cut: bool) -> str:
    """Return what the bars of a figure are, for its foot."""
    few = table["n"][table["mean"].notna()] < FEWEST_FOR_INTERVAL
    bars = "bars: 95 % interval over the runs"
    if few.any():
        needed = f"from {FEWEST_FOR_INTERVAL} runs on (`repeats`) the 95 % interval"
        bars = f"bars: of two runs their range, {needed}"
    return bars + (", with an arrow and the end's value where it is cut" if is_cut else "")


def _looks(table: pd.DataFrame) -> Looks:
    """Return how each arm is drawn: as its model; later arms of a model with other lines."""
    looks: dict[str, ModelStyle] = {}
    arms_of: dict[str, int] = {}
    for arm, model in dict(zip(table["arm"], table["model"], strict=True)).items():
        of_model, number = style.of_model(model), arms_of.setdefault(model, 0)
        arms_of[model] += 1
        line = of_model.line if number == 0 else (0, (1 + number, 1.5))
        looks[arm] = ModelStyle(of_model.color, of_model.marker, line)
    return looks


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
