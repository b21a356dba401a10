"""Throughput, queues and threads over time, three axes for each run: the form of M19 Figures 6 and
13.

A misreading to avoid: throughput is a mean over each period and drawn at its middle; queues and
threads are those of the whole period. A decision shows as a step at the end of the period after
which it was made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from statistics import median

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from harness.experiments.load_changes import Burst, heavy_phases
from harness.plots import places, provenance, queue_arms, settled, style
from harness.plots.thread_panels import shape_name
from harness.plots.time_panels import BURST, LEVEL_LINE

PANEL_INCHES = (3.6, 3.9)
HEIGHTS = (1.3, 1.0, 1.0)  # of throughput, and of queues and threads below
END_FACTOR = 2.0  # end of the axes, in times of the last change, where movers are shown
MIN_WIDTH = 8.0  # inches; the title needs them
BAND = {"alpha": 0.18, "lw": 0, "zorder": 1}


@dataclass(frozen=True)
class AdaptationStyle:
    """Names of cells in a figure of this form; `bursts`: stretches of a run, from its rows, to be
    shaded and called `bursts_label`.
    """

    cell_name: Callable[[pd.Series], str]  # from a row of the throughput table
    bursts: Callable[[pd.DataFrame], Iterator[Burst]] | None = None
    bursts_label: str = ""
    # True if colours say which elasticity changed a run, where an arm has one, and not its law
    shows_movers: bool = False


@dataclass(frozen=True)
class Mover:
    """Elasticity that changed between two periods of a run, as the line between them shows it."""

    name: str
    color: str
    width: float


THREADS, QUEUES = (
    Mover("thread count", "#0072b2", 2.2),
    Mover("placement of queues", "#d55e00", 2.2),
)
BOTH, NEITHER = Mover("both", "#222222", 2.2), Mover("neither", "#9a9a9a", 1.0)


def _cell_with_payload(row: pd.Series) -> str:
    """Return a cell for people: `pipeline, 500 operators, skewed, 1,024 B`."""
    return f"{shape_name(row)}, {row['cost']}, {style.whole(row['payload'])} B"


SETTLING = AdaptationStyle(_cell_with_payload, shows_movers=True)
CHANGING_LOAD = AdaptationStyle(shape_name, heavy_phases, "more heavy operators")


def settling(tables: Mapping[str, pd.DataFrame], title: str) -> Figure:
    """Return throughput, queues and threads while laws settle."""
    return figure(tables, title, SETTLING)


def changing_load(tables: Mapping[str, pd.DataFrame], title: str) -> Figure:
    """Return throughput, queues and threads while the share of heavy operators changes."""
    return figure(tables, title, CHANGING_LOAD)


def draw(
    rate: Axes, queues: Axes, threads: Axes, rows: pd.DataFrame, color: str, kind: AdaptationStyle
) -> None:
    """Draw the runs of an arm: lines are the median of the runs in each period, bands go from the
    least to the greatest run.

    `rows` are those of the timeline table, one for each period of a run. Runs that failed are left
    out, unless all have.
    """
    failed = rows["failed"].astype(bool)
    rows = _correct(rows).sort_values(["repeat", "run_id", "time_s"])
    middle, least, greatest = _over_runs(rows)
    ends, begins = middle["time_s"], middle["time_s"] - middle["elapsed_s"]
    for burst in _median_bursts(rows, kind):
        for ax in (rate, queues, threads):
            ax.axvspan(
                max(burst.begin_s, 0.0),
                min(burst.end_s, ends.iloc[-1]),
                color=BURST,
                lw=0,
                zorder=0,
            )
    centres = (begins + ends) / 2
    several = rows["run_id"].nunique() > 1
    shows_movers = _has_movers(rows, kind)
    if shows_movers:
        _draw_moves(rate, centres.to_numpy(float), middle)
    else:
        look = {"color": color, "marker": ".", "markersize": 3, "lw": 1.2, "zorder": 4}
        rate.plot(centres, middle["throughput_sink"], **look)
    if several:
        rate.fill_between(
            centres, least["throughput_sink"], greatest["throughput_sink"], color=color, **BAND
        )
    for ax, column, look in (
        (queues, "queued_ports", {"color": QUEUES.color if shows_movers else color, "lw": 1.5}),
        (
            threads,
            "threads_active",
            {"color": THREADS.color, "lw": 1.5}
            if shows_movers
            else {"color": style.INK, "lw": 1.0, "ls": LEVEL_LINE},
        ),
    ):
        stands = [begins.iloc[0], *ends]
        low, steps, high = ([of[column].iloc[0], *of[column]] for of in (least, middle, greatest))
        ax.plot(stands, steps, drawstyle="steps-pre", **look)
        if several:
            ax.fill_between(stands, low, high, step="pre", color=look["color"], **BAND)
        ax.set_ylim(0, 1.15 * max([*high, 2]))
        ax.yaxis.set_major_locator(MaxNLocator(nbins=4, integer=True, min_n_ticks=2))
    for ax in (rate, queues, threads):
        ax.set_xlim(0, ends.iloc[-1])
        places.tint(ax, rows)
        ax.tick_params(labelbottom=ax is threads)
    rate.set_ylim(0, 1.12 * greatest["throughput_sink"].max() or 1)
    rate.yaxis.set_major_formatter(style.rates())
    if failed.any():
        rate.text(
            0.03, 0.05, "failed", transform=rate.transAxes, fontsize=7, color=style.INK, zorder=6
        )


def figure(tables: Mapping[str, pd.DataFrame], title: str, kind: AdaptationStyle) -> Figure:
    """Return a figure with a row for each cell on a machine, a panel for each arm: all of its runs.
    Panels of a row share their axes, so that they can be compared.
    """
    table, timeline = tables["throughput"], tables["timeline"]
    lines = [
        (name, cell)
        for name, of in places.by_place(table)
        for _, cell in of.groupby("cell", sort=False)
    ]
    columns = max(len(cell) for _, cell in lines)
    with style.applied():
        drawing, grid = style.grid(len(lines), columns, PANEL_INCHES, 1.2, MIN_WIDTH)
        has_movers = False
        for number, (name, cell) in enumerate(lines):
            drawn, ended = [], 0.0
            for column, row in enumerate(queue_arms.in_order(cell)):
                inner = grid[number, column].subgridspec(3, 1, height_ratios=HEIGHTS, hspace=0.06)
                rate, queues, threads = axes = [drawing.add_subplot(part) for part in inner]
                rate.set_title(
                    "\n".join(filter(None, (name, kind.cell_name(row), _called(row, kind))))
                )
                threads.set_xlabel("time since the start [s]")
                if column == 0:
                    rate.set_ylabel("throughput at the\nsinks [tuples/s]")
                    queues.set_ylabel("ports with\na queue")
                    threads.set_ylabel("scheduler\nthreads")
                there = places.at(timeline, row)
                runs = there[there["arm"] == row["arm"]]
                if runs.empty:
                    style.say_no_samples(rate)
                    continue
                draw(*axes, runs, queue_arms.look(row).color, kind)
                drawn.append(axes)
                has_movers |= _has_movers(runs, kind)
                ended = max(ended, last_move_s(runs))
            for together in zip(*drawn, strict=True):
                _on_one_scale(list(together))
            if kind.shows_movers:
                _end_after_the_last_move(drawn, ended)
        style.title_with_legend(
            drawing, title, [*_legend(table, kind, has_movers), *places.legend(table)]
        )
        provenance.stamp(
            drawing,
            table,
            provenance.Runs(
                "lines: the median run of each period; bands: from the least to the greatest"
            ),
        )
    return drawing


def moves(periods: pd.DataFrame) -> list[tuple[Mover, float]]:
    """Return for each period of a run but the first the elasticity that changed before it, and by
    how much throughput changed [tuples/s].
    """
    changes = periods[["throughput_sink", "queued_ports", "threads_active"]].diff().iloc[1:]
    found = []
    for rate, queues, threads in changes.itertuples(index=False):
        mover = (
            BOTH if queues and threads else QUEUES if queues else THREADS if threads else NEITHER
        )
        found.append((mover, float(rate)))
    return found


def _draw_moves(ax: Axes, centres: np.ndarray, periods: pd.DataFrame) -> None:
    """Draw throughput with each stretch in the colour of the elasticity that changed before it, and
    write the sum of the changes of each.
    """
    rates, changes = periods["throughput_sink"].to_numpy(float), moves(periods)
    for number, (mover, _) in enumerate(changes):
        ends = slice(number, number + 2)
        ax.plot(
            centres[ends],
            rates[ends],
            color=mover.color,
            lw=mover.width,
            solid_capstyle="round",
            zorder=5 if mover is not NEITHER else 4,
        )
    ax.plot(centres, rates, ls="", marker=".", markersize=2.5, color=style.INK, zorder=6)
    lines = [
        (f"{mover.name}: {'−' if total < 0 else '+'}{style.rate(abs(total))}", mover.color)
        for mover in (THREADS, QUEUES, BOTH, NEITHER)
        if any(each is mover for each, _ in changes)
        for total in [round(sum(change for each, change in changes if each is mover))]
    ]
    for number, (text, color) in enumerate(reversed(lines)):
        ax.annotate(
            text,
            (0.98, 0.04),
            xycoords="axes fraction",
            xytext=(0, 9 * number),
            textcoords="offset points",
            ha="right",
            va="bottom",
            fontsize=7,
            color=color,
            path_effects=settled.TEXT_HALO,
            zorder=7,
        )


def _called(row: pd.Series, kind: AdaptationStyle) -> str:
    """Return an arm's name; where colours do not say which law it has, our law is named too."""
    is_ours = kind.shows_movers and row["arm"] == queue_arms.MULTILEVEL
    return f"{queue_arms.MULTILEVEL} ({queue_arms.OURS})" if is_ours else queue_arms.called(row)


