"""Stacked bars of where the time went: of each thread, of each operator, and of whole runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from matplotlib.figure import Figure

from harness.explain.explanation import RunExplanation
from harness.explain.shares import Times
from harness.plots import style
from harness.plots.time_bars import draw_time_bars, key_of_time

MOST_BARS = 24  # of a kind; a figure with more cannot be read
BAR_INCHES = 0.28
ALL_THREADS = "all threads"


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
        draw_time_bars(place, bars, 1.0 if bars[-1][0] == ALL_THREADS else 0.0)
        place.set_title(heading, loc="left")
        if run.simulated:
            place.set_facecolor(style.SIMULATED)
    keys = key_of_time([bar for _, _, bars in panels for bar in bars])
    figure.legend(handles=keys, loc="outside upper center", ncols=min(len(keys), 6))
    figure.supxlabel("\n".join(line for run in explained for line in _words(run)), fontsize=8)
    return figure


def _panels(run: RunExplanation) -> list[tuple[str, list[tuple[str, Times]]]]:
    threads = [(thread.name, thread.shares) for thread in run.threads[:MOST_BARS]]
    ranked = sorted(run.operators, key=lambda each: -sum(each.shares.values()))
    operators = [(each.name, each.shares) for each in ranked[:MOST_BARS]]
    return [
        (f"{run.title}: time of each thread", [*threads, (ALL_THREADS, run.shares)]),
        ("time of all threads, by operator", operators),
    ]


def _words(run: RunExplanation) -> list[str]:
    label = "SIMULATED: " if run.simulated else ""
    return [f"{label}{sentence}" for sentence in run.sentences]
