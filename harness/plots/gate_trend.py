"""Trend of the gate's cells: what head measured, verdict after verdict, and where its level changed.

Draws   a panel a cell, a colour and marker a host: the median of head's processes with its 95 % interval against the time of
        the verdict; open: the control had failed or the results were wrong, so that it does not count; a line: the level
        between changes; a dashed line: a change, with its size; in the corner: the trend since the last one, if there is any

A misreading to avoid: the axis of values does not start at 0, so that a change of 2 % can be seen; what a change weighs is
written beside it. A line that joins no host to another says that they were not compared, not that they agree.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from harness.gate.history.text import percent, size_text
from harness.gate.history.trend import PER, Series
from harness.plots import provenance, style

TITLE = "What the gate measured, verdict after verdict"
PANEL_INCHES = (4.6, 2.7)
COLUMNS = 2
LOOKS = (
    ("#0072b2", "o"),
    ("#d55e00", "s"),
    ("#009e73", "^"),
    ("#cc79a7", "D"),
    ("#e69f00", "P"),
    ("#56b4e9", "v"),
)  # a host's colour and marker; the seventh looks like the first
JOINED_LOOK = (style.INK, "X")
CHANGE_LINE = (0, (4, 2))


def figure(series: Sequence[Series]) -> Figure:
    """The figure of at least one series (`history.trend.series_of`)."""
    looks = _looks(series)
    panels = _panels(series)
    columns = min(COLUMNS, len(panels))
    rows = -(-len(panels) // columns)
    with style.applied():
        drawing = style.plt.figure(figsize=(max(columns * PANEL_INCHES[0], 7.0), rows * PANEL_INCHES[1] + 1.1))
        axes = drawing.subplots(rows, columns, squeeze=False).flat
        several_suites = len({one.suite for one in series}) > 1
        for ax, shown in zip(axes, panels, strict=False):
            draw(ax, shown, looks)
            ax.set_title(_title(shown[0], several_suites))
        for ax in list(axes)[len(panels) :]:
            ax.set_visible(False)
        style.title_with_legend(drawing, TITLE, _legend(series, looks))
        provenance.foot(drawing, _sentence(series))
    return drawing


def draw(ax: Axes, series: Sequence[Series], looks: dict[str, tuple[str, str]]) -> None:
    """One cell: all its series, each with the look of its host."""
    for one in series:
        color, marker = looks[one.host]
        points(ax, one, color, marker)
        levels(ax, one, color)
    told = [f"{size_text(one.trend, one)} per {PER}" for one in series if one.trend not in (None, 1.0)]
    if told:
        ax.text(0.02, 0.03, "drifts: " + "; ".join(told), transform=ax.transAxes, fontsize=7.5, color=style.INK)
    locator = AutoDateLocator(minticks=3, maxticks=6)
    ax.xaxis.set_major_locator(locator)
    ax.xaxis.set_major_formatter(ConciseDateFormatter(locator))
    ax.margins(x=0.04, y=0.22)  # room above for the sizes of changes
    ax.set_ylabel(f"{series[0].metric} [{series[0].unit}]")


def points(ax: Axes, one: Series, color: str, marker: str) -> None:
    """A marker a result that has a number, with the interval of head's median; open where it does not count."""
    known = one.rows[one.rows["head_median"].notna()]
    counted = known.index.isin(one.counted.index)
    for rows, fill in ((known[counted], color), (known[~counted], "white")):
        if rows.empty:
            continue
        median, low, high = rows[["head_median", "head_low", "head_high"]].to_numpy(float).T
        ax.errorbar(
            rows["started_at"].to_numpy(),
            median,
            yerr=(median - low, high - median),
            ls="",
            marker=marker,
            markersize=4,
            color=color,
            markerfacecolor=fill,
            elinewidth=0.8,
            capsize=1.5,
        )


def levels(ax: Axes, one: Series, color: str) -> None:
    """The level of each stretch between changes, and each change as a dashed line between the two results beside it."""
    times, values = one.counted["started_at"], one.counted["head_median"]
    ends = [0, *(change.point.index for change in one.changes), len(values)]
    for begin, end in pairwise(ends):
        if end - begin > 1:
            ax.plot(times.iloc[[begin, end - 1]], [values.iloc[begin:end].median()] * 2, color=color, lw=1.2, zorder=1)
    for change in one.changes:
        earlier, later = change.before["started_at"], change.after["started_at"]
        middle = earlier + (later - earlier) / 2
        ax.axvline(middle, color=color, lw=1.0, ls=CHANGE_LINE, zorder=1)
        told = f"{percent(change.point.ratio)}{' worse' if change.worse else ''}" + (
            "\nother host" if change.another_host else ""
        )
        where = {"xy": (middle, 1), "xycoords": ("data", "axes fraction"), "xytext": (3, -2), "textcoords": "offset points"}
        ax.annotate(told, **where, ha="left", va="top", fontsize=7.5, color=color)


def _looks(series: Sequence[Series]) -> dict[str, tuple[str, str]]:
    """Looks by host, in a fixed order, so that a host looks the same in every panel."""
    hosts = sorted({one.host for one in series if not one.joined})
    looks = {host: LOOKS[place % len(LOOKS)] for place, host in enumerate(hosts)}
    return looks | {one.host: JOINED_LOOK for one in series if one.joined}


def _panels(series: Sequence[Series]) -> list[list[Series]]:
    """The series of each cell; two metrics of one cell are two panels, since they are no axis of each other."""
    panels: dict[tuple[str, ...], list[Series]] = {}
    for one in series:
        panels.setdefault((one.suite, one.cell, one.metric, one.unit), []).append(one)
    return list(panels.values())


def _title(one: Series, several_suites: bool) -> str:
    name = f"{one.suite}: {one.cell}" if several_suites else one.cell
    arrow = "lower is better" if one.lower_is_better else "higher is better"
    return f"{name} ({arrow}{'; ' + one.host if one.joined else ''})"


def _legend(series: Sequence[Series], looks: dict[str, tuple[str, str]]) -> list[Artist]:
    handles: list[Artist] = [
        Line2D([], [], color=color, marker=marker, markersize=4, lw=1.2, label=host) for host, (color, marker) in looks.items()
    ]
    if any(len(one.counted) < one.rows["head_median"].notna().sum() for one in series):
        handles.append(Line2D([], [], color=style.INK, ls="", marker="o", markerfacecolor="white", label="does not count"))
    if any(one.changes for one in series):
        handles.append(Line2D([], [], color=style.INK, lw=1.0, ls=CHANGE_LINE, label="change of level"))
    return handles


def _sentence(series: Sequence[Series]) -> str:
    """The foot: what a marker is, how many, and what was joined."""
    samples = sorted({int(count) for one in series for count in one.rows["head_samples"] if count})
    spread = f"{samples[0]} to {samples[-1]}" if len(samples) > 1 else f"{samples[0]}" if samples else "0"
    verdicts = len({identity for one in series for identity in one.rows["verdict_id"]})
    joined = sorted({host for one in series if one.joined for host in one.hosts})
    warning = f"HOSTS JOINED, whose numbers differ for other reasons too: {'; '.join(joined)}. " if joined else ""
    return (
        f"{warning}Markers: median of head over {spread} fresh processes, with its 95 % interval; {verdicts} verdicts. Lines: "
        "median between changes of level (ranks, PELT, Mann-Whitney at 0.01 shared among the results). Axes do not start at 0."
    )