def _correct(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of runs that did not fail; all rows if all runs failed."""
    failed = rows["failed"].astype(bool)
    return rows if failed.all() else rows[~failed]


def _has_movers(rows: pd.DataFrame, kind: AdaptationStyle) -> bool:
    """Return True if an arm's line has the colours of what changed: it is that of one run."""
    return kind.shows_movers and _correct(rows)["run_id"].nunique() == 1


def _law(row: pd.Series) -> str:
    """Return the label of a colour: `multilevel, law middleware19`; the model's name for other
    models.
    """
    return (
        f"{row['model']}, law {row['law']}"
        if row["elastic"] or row["model"] == queue_arms.MULTILEVEL
        else row["model"]
    )


def _over_runs(rows: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Return for each period, counted from the start of its run: the median, the least and the
    greatest over the runs that have it.
    """
    period = rows.groupby("run_id", sort=False).cumcount()
    columns = ["time_s", "elapsed_s", "throughput_sink", "queued_ports", "threads_active"]
    of_period = rows[columns].astype(float).groupby(period.to_numpy())
    return of_period.median(), of_period.min(), of_period.max()


def _median_bursts(rows: pd.DataFrame, kind: AdaptationStyle) -> Iterator[Burst]:
    """Yield the stretches to be shaded: the first ones of all runs, the second ones and so on, each
    in the median.
    """
    if kind.bursts is None:
        return
    of_runs = [list(kind.bursts(run)) for _, run in rows.groupby("run_id", sort=False)]
    for number in range(max(map(len, of_runs), default=0)):
        those = [bursts[number] for bursts in of_runs if number < len(bursts)]
        yield Burst(
            median(burst.begin_s for burst in those), median(burst.end_s for burst in those)
        )


def last_move_s(rows: pd.DataFrame) -> float:
    """Return the time at which the last change of threads or queues of any run was made [s]."""
    ends = [0.0]
    for _, run in rows.groupby("run_id", sort=False):
        run = run.sort_values("time_s")
        moved = run[["queued_ports", "threads_active"]].diff().iloc[1:].any(axis=1)
        ends += list(run["time_s"].shift().iloc[1:][moved.to_numpy()])
    return float(max(ends))


def _end_after_the_last_move(drawn: list[list[Axes]], ended: float) -> None:
    """End the axes of a row at twice the time of its last change, if runs go on for longer."""
    for axes in drawn:
        for ax in axes:
            ax.set_xlim(0, min(ax.get_xlim()[1], END_FACTOR * ended or ax.get_xlim()[1]))


def _on_one_scale(axes: list[Axes]) -> None:
    for ax in axes:
        ax.set_xlim(0, max(each.get_xlim()[1] for each in axes))
        ax.set_ylim(0, max(each.get_ylim()[1] for each in axes))


def _legend(table: pd.DataFrame, kind: AdaptationStyle, has_movers: bool) -> list[Artist]:
    """Return the legend: throughput above and queues below have their law's colour; threads are
    dashed, for all laws alike. `has_movers`: a panel has the colours of movers instead.
    """
    if has_movers:
        handles = [
            style.key(f"throughput after a change of {each.name}", each.color, lw=each.width)
            for each in (THREADS, QUEUES, BOTH, NEITHER)
        ]
        return [*handles, style.key(ls="", label="numbers: sums of these changes [tuples/s]")]
    names = {queue_arms.look(row).color: _law(row) for row in queue_arms.in_order(table)}
    handles: list[Artist] = [
        style.key(color=color, marker=".", label=name) for color, name in names.items()
    ]
    handles.append(style.key(lw=1.0, ls=LEVEL_LINE, label="scheduler threads"))
    if kind.bursts:
        handles.append(Patch(facecolor=BURST, label=kind.bursts_label))
    return handles
