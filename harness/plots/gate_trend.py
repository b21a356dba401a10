"""Trend of the gate's cells: the measurements of head, verdict after verdict, and the changes of
their level.

Draws   a panel for each cell, a colour and marker for each host: the median of head's processes
        with its 95 % interval against the time of the verdict; open marker: the control had
        failed or the results were wrong, so that it does not count; line: the level between
        changes; dashed line: a change, with its size; in the corner: the trend since the last
        change, if there is any

A misreading to avoid: the axis of values does not start at 0, so that a change of 2 % is visible;
the size of a change is written beside it. If no line joins two hosts, they were not compared; it
does not mean that they agree.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
from matplotlib.figure import Figure

from harness.gate.history.text import size_text, warnings
from harness.gate.history.trend import RESULTS_PER_TREND, CellHistory
from harness.plots import provenance, style

TITLE = "What the gate measured, verdict after verdict"
PANEL_INCHES = (4.6, 2.7)
COLUMNS = 2
# colour and marker of each host; the seventh looks like the first
LOOKS = (
    ("#0072b2", "o"),
    ("#d55e00", "s"),
    ("#009e73", "^"),
    ("#cc79a7", "D"),
    ("#e69f00", "P"),
    ("#56b4e9", "v"),
)
LINE_POINTS = 10  # from one line of text to the next
MANY_VALUE = 10_000  # values from here on are written as 10 k
CHANGE_LINE = (0, (4, 2))


def figure(series: Sequence[CellHistory]) -> Figure:
    """Return the figure of at least one series (`history.trend.series_of`)."""
    looks = _looks(series)
    panels = _panels(series)
    columns = min(COLUMNS, len(panels))
    rows = -(-len(panels) // columns)
    with style.applied():
        drawing = style.plt.figure(
            figsize=(max(columns * PANEL_INCHES[0], 7.0), rows * PANEL_INCHES[1] + 1.1)
        )
        axes = list(drawing.subplots(rows, columns, squeeze=False).flat)
        several_suites = len({one.suite for one in series}) > 1
        for ax, shown in zip(axes, panels, strict=False):
            draw(ax, shown, looks)
            ax.set_title(_title(shown[0], several_suites))
        for ax in axes[len(panels) :]:
            ax.set_visible(False)
        style.title_with_legend(drawing, TITLE, _legend(series, looks))
        provenance.foot(drawing, _sentence(series))
    return drawing


def draw(ax: Axes, series: Sequence[CellHistory], looks: dict[str, tuple[str, str]]) -> None:
    """Draw one cell: all its series, each in the style of its host."""
    for line, one in enumerate(series):
        color = style.INK if one.joined else looks[one.host][0]
        points(ax, one, looks)
        levels(ax, one, color)
        sizes(ax, one, color, line)
        if one.trend not in (None, 1.0):
            _write(
                ax,
                (0.02, 0.03),
                f"drifts by {size_text(one.trend, one)}, in {RESULTS_PER_TREND} results",
                color,
                line * LINE_POINTS,
            )
    if max(one.rows["head_median"].max() for one in series) >= MANY_VALUE:
        ax.yaxis.set_major_formatter(style.rates())
    locator = AutoDateLocator(minticks=3, maxticks=6)
    ax.xaxis.set_major_locator(locator)
    ax.xaxis.set_major_formatter(ConciseDateFormatter(locator))
    ax.margins(x=0.04, y=0.22)  # room above for the sizes of changes
    ax.set_ylabel(f"{series[0].metric} [{series[0].unit}]")


def points(ax: Axes, one: CellHistory, looks: dict[str, tuple[str, str]]) -> None:
    """Draw a marker for each result that has a number, with the interval of head's median; open if
    it does not count.
    """
    known = one.rows[one.rows["head_median"].notna()]
    for (host, counts), rows in known.groupby(["host_key", known.index.isin(one.counted.index)]):
        color, marker = looks[host]
        median, low, high = rows[["head_median", "head_low", "head_high"]].to_numpy(float).T
        ax.errorbar(
            rows["started_at"].to_numpy(),
            median,
            yerr=(median - low, high - median),
            ls="",
            marker=marker,
            markersize=4,
            color=color,
            markerfacecolor=color if counts else "white",
            elinewidth=0.8,
            capsize=1.5,
        )


def levels(ax: Axes, one: CellHistory, color: str) -> None:
    """Draw the level of each stretch between changes."""
    times, values = one.counted["started_at"], one.counted["head_median"]
    ends = [0, *(change.point.index for change in one.changes), len(values)]
    for begin, end in pairwise(ends):
        if end - begin > 1:
            ax.plot(
                times.iloc[[begin, end - 1]],
                [values.iloc[begin:end].median()] * 2,
                color=color,
                lw=1.2,
                zorder=1,
            )


def sizes(ax: Axes, one: CellHistory, color: str, line: int) -> None:
    """Draw each change as a dashed line between the two results beside it, with its size, in text
    line number `line`.
    """
    for change in one.changes:
        earlier, later = change.before["started_at"], change.after["started_at"]
        middle = earlier + (later - earlier) / 2
        ax.axvline(middle, color=color, lw=1.0, ls=CHANGE_LINE, zorder=1)
        text = size_text(change.point.ratio, one) + (
            "; ANOTHER HOST" if change.another_host else ""
        )
        _write(
            ax,
            (middle, 0.93),
            text,
            color,
            -line * LINE_POINTS,
            coordinates=("data", "axes fraction"),
        )


def _write(
    ax: Axes,
    place: tuple[Any, float],
    text: str,
    color: str,
    up: float,
    coordinates: str | tuple[str, str] = "axes fraction",
) -> None:
    """Write a small text right of a place, `up` points above it."""
    where = {"xycoords": coordinates, "xytext": (3, up), "textcoords": "offset points"}
    ax.annotate(text, place, **where, fontsize=7.5, color=color, zorder=5)


def _looks(series: Sequence[CellHistory]) -> dict[str, tuple[str, str]]:
    """Return styles by host, in a fixed order, so that a host looks equal in every panel."""
    hosts = sorted({host for one in series for host in one.hosts})
    return {host: LOOKS[place % len(LOOKS)] for place, host in enumerate(hosts)}


def _panels(series: Sequence[CellHistory]) -> list[list[CellHistory]]:
    """Return the series of each cell; two metrics of one cell are two panels, since they cannot
    share an axis.
    """
    panels: dict[tuple[str, ...], list[CellHistory]] = {}
    for one in series:
        panels.setdefault((one.suite, one.cell, one.metric, one.unit), []).append(one)
    return list(panels.values())


def _title(one: CellHistory, several_suites: bool) -> str:
    name = f"{one.suite}: {one.cell}" if several_suites else one.cell
    arrow = "lower is better" if one.lower_is_better else "higher is better"
    return f"{name} ({arrow}{'; ' + one.host if one.joined else ''})"


def _legend(series: Sequence[CellHistory], looks: dict[str, tuple[str, str]]) -> list[Artist]:
    handles: list[Artist] = [
        style.key(color=color, marker=marker, markersize=4, lw=1.2, label=host)
        for host, (color, marker) in looks.items()
    ]
    if any(one.joined for one in series):
        handles.append(style.key(lw=1.2, label="HOSTS JOINED"))
    if any(len(one.counted) < one.rows["head_median"].notna().sum() for one in series):
        handles.append(
            style.key(ls="", marker="o", markerfacecolor="white", label="does not count")
        )
    if any(one.changes for one in series):
        handles.append(style.key(lw=1.0, ls=CHANGE_LINE, label="change of level"))
    return handles


def _sentence(series: Sequence[CellHistory]) -> str:
    """Return the text at the foot: warnings about hosts, the meaning of a marker, and the number of
    verdicts.
    """
    samples = sorted({int(count) for one in series for count in one.rows["head_samples"] if count})
    spread = (
        f"{samples[0]} to {samples[-1]}"
        if len(samples) > 1
        else f"{samples[0]}"
        if samples
        else "0"
    )
    verdicts = len({identity for one in series for identity in one.rows["verdict_id"]})
    cautions = "".join(f"{warning}. " for warning in warnings(series))
    return (
        f"{cautions}Markers: median of head over {spread} fresh processes, with its 95 % interval; "
        f"{verdicts} verdicts. Lines: "
        "median between changes of level (ranks, PELT, Mann-Whitney at 0.01 shared among the "
        "results). Axes do not start at 0."
    )
