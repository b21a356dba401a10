"""The SASO bench: quality of each control law over all scenarios (stability, accuracy, settling,
overshoot; M19 §1).

Reads   saso.parquet   a row for each law and scenario: law, held_out [true if its kind of curve
                       only scores; laws' constants were chosen on the others], accuracy [settled
                       throughput over the best], settling [periods], overshoot [most threads
                       over the best level], changes [level changes in 50 periods after
                       settling], regret [share of the oracle's throughput lost], kind [of the
                       scenario], noise and drift [of a period's throughput]
Draws   a panel for each metric, a row for each law, best on top; dot: median, bar: quartiles,
        line: 5 to 95 % of the scenarios; below, a row for each kind of scenario with the share that
        each law found, the best one in bold

A misreading to avoid: a strip is the spread over scenarios of unequal difficulty, not the
uncertainty of a mean. All laws met equal scenarios, so medians may be compared although strips
overlap.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator, PercentFormatter

from harness.errors import UserError
from harness.plots import provenance, style
from harness.plots.saso_kinds import CELL_HEIGHT, COLUMNS, draw_kinds
from harness.plots.thread_panels import ELASTIC

OURS = "millrace"
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
PANEL_WIDTH, ROW_HEIGHT = 2.15, 0.36  # inches


@dataclass(frozen=True)
class ScoreColumn:
    """Column of the table, and the way it is drawn."""

    column: str
    title: str
    label: str
    more_is_better: bool = False
    is_share: bool = False
    best: float | None = None
    is_signed: bool = False
    held_out: bool | None = None  # only scenarios that only score, only the others, or all

    @property
    def direction(self) -> str:
        """Direction in which a value is better, for people."""
        if self.best is not None:
            return f"{self.best:g} is best"
        return "better →" if self.more_is_better else "← better"

    def text_of(self, value: float) -> str:
        """Return a value for people: `97 %`, `2.5`."""
        return f"{value:.1%}".replace("%", " %") if self.is_share else f"{value:.3g}"


METRICS = (
    ScoreColumn(
        "accuracy",
        "accuracy, held out",
        "settled throughput / best",
        more_is_better=True,
        is_share=True,
        held_out=True,
    ),
    ScoreColumn(
        "accuracy",
        "accuracy, chosen on",
        "settled throughput / best",
        more_is_better=True,
        is_share=True,
        held_out=False,
    ),
    ScoreColumn("settling", "settling", "periods until settled"),
    ScoreColumn("overshoot", "overshoot", "most threads / best level", best=1.0),
    ScoreColumn("changes", "stability", "changes in 50 settled periods"),
    ScoreColumn("regret", "regret", "lost against an oracle", is_share=True),
)


def draw(ax: Axes, table: pd.DataFrame, metric: ScoreColumn, laws: list[str]) -> None:
    """Draw one metric: a strip for each law, the first one on top, with its median in figures.
    Scenarios without a value are counted.
    """
    medians: dict[int, float] = {}
    for row, law in enumerate(laws):
        values = table.loc[table["law"] == law, metric.column].replace(math.inf, math.nan)
        known = values.dropna()
        if len(known):
            medians[row] = known.median()
            _strip(ax, row, known, _color(law))
        if values.isna().any():
            share = f"{values.isna().mean():.1%}".replace("%", " %")
            ax.annotate(
                f"none in {share}",
                (1, row),
                xycoords=("axes fraction", "data"),
                **_words("right", below=True),
            )
    ax.set_ylim(len(laws) - 0.5, -0.6)
    ax.set_yticks(range(len(laws)), laws)
    ax.tick_params(axis="y", length=0)
    ax.grid(visible=False, axis="y")
    _scale(ax, metric)
    for row, median in medians.items():
        side = _side(median, *ax.get_xlim())
        ax.annotate(metric.text_of(median), (median, row), **_words(side, below=False))
    ax.set_title(metric.title)
    ax.set_xlabel(f"{metric.label}\n{metric.direction}")


def figure(tables: Mapping[str, pd.DataFrame], title: str) -> Figure:
    """Return the figure from the bench's table. Raises UserError, naming them, if columns are
    missing.
    """
    table = tables["saso"]
    columns = list(dict.fromkeys(["held_out", *(metric.column for metric in METRICS), *COLUMNS]))
    check(table, "saso", columns, "millrace laws bench --table")
    return panels(table, METRICS, title, _sentence(table), by_kind=True)


def check(table: pd.DataFrame, name: str, columns: Sequence[str], command: str) -> None:
    """Raise UserError, naming them, if columns of a bench's table are missing."""
    missing = [each for each in ("law", "scenario", *columns) if each not in table]
    if missing:
        raise UserError(f"the table {name} lacks {', '.join(missing)}; `{command}` makes it")


