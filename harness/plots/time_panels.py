"""Throughput and level over time, a panel for each run: the form of P17 Figure 11 and of the
figures of ElasticLoadBalance.

A misreading to avoid: throughput is a mean over each period and drawn at the period's middle, while
the level is that of the whole period; a law that tries a level and takes it back shows as one step
up and one down, with one point between. If a level goes to and fro too often for lines, each period
is a dot and a tick.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, islice

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from harness.experiments.load_changes import Burst, expensive_bursts, silences
from harness.plots import places, provenance, schedulers, style, thread_panels
from harness.plots.thread_panels import ELASTIC, by_cost, cell_name

PANEL_INCHES = (3.6, 2.2)
CELLS_PER_ROW = 2  # if each has one run
MIN_WIDTH = 7.0  # inches; the title needs them
LEVEL_LINE = (0, (4, 1))
MAX_SWINGS = 60  # more lines to and fro would be a block of colour
BURST = "#e9eef7"  # behind the lines, light enough for the grid to show


@dataclass(frozen=True)
class TimeStyle:
    """Columns and labels of a figure of this form."""

    throughput: str  # column [tuples/s]
    throughput_label: str
    level: str  # column
    level_label: str
    model: str = ELASTIC  # the throughput has its colour
    bursts: Callable[[pd.DataFrame], Iterator[Burst]] | None = None  # from the rows of a run
    bursts_label: str = ""
    names_buffers: bool = False  # True if titles give the capacity of a buffer, in tuples
    compared: str = ""  # parameter that differs between cells of one cost, for titles
    compared_unit: str = ""


THREADS = TimeStyle(
    throughput="throughput_submitted",
    throughput_label="throughput, all operators",
    level="threads_active",
    level_label="active threads",
)
# Manual model: every thread that executes operators is the balancer's.
PORTS = TimeStyle(
    throughput="throughput_sink",
    throughput_label="throughput at the sink",
    level="active_ports",
    level_label="active output ports",
    model="manual",
    names_buffers=True,
)
SHADED = {"expensive tuples": expensive_bursts, "silence": silences}
"""Stretches of a run that can be shaded, by what they are called."""


def threads(tables: Mapping[str, pd.DataFrame], title: str, assumed: str = "") -> Figure:
    """Return throughput and active threads over time; `assumed`: what the paper does not give."""
    notes = schedulers.notes(tables["throughput"], assumed) if assumed else ()
    return figure(tables, title, THREADS, notes=notes)


def ports(
    tables: Mapping[str, pd.DataFrame],
    title: str,
    shaded: str = "",
    cells_across: bool = False,
    compared: str = "",
    compared_unit: str = "",
) -> Figure:
    """Return throughput and active output ports of a balancer over time; `shaded`: of `SHADED`;
    `compared`: a parameter that differs between cells of one cost.
    """
    kind = replace(
        PORTS,
        bursts=SHADED.get(shaded),
        bursts_label=shaded,
        compared=compared,
        compared_unit=compared_unit,
    )
    return figure(tables, title, kind, cells_across=cells_across)


def draw(ax: Axes, rows: pd.DataFrame, kind: TimeStyle) -> Axes:
    """Draw one run: throughput as a line against the left axis, the level as steps against the
    right one, which is returned.

    `rows` are those of the timeline table, one for each period. A dotted line marks the start of
    the measured window.
    """
    rows = rows.sort_values("time_s")
    ends, begins = rows["time_s"], rows["time_s"] - rows["elapsed_s"]
    for burst in kind.bursts(rows) if kind.bursts else ():
        ax.axvspan(
            max(burst.begin_s, 0.0), min(burst.end_s, ends.iloc[-1]), color=BURST, lw=0, zorder=0
        )
    middles, levels, color = (begins + ends) / 2, rows[kind.level], style.of_model(kind.model).color
    right = ax.twinx()
    if _swings(levels) > MAX_SWINGS:
        ax.plot(
            middles, rows[kind.throughput], color=color, marker=".", markersize=3, ls="", zorder=4
        )
        right.plot(middles, levels, color=style.INK, marker="|", markersize=3, mew=0.5, ls="")
    else:
        ax.plot(
            middles, rows[kind.throughput], color=color, marker=".", markersize=3, lw=1.3, zorder=4
        )
        steps = [levels.iloc[0], *levels]
        right.plot(
            [begins.iloc[0], *ends],
            steps,
            drawstyle="steps-pre",
            color=style.INK,
            lw=1.1,
            ls=LEVEL_LINE,
        )
    measured = rows[rows["phase"] == "measured"]
    if 0 < len(measured) < len(rows):
        ax.axvline(begins[measured.index[0]], color=style.FAINT, ls=":", lw=1, zorder=1)
    places.tint(ax, rows)
    ax.set_xlim(0, ends.iloc[-1])
    ax.set_ylim(0, 1.12 * rows[kind.throughput].max() or 1)
    ax.yaxis.set_major_formatter(style.rates())
    right.set_ylim(0, 1.12 * max(rows[kind.level].max(), 2))  # a level of 1 is not at the top
    right.yaxis.set_major_locator(MaxNLocator(nbins=5, integer=True, min_n_ticks=2))
    right.grid(False)
    right.spines["right"].set_visible(True)
    if rows["failed"].astype(bool).any():
        ax.text(0.03, 0.05, "failed", transform=ax.transAxes, fontsize=7, color=style.INK, zorder=6)
    return right


def figure(
    tables: Mapping[str, pd.DataFrame],
    title: str,
    kind: TimeStyle,
    *,
    cells_across: bool = False,
    notes: Sequence[Artist] = (),
) -> Figure:
    """Return a figure with a row of panels for each cell and machine, a panel for each run; cells
    of one run each are side by side, `CELLS_PER_ROW` in a row. With `cells_across` a column for
    each cell, and rows for machines, one for each run. The tables hold rows of one experiment.
    `notes` end the legend.
    """
    timeline, throughput = tables["timeline"], tables["throughput"]
    named = [
        (called, cell)
        for called, rows in places.rows_by_topology(throughput)
        for cell in by_cost(rows)
    ]
    if kind.compared:
        named.sort(key=lambda each: (each[0], each[1]["cost"].iloc[0], _compared(each[1], kind)))
    cells = [cell for _, cell in named]
    runs = [_runs(places.at(timeline, cell.iloc[0])) for cell in cells]
    most = max(1, *map(len, runs))
    machines = [len(list(of_machine)) for _, of_machine in groupby(called for called, _ in named)]
    left = iter(runs)
    rows_of = [max(1, *map(len, islice(left, count))) for count in machines]
    if cells_across:
        down, across = sum(rows_of), max(machines)
    elif most == 1:
        across = min(CELLS_PER_ROW, len(cells))
        down = math.ceil(len(cells) / across)
    else:
        down, across = len(cells), most
    width, height = PANEL_INCHES
    with style.applied():
        drawing = style.plt.figure(
            figsize=(max(width * across + 0.4, MIN_WIDTH), height * down + 1.2)
        )
        axes = drawing.subplots(down, across, squeeze=False)
        blocks = (
            [block.T for block in np.split(axes, np.cumsum(rows_of)[:-1])]
            if cells_across
            else [axes.reshape(-1, most)]
        )
        taken = machines if cells_across else [len(cells)]
        lines = [line for block, count in zip(blocks, taken, strict=True) for line in block[:count]]
        for block, count in zip(blocks, taken, strict=True):
            for ax in block[count:].flat:
                ax.set_axis_off()
        for (called, cell), of_cell, line in zip(named, runs, lines, strict=False):
            made = max(1, _made(cell, of_cell))
            buffers = (
                f", buffers of {style.whole(cell['queue_capacity'].max())}"
                if kind.names_buffers
                else ""
            )
            if kind.compared and not math.isnan(value := _compared(cell, kind)):
                buffers += f", {kind.compared} {style.whole(value)} {kind.compared_unit}"
            for number, ax in enumerate(line):
                several = len(line) > 1
                lost = f", run {number + 1}" if several else ""
                which = _called(of_cell[number], several) if number < len(of_cell) else lost
                ax.set_title(
                    "\n".join(filter(None, (called, cell_name(cell.iloc[0]) + buffers + which)))
                )
                if number >= made:
                    ax.set_axis_off()
                    ax.set_title("")
                elif number >= len(of_cell):
                    _leave_out(ax)
            drawn = list(line[: len(of_cell)])
            rights = [draw(ax, run, kind) for ax, run in zip(drawn, of_cell, strict=True)]
            for each in (drawn, rights):
                _on_one_scale(each)
            for right in rights if cells_across else rights[-1:]:
                right.set_ylabel(kind.level_label)
        for ax in axes[:, 0]:
            ax.set_ylabel(f"{kind.throughput_label}\n[tuples/s]")
        for column in axes.T:
            [ax for ax in column if ax.axison][-1].set_xlabel("time since the start [s]")
        style.title_with_legend(
            drawing, title, [*_legend(kind, runs), *places.legend(throughput), *notes]
        )
        provenance.stamp(drawing, throughput, None)
    return drawing


def _compared(cell: pd.DataFrame, kind: TimeStyle) -> float:
    """Return the value of the parameter in which cells of one cost differ; NaN if it has none."""
    found = re.search(rf",{kind.compared}=([0-9.]+)", cell["cell"].iloc[0])
    return float(found[1]) if found else math.nan


def _swings(levels: pd.Series) -> int:
    """Return the number of times that the level changes direction."""
    moves = levels.diff().iloc[1:]
    moves = moves[moves != 0]
    return int((moves * moves.shift() < 0).sum())


def _runs(rows: pd.DataFrame) -> list[pd.DataFrame]:
    """Return the rows of each run, arm by arm in the order of the repeats."""
    return [run for _, run in rows.groupby(["arm", "repeat", "run_id"])]


def _made(cell: pd.DataFrame, runs: list[pd.DataFrame]) -> int:
    """Return the number of runs of the arms that are shown, with those that left no samples."""
    shown = cell["arm"].isin([run["arm"].iloc[0] for run in runs]) | (cell["failed"] > 0)
    return max(len(runs), sum(thread_panels.runs_of(row) for _, row in cell[shown].iterrows()))


def _called(run: pd.DataFrame, is_one_of_several: bool) -> str:
    """Return the label of a run within its cell: the law of its threads, and the run's number under
    that law.
    """
    law = run["law"].iloc[0]
    law = "" if pd.isna(law) else f", law {law}"
    return law + (f", run {int(run['repeat'].iloc[0]) + 1}" if is_one_of_several else "")


def _on_one_scale(axes: list[Axes]) -> None:
    """Set equal axes, because the runs of a cell are compared by eye."""
    for ax in axes:
        ax.set_xlim(0, max(each.get_xlim()[1] for each in axes))
        ax.set_ylim(0, max(each.get_ylim()[1] for each in axes))


def _leave_out(ax: Axes) -> None:
    style.say_no_samples(ax)
    ax.set_xticks([])
    ax.set_yticks([])
    ax.grid(False)


def _legend(kind: TimeStyle, runs: Sequence[Sequence[pd.DataFrame]]) -> list[Artist]:
    """Return the legend; dots and ticks have a key of their own if a run has them without lines."""
    handles: list[Artist] = [
        style.key(color=style.of_model(kind.model).color, marker=".", label="throughput"),
        style.key(lw=1.1, ls=LEVEL_LINE, label=kind.level_label),
    ]
    if any(_swings(run[kind.level]) > MAX_SWINGS for of_cell in runs for run in of_cell):
        label = f"{kind.level_label}, where they change too often for a line"
        handles.append(style.key(ls="", marker="|", label=label))
    if kind.bursts:
        handles.append(Patch(facecolor=BURST, label=kind.bursts_label))
    return handles
