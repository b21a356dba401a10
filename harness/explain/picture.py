"""Stacked bars of where the time went: of each thread, of each operator, and of whole runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import PercentFormatter

from harness.explain.explanation import RunExplanation
from harness.explain.shares import CATEGORIES, Times
from harness.plots import style

COLORS = {
    "work": "#009e73",
    "source": "#56b4e9",
    "queues": "#e69f00",
    "looking": "#f0e442",
    "no tuples": "#d9d9d9",
    "no room": "#cc79a7",
    "locks": "#d55e00",
    "idle": "#f2f2f2",
    "no CPU": "#8c6d31",
    "stolen": "#222222",
}
"""Colour of each category: those of Okabe and Ito, and greys for what takes no CPU."""

MOST_BARS = 24  # of a kind; a figure with more cannot be read
BAR_INCHES = 0.28
LONGEST_NAME = 32  # characters


def draw(explained: Sequence[RunExplanation], paths: Sequence[Path]) -> None:
    """Draw each run by thread and by operator, and write the figure to all paths.

    Raises RunFailed if a file cannot be written.
    """
    with style.applied():
        style.save(_figure(explained), list(paths))


def _figure(explained: Sequence[RunExplanation]) -> Figure:
    panels = [(run, *panel) for run in explained for panel in _panels(run)]
    heights = [BAR_INCHES * (len(bars) + 3) for _, _, bars in panels]
    sentences = sum(len(run.sentences) for run in explained)
    figure = Figure(figsize=(9.0, sum(heights) + 0.7 + 0.18 * sentences))
    axes = figure.subplots(len(panels), 1, height_ratios=heights, squeeze=False)[:, 0]
    for place, (run, heading, bars) in zip(axes, panels, strict=True):
        _bars(place, bars)
        place.set_title(heading, loc="left")
        if run.simulated:
            place.set_facecolor(style.SIMULATED)
    shown = [
        name
        for name in CATEGORIES
        if any(bar[name] > 0.0 for _, _, bars in panels for _, bar in bars)
    ]
    figure.legend(
        handles=[Patch(facecolor=COLORS[name], edgecolor=style.FAINT) for name in shown],
        labels=shown,
        loc="outside upper center",
        ncols=min(len(shown), 6),
    )
    figure.supxlabel("\n".join(line for run in explained for line in _words(run)), fontsize=8)
    return figure


def _panels(run: RunExplanation) -> list[tuple[str, list[tuple[str, Times]]]]:
    threads = [(thread.name, thread.shares) for thread in run.threads[:MOST_BARS]]
    ranked = sorted(run.operators, key=lambda each: -sum(each.shares.values()))
    operators = [(each.name, each.shares) for each in ranked[:MOST_BARS]]
    return [
        (f"{run.title}: time of each thread", [*threads, ("all threads", run.shares)]),
        ("time of all threads, by operator", operators),
    ]


def _bars(place: Axes, bars: Sequence[tuple[str, Times]]) -> None:
    names = [_shortened(name) for name, _ in bars]
    left = [0.0] * len(bars)
    for category, color in COLORS.items():
        widths = [shares[category] for _, shares in bars]
        place.barh(
            range(len(bars)), widths, left=left, color=color, edgecolor=style.FAINT, linewidth=0.4
        )
        left = [start + width for start, width in zip(left, widths, strict=True)]
    place.set_yticks(range(len(bars)), names)
    place.invert_yaxis()
    place.grid(visible=False, axis="y")
    place.set_xlim(0.0, max(1.0 if "all threads" in names else max(left, default=1.0), 1e-3))
    place.xaxis.set_major_formatter(PercentFormatter(1.0, decimals=None))


def _words(run: RunExplanation) -> list[str]:
    label = "SIMULATED: " if run.simulated else ""
    return [f"{label}{sentence}" for sentence in run.sentences]


def _shortened(name: str) -> str:
    return name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…"