def panels(
    table: pd.DataFrame,
    metrics: Sequence[ScoreColumn],
    title: str,
    foot: str,
    by_kind: bool = False,
) -> Figure:
    """Return a panel for each metric, laws by their mean regret; `by_kind`: and one for kinds."""
    laws = list(table.groupby("law")["regret"].mean().sort_values(kind="stable").index)
    heights = [ROW_HEIGHT * len(laws)]
    if by_kind:
        heights.append(CELL_HEIGHT * table["kind"].nunique() + 0.9)
    with style.applied():
        drawing = style.plt.figure(figsize=(PANEL_WIDTH * len(metrics) + 1.0, sum(heights) + 2.2))
        grid = drawing.add_gridspec(len(heights), len(metrics), height_ratios=heights)
        axes = [drawing.add_subplot(grid[0, 0])]
        for place in range(1, len(metrics)):
            axes.append(drawing.add_subplot(grid[0, place], sharey=axes[0]))
        if by_kind:
            draw_kinds(drawing.add_subplot(grid[1, :]), table, laws)
        for ax, metric in zip(axes, metrics, strict=True):
            chosen = (
                table if metric.held_out is None else table[table["held_out"] == metric.held_out]
            )
            draw(ax, chosen, metric, laws)
        for ax in axes[1:]:
            ax.tick_params(axis="y", labelleft=False)
        for label, law in zip(axes[0].get_yticklabels(), laws, strict=True):
            label.set(weight="bold" if law == OURS else "normal", color=_color(law))
        style.title_with_legend(drawing, title, _legend())
        provenance.foot(drawing, foot)
    return drawing


def _strip(ax: Axes, row: int, values: pd.Series, color: str) -> None:
    low, first, median, third, high = values.quantile(QUANTILES)
    ax.plot([low, high], [row, row], color=color, lw=1.2, solid_capstyle="butt", zorder=2)
    ax.plot(
        [first, third], [row, row], color=color, lw=6, alpha=0.45, solid_capstyle="butt", zorder=3
    )
    ax.plot([median], [row], ls="", marker="o", markersize=5, color=color, zorder=4)


def _words(side: str, below: bool) -> dict:
    """Return the style of a text above or below a strip; its edge `side` is at its place."""
    look = {
        "fontsize": 7,
        "color": style.INK,
        "ha": side,
        "va": "top" if below else "bottom",
        "zorder": 5,
    }
    return look | {"xytext": (0, -5 if below else 5), "textcoords": "offset points"}


def _side(place: float, low: float, high: float) -> str:
    """Return the edge of a text that goes to `place`, so that the text stays between `low` and
    `high`.
    """
    share = (place - low) / (high - low)
    return "left" if share < 0.15 else "right" if share > 0.85 else "center"


def _scale(ax: Axes, metric: ScoreColumn) -> None:
    low, high = ax.get_xlim()
    end = 1.0 if metric.more_is_better else 0.0
    # for half a dot beyond the last possible value
    room = 0.04 * max(abs(high - end), abs(end - low), 0.01)
    if not metric.is_signed:
        ax.set_xlim(*((low, end + room) if metric.more_is_better else (end - room, high)))
    ax.xaxis.set_major_locator(MaxNLocator(nbins=4))
    if metric.is_share:
        ax.xaxis.set_major_formatter(PercentFormatter(xmax=1.0, symbol=" %"))


def _color(law: str) -> str:
    return style.of_model(ELASTIC).color if law == OURS else style.FAINT


def _legend() -> list[Line2D]:
    return [
        Line2D(
            [],
            [],
            color=style.INK,
            ls="",
            marker="o",
            markersize=5,
            label="median of the scenarios",
        ),
        Line2D([], [], color=style.INK, lw=6, alpha=0.45, label="quartiles"),
        Line2D([], [], color=style.INK, lw=1.2, label="5 to 95 %"),
    ]


def _sentence(table: pd.DataFrame) -> str:
    """Return the text at the foot: nothing here was measured."""
    scenarios = table["scenario"].nunique()
    return (
        f"Computed, not measured: each law in closed loop with {style.whole(scenarios)} scenarios "
        "(throughput curve, noise, "
        "drift, events, bounds), seeded and the same for all laws. Laws in the order of their mean "
        "regret, best on top."
    )
