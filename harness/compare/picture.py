"""Picture of comparisons: for each arm its ratio to the best with the interval, as PNG, and as a
page that needs no network.
"""

from __future__ import annotations

import html
import io
import math
from collections.abc import Sequence

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from harness.compare.contest import By, Contest
from harness.compare.report import heading, in_order, notes, sentence, table_of
from harness.explain import explain
from harness.explain.page import BARS_STYLE, bars, key
from harness.plots import style

PANEL_WIDTH, ROW_HEIGHT, MARGIN = 6.4, 0.34, 1.0  # inches
MOST_COLUMNS = 3

STYLE = """\
body { font: 15px/1.5 system-ui, sans-serif; max-width: 70rem; margin: 2rem auto; padding: 0 1rem;
       color: #222; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: 0.2rem 0.8rem; text-align: right; border-bottom: 1px solid #ddd; }
th:first-child, td:first-child { text-align: left; }
.found { font-size: 1.15rem; font-weight: 600; } .scroll { overflow-x: auto; }
.simulated { background: #fdf8e4; } svg { max-width: 100%; height: auto; }
"""


def figure_of_contests(contests: Sequence[Contest]) -> Figure:
    """Return the figure: one panel for each comparison."""
    columns = min(len(contests), MOST_COLUMNS)
    rows = -(-len(contests) // columns)
    arms = max(len(contest.contenders) for contest in contests)
    with style.applied():
        size = (PANEL_WIDTH * columns, (ROW_HEIGHT * arms + MARGIN) * rows)
        figure, panels = plt.subplots(rows, columns, figsize=size, squeeze=False)
        for axes, contest in zip(panels.flat, contests, strict=False):
            _draw(axes, contest)
        for axes in list(panels.flat)[len(contests) :]:
            axes.set_visible(False)
    return figure


def _draw(axes: Axes, contest: Contest) -> None:
    arms = [arm for arm in in_order(contest) if not arm.is_out]
    for place, arm in enumerate(arms):
        ratio = contest.to_best(arm)
        color = style.of_model(arm.run.model.name).color
        if math.isnan(ratio.estimate):
            continue
        axes.barh(place, ratio.estimate, color=color, height=0.6)
        if ratio.low > 0.0 and ratio.high < math.inf and ratio.low < ratio.high:
            # a later estimate may lie outside the interval, which never widens
            axes.plot([ratio.low, ratio.high], [place, place], color=style.INK, linewidth=1.2)
        said = axes.annotate(
            f" {ratio.estimate:.2f}",
            (0.0, place),
            va="center",
            color="white" if ratio.estimate > 0.12 else style.INK,
        )
        said.set_fontweight("bold")
    axes.set_yticks(range(len(arms)), [arm.name for arm in arms])
    axes.invert_yaxis()
    axes.set_xlim(left=0.0)
    axes.axvline(1.0, color=style.FAINT, linewidth=0.8, linestyle=(0, (4, 3)))
    what = "99 % latency, best / arm" if contest.by is By.LATENCY else "throughput, arm / best"
    axes.set_xlabel(f"{what}, with its interval")
    axes.set_title(heading(contest), loc="left")
    axes.grid(False, axis="y")
    if contest.simulated:
        axes.set_facecolor(style.SIMULATED)


def page_of(contests: Sequence[Contest]) -> str:
    """Return the page: each sentence with its table, above the figure."""
    found = "\n".join(map(_section, contests))
    title = html.escape(contests[0].title)
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{title} compared</title>'
        f"<style>{STYLE}{BARS_STYLE}</style>\n{found}\n{_svg(contests)}</html>\n"
    )


def _section(contest: Contest) -> str:
    titles, rows = table_of(contest)
    head = "".join(f"<th>{html.escape(title)}</th>" for title in titles)
    body = "".join(
        "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in rows
    )
    remarks = "".join(f"<li>{html.escape(note)}</li>" for note in notes(contest))
    kind = ' class="simulated"' if contest.simulated else ""
    return (
        f"<section{kind}><h2>{html.escape(heading(contest))}</h2>"
        f'<p class="found">{html.escape(sentence(contest))}.</p>'
        f'<div class="scroll"><table><tr>{head}</tr>{body}</table></div>'
        f"{f'<ul>{remarks}</ul>' if remarks else ''}{_time_use(contest)}</section>"
    )


def _time_use(contest: Contest) -> str:
    """Return a bar of the threads' time for each arm that was explained, and what bounds it."""
    runs = [(arm.name, explain(arm.explained)) for arm in in_order(contest) if arm.explained]
    if not runs:
        return ""
    headlines = "".join(
        f"<li><b>{html.escape(name)}</b>: {html.escape(run.headline)}</li>" for name, run in runs
    )
    named = bars([(name, run.shares) for name, run in runs])
    return f"<h3>Time of the threads of each arm</h3>{named}{key()}<ul>{headlines}</ul>"


def _svg(contests: Sequence[Contest]) -> str:
    out = io.StringIO()
    figure = figure_of_contests(contests)
    with style.applied():
        figure.savefig(out, format="svg", metadata={"Date": None})
    plt.close(figure)
    text = out.getvalue()
    return text[text.index("<svg") :]
