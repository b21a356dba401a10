"""Throughput against scheduler threads, a panel for each cell: the form of P17 Figures 9 and 10.

A misreading to avoid: the horizontal lines have no thread axis. Manual uses the sources' threads
only; dedicated uses one thread for each input port, at any level. An elastic arm's line is only for
comparison with the others'; its diamond is at the level that it settled on.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import FixedFormatter, FixedLocator, NullLocator

from harness.plots import cut_ends, line_names, places, provenance, schedulers, settled, style

INTERVAL = "bars and bands: 95 % interval over the runs (an arrow names the end of a cut one)"
# longest axis, in highest means: the interval of two runs may be twelve times the mean
AXIS_LIMIT_FACTOR = 1.5
PANEL_INCHES = (3.0, 2.5)
MIN_WIDTH = 7.8  # inches; the title needs them
BAND_ALPHA = 0.13
NO_LEVEL_PLACE = 1.2  # times the highest level: place of the markers of models without levels
AXES_POINTS = (200.0, 120.0)  # about the size of a panel between its axes [points of 1/72 inch]
LEVEL_END_RIGHT, LEVEL_END_DOWN = 3.0, 4.0  # from an arrow at the left edge to its value [points]
EDGES, EDGE_STEP = 8, 0.04  # places of names of arms that are left out, in parts of the axes
ELASTIC = "elastic"  # name of arms in which a control law chooses the level


@dataclass(frozen=True)
class Below:
    """Part of a figure under its panels, on axes as wide as all of them."""

    draw: Callable[[Axes], None]
    inches: float  # high


def draw(ax: Axes, table: pd.DataFrame) -> None:
    """Draw one cell: models with thread levels as lines with error bars, the others as horizontal
    lines with a band, elastic arms as diamonds with error bars both ways.

    `table` holds one row for each arm: model, threads, mean, lo, hi [tuples/s], elastic, law,
    level, level_lo, level_hi [threads], failed, settled_share, and if a machine's constants were
    varied, band_lo and band_hi [tuples/s]: a light fill with dashed edges. Intervals that would
    press all the rest to the axis are cut. An arm without a mean (`without_mean`) is a cross on the
    axis; the fewer of its runs settled, the paler is its marker (`settled`).
    """
    is_elastic = table["elastic"].astype(bool)
    fixed, elastic = table[~is_elastic], table[is_elastic]
    levels = sorted({int(level) for level in fixed["threads"].dropna()}) or _whole_levels(elastic)
    left = levels[0] / 1.35
    right = max([levels[-1], *elastic[["level", "level_hi"]].max(axis=1).dropna()]) * 1.35
    for model, rows in fixed.groupby("model", sort=False):
        if rows["threads"].notna().any():
            _line(ax, model, rows.sort_values("threads"))
        else:
            _reference(ax, model, rows.iloc[0], levels)
    for _, row in elastic.iterrows():
        _diamond(ax, row, left)
    ax.set_xscale("log", base=2)
    ax.set_xlim(left, right)
    ax.xaxis.set_major_locator(FixedLocator(spread_ticks(levels)))
    ax.xaxis.set_major_formatter(FixedFormatter([str(level) for level in spread_ticks(levels)]))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.yaxis.set_major_formatter(style.rates())
    places.tint(ax, table)
    means, intervals = table[["mean", "band_hi"]].max().max(), table["hi"].max()
    highest = min(intervals, AXIS_LIMIT_FACTOR * means) if intervals > means else means
    ax.set_ylim(0, 1.08 * highest if highest > 0 else 1)
    aside = levels[-1] * NO_LEVEL_PLACE
    cut_ends.draw(ax, _intervals(table, aside))
    _write_names(ax, table, aside, _name_failures(ax, table))


def figure(
    tables: Mapping[str, pd.DataFrame],
    title: str,
    note: Callable[[pd.Series], str] = lambda _: "",
    below: Below | None = None,
    assumed: str = "",
) -> Figure:
    """Return a figure with a row of panels for each topology and machine, a panel for each cell, in
    the order of their costs. `tables`: rows of one experiment; `note`: lines under a panel's title,
    from one of its rows; `below`: part under all panels; `assumed`: what the paper does not give,
    for a legend that also says which scheduler `dynamic` has.
    """
    table = tables["throughput"]
    rows = [(called, by_cost(cells)) for called, cells in places.rows_by_topology(table)]
    columns = max(len(cells) for _, cells in rows)
    width, height = PANEL_INCHES
    heights = [height] * len(rows) + ([below.inches] if below else [])
    with style.applied():
        drawing = style.plt.figure(
            figsize=(max(width * columns + 0.4, MIN_WIDTH), sum(heights) + 1.2)
        )
        grid = drawing.add_gridspec(len(heights), columns, height_ratios=heights)
        for number, (called, cells) in enumerate(rows):
            for column, cell in enumerate(cells):
                ax = drawing.add_subplot(grid[number, column])
                draw(ax, cell)
                ax.set_title(
                    "\n".join(filter(None, (called, cell_name(cell.iloc[0]), note(cell.iloc[0]))))
                )
                ax.set_xlabel("scheduler threads")
                if column == 0:
                    ax.set_ylabel("throughput at the sinks\n[tuples/s]")
        if below:
            below.draw(drawing.add_subplot(grid[len(rows), :]))
        notes = schedulers.notes(table, assumed) if assumed else []
        style.title_with_legend(drawing, title, [*_legend(table), *notes])
        provenance.stamp(drawing, table, INTERVAL)
    return drawing


def _line(ax: Axes, model: str, rows: pd.DataFrame) -> None:
    look = style.of_model(model)
    good = rows[rows["mean"].notna()]
    x, y = good["threads"].astype(int), good["mean"].astype(float)
    # NaN (one run: no interval) draws no bar
    lengths = [(y - good["lo"]).to_numpy(float), (good["hi"] - y).to_numpy(float)]
    ax.errorbar(x, y, yerr=lengths, color=look.color, ls=look.line, label=model, zorder=3)
    varied = good[good["band_lo"].notna()]
    if len(varied):
        ends = varied["band_lo"].astype(float), varied["band_hi"].astype(float)
        ax.fill_between(varied["threads"].astype(int), *ends, **_band(look))
    for _, row in good.iterrows():
        ax.plot(row["threads"], row["mean"], ls="", zorder=4, **settled.filled(row, look))
    bad = rows[rows["mean"].isna()]
    if len(bad):
        ax.plot(
            bad["threads"].astype(int),
            [0] * len(bad),
            ls="",
            marker="x",
            color=look.color,
            clip_on=False,
            zorder=5,
        )


def _reference(ax: Axes, model: str, row: pd.Series, levels: list[int]) -> None:
    look = style.of_model(model)
    if pd.isna(row["mean"]):
        return  # _name_failures names it; a line has no place for a cross
    ax.axhline(row["mean"], color=look.color, ls=look.line, label=model, zorder=2)
    if pd.notna(row["lo"]):
        ax.axhspan(row["lo"], row["hi"], color=look.color, alpha=0.16, lw=0, zorder=1)
    if pd.notna(row["band_lo"]):
        ax.axhspan(row["band_lo"], row["band_hi"], **_band(look))
    ax.plot(levels[-1] * NO_LEVEL_PLACE, row["mean"], ls="", zorder=4, **settled.filled(row, look))


def _intervals(table: pd.DataFrame, aside: float) -> list[cut_ends.Ends]:
    """Return the intervals of all arms; `aside`: place of the markers of arms without a level."""
    found = []
    for _, row in table[table["hi"].notna()].iterrows():
        level, name = (row["level"], ELASTIC) if row["elastic"] else (row["threads"], row["model"])
        place = float(level) if pd.notna(level) else aside
        found.append(cut_ends.Ends(place, row["lo"], row["hi"], style.of_model(name).color))
    return found


def _diamond(ax: Axes, row: pd.Series, left: float) -> None:
    """Draw the level on which an elastic arm settled. Its interval of levels ends at the left edge
    if it reaches beyond, as the axis has no 0; there an arrow names its end.
    """
    look = style.of_model(ELASTIC)
    if pd.isna(row["mean"]):
        return
    ax.axhline(row["mean"], color=look.color, ls=look.line, lw=0.8, zorder=2)
    if pd.isna(row["level"]):
        return
    x, y = float(row["level"]), float(row["mean"])
    across = [[x - max(row["level_lo"], left)], [row["level_hi"] - x]]
    up = [[y - row["lo"]], [row["hi"] - y]]  # NaN (one run: no interval) draws no bar
    if pd.notna(row["band_lo"]):
        ax.vlines(
            [x], row["band_lo"], row["band_hi"], color=look.color, lw=7, alpha=BAND_ALPHA, zorder=1
        )
    ax.errorbar([x], [y], xerr=across, yerr=up, ls="", ecolor=look.color, elinewidth=1.2, zorder=5)
    ax.plot([x], [y], ls="", zorder=6, label=ELASTIC, **settled.filled(row, look))
    if row["level_lo"] < left:
        arrow = {"marker": "<", "ms": 4, "color": look.color, "clip_on": False, "zorder": 6}
        ax.plot([left], [y], ls="", **arrow)
        ax.annotate(
            _level_end(row),
            (left, y),
            xytext=(LEVEL_END_RIGHT, -LEVEL_END_DOWN),
            textcoords="offset points",
            va="top",
            fontsize=cut_ends.VALUE_PT,
            color=look.color,
            path_effects=settled.TEXT_HALO,
            zorder=7,
        )


def _level_end(row: pd.Series) -> str:
    """Return the lower end of an interval of levels, for people."""
    return f"{row['level_lo']:.2g}"


def _level_ends(ax: Axes, laws: pd.DataFrame) -> list[line_names.Box]:
    """Return the places of the values at arrows, where an interval of levels is cut."""
    found = []
    for _, row in laws[laws["level_lo"] < ax.get_xlim()[0]].iterrows():
        width = line_names.CHARACTER * len(_level_end(row))
        top = row["mean"] / ax.get_ylim()[1] * AXES_POINTS[1] - LEVEL_END_DOWN
        found.append((LEVEL_END_RIGHT, top - line_names.LINE, LEVEL_END_RIGHT + width, top))
    return found


def _names(fixed: pd.DataFrame, laws: pd.DataFrame) -> list[line_names.Name]:
    """Return the names of lines and diamonds, so that the panel needs no legend."""
    found = []
    for _, row in laws[laws["level"].notna()].sort_values("mean", ascending=False).iterrows():
        text = ", ".join(filter(None, (f"law {row['law']}", settled.words_of_some_runs(row))))
        found.append(line_names.Name(text, style.INK, [(float(row["level"]), row["mean"])]))
    for model, rows in fixed.groupby("model", sort=False):
        color = style.of_model(model).color
        if rows["threads"].isna().all():
            found.append(line_names.Name(model, color, across=float(rows["mean"].iloc[0])))
            continue
        rows = rows.sort_values("threads")
        middle = (len(rows) - 1) / 2
        points = list(zip(rows["threads"], rows["mean"], strict=True))
        order = sorted(range(len(points)), key=lambda place: abs(place - middle))
        found.append(line_names.Name(model, color, [points[place] for place in order]))
    return found


def _write_names(
    ax: Axes, table: pd.DataFrame, aside: float, failures: Sequence[line_names.Box]
) -> None:
    """Write the names of all arms; `aside`: place of the markers of models without levels."""
    known = table[table["mean"].notna()]
    is_elastic = known["elastic"].astype(bool)
    fixed, laws = known[~is_elastic], known[is_elastic]
    with_levels = fixed[fixed["threads"].notna()].sort_values("threads")
    ended = laws[laws["level"].notna()]
    panel = line_names.Panel(
        AXES_POINTS,
        list(zip(with_levels["threads"], with_levels["mean"], strict=True)),
        [
            *zip(ended["level"], ended["mean"], strict=True),
            *((aside, mean) for mean in fixed.loc[fixed["threads"].isna(), "mean"]),
        ],
        [*fixed.loc[fixed["threads"].isna(), "mean"], *laws["mean"]],
        [*failures, *_level_ends(ax, ended)],
    )
    line_names.write(ax, _names(fixed, laws), panel)


def _band(look: style.ModelStyle) -> dict:
    """Return the style of the band of means under other constants."""
    return {
        "facecolor": to_rgba(look.color, BAND_ALPHA),
        "edgecolor": to_rgba(look.color, 0.7),
        "ls": "--",
        "lw": 0.6,
        "zorder": 1,
    }


def _whole_levels(elastic: pd.DataFrame) -> list[int]:
    """Return the levels to name on the axis if no arm has a fixed one: those around the elastic
    arms'.
    """
    found = elastic["level"].dropna()
    return sorted(
        {max(1, math.floor(level)) for level in found} | {math.ceil(level) for level in found}
    ) or [1]


def _name_failures(ax: Axes, table: pd.DataFrame) -> list[line_names.Box]:
    """Write the arms with runs that failed or are left out, and return the place of the text."""
    lines = []
    for _, row in table.iterrows():
        if pd.isna(row["mean"]):
            lines.append(f"{row['arm']}: {without_mean(row)}")
        elif row["failed"]:
            lines.append(f"{row['arm']}: {int(row['failed'])} of {runs_of(row)} failed")
    if not lines:
        return []
    at_top = _has_room_above(ax, table)
    height = _clear_edge(ax, table, at_top, len(lines) * line_names.LINE / AXES_POINTS[1])
    ax.text(
        0.03,
        height,
        "\n".join(lines),
        transform=ax.transAxes,
        fontsize=line_names.NAME_PT,
        color=style.INK,
        va="top" if at_top else "bottom",
        path_effects=settled.TEXT_HALO,
        zorder=6,
    )
    width, edge = line_names.CHARACTER * max(map(len, lines)), height * AXES_POINTS[1]
    end = edge + line_names.LINE * len(lines) * (-1 if at_top else 1)
    left = 0.03 * AXES_POINTS[0]
    return [(left, min(edge, end), left + width, max(edge, end))]


def _clear_edge(ax: Axes, table: pd.DataFrame, at_top: bool, high: float) -> float:
    """Return the outer edge of a text as high as this, as a part of the axes: the first from the
    top, or from the bottom, at which no line across crosses it; the outermost one if all do.
    """
    across = table.loc[table["threads"].isna(), "mean"].dropna() / ax.get_ylim()[1]
    outermost, inward = (0.87, -1) if at_top else (0.03, 1)  # below the line of a law at the top
    for step in range(EDGES):
        edge = outermost + inward * step * EDGE_STEP
        ends = sorted((edge, edge + inward * high))
        if not across.between(ends[0], ends[1]).any():
            return edge
    return outermost


def _has_room_above(ax: Axes, table: pd.DataFrame) -> bool:
    """Return True if fewer means lie in the upper left of the axes than in the lower left. Lines of
    arms without a fixed level cross the whole width.
    """
    middle = math.prod(ax.get_xlim()) ** 0.5
    left = table[table["threads"].isna() | (table["threads"] < middle)]
    heights = left["mean"].dropna() / ax.get_ylim()[1]
    return int((heights > 0.75).sum()) < int((heights < 0.25).sum())


def _legend(table: pd.DataFrame) -> list[Artist]:
    handles: list[Artist] = []
    names = table["model"].mask(table["elastic"].astype(bool), ELASTIC)
    for name in style.in_order(names, list(style.MODELS)):
        look = style.of_model(name)
        handles.append(style.key(color=look.color, ls=look.line, marker=look.marker, label=name))
    handles += settled.legend(table)
    handles += settled.crosses(table)
    if table["band_lo"].notna().any():
        look = style.ModelStyle(style.INK, "", "")
        handles.append(Patch(**_band(look), label="constants varied"))
    return handles + places.legend(table)


def without_mean(row: pd.Series) -> str:
    """Return the reason why an arm of the throughput table has no mean, in a word or two; a failed
    run is the first one.
    """
    if row["failed"]:
        return "failed"
    if row["unsettled"]:
        return settled.words_of_lost(row)
    return "no rate" if row["no_rate"] else "other constants only"


def runs_of(row: pd.Series) -> int:
    """Return the number of runs of an arm, variants not counted."""
    return int(row["failed"] + row["n"] + row["no_rate"])


def by_cost(table: pd.DataFrame) -> list[pd.DataFrame]:
    """Return the cells of a topology, cheapest first; costs that are words come last."""
    cells = [cell for _, cell in table.groupby("cell", sort=False)]
    return sorted(cells, key=lambda cell: (cost_key(cell["cost"].iloc[0]), cell["cell"].iloc[0]))


def cost_key(cost: str) -> tuple[bool, int, str]:
    """Return the sort key of a cost: numbers by value, then words."""
    return (not str(cost).isdigit(), int(cost) if str(cost).isdigit() else 0, str(cost))


def cost_name(cost: str) -> str:
    """Return a cost for people: `cost 10,000 FLOP`, `cost skewed`."""
    return f"cost {style.whole(int(cost))} FLOP" if str(cost).isdigit() else f"cost {cost}"


def shape_name(row: pd.Series) -> str:
    """Return a topology with its size: `pipeline, 100 operators`; `mix, width 10, depth 100`."""
    sizes = [
        f"{name} {style.whole(row[name])}" for name in ("width", "depth") if pd.notna(row.get(name))
    ]
    if pd.notna(row.get("operators")) and not sizes:
        sizes = [f"{style.whole(row['operators'])} operator{'s' if row['operators'] != 1 else ''}"]
    if pd.notna(row.get("workers")) and not sizes:
        sizes = [f"{style.whole(row['workers'])} workers"]
    return ", ".join([row["topology"], *sizes])


def cell_name(row: pd.Series) -> str:
    """Return a cell for people, in two lines: its topology with its size, its cost."""
    return f"{shape_name(row)}\n{cost_name(row['cost'])}"


def spread_ticks(levels: Sequence[float]) -> list[float]:
    """Return the levels, of some in order, that get a label: the ends, and from below all that
    leave room on a logarithmic axis.
    """
    shown = [levels[0]]
    room = (levels[-1] / levels[0]) ** (1 / 8)  # the factor between two of nine even labels
    for level in levels[1:]:
        while level == levels[-1] and len(shown) > 1 and level < room * shown[-1]:
            shown.pop()
        if level == levels[-1] or level >= room * shown[-1]:
            shown.append(level)
    return shown
