"""One style for all figures: a threading model keeps its colour and marker everywhere. rcParams are
set here and nowhere else.

Colours are those of Okabe and Ito (Color Universal Design, 2008), which remain distinct under the
common colour-vision deficiencies; markers and labels carry the information as well, so no figure
depends on colour alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")  # files only: no display is needed, and none is opened
import matplotlib.pyplot as plt
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure
from matplotlib.gridspec import GridSpec
from matplotlib.lines import Line2D
from matplotlib.ticker import EngFormatter, Formatter

from harness.errors import RunFailed
from harness.plots import paper

INK = "#222222"
FAINT = "#767676"  # text of lesser weight; 4.5 : 1 on white
GRID = "#e4e4e4"
# behind simulated results: lighter than all lines, and no line has this colour
SIMULATED = "#fdf8e4"
SIMULATED_LABEL = "#ffe680"

TIME_COLORS = {
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
"""Colour of each category of threads' time, as explanations have them: those of Okabe and Ito, and
greys for what takes no CPU.
"""

PARAMETERS = {
    "figure.dpi": 100,
    "savefig.dpi": 160,
    "figure.constrained_layout.use": True,
    "font.family": "sans-serif",
    # The first comes with matplotlib, so figures look the same everywhere. The second has letters
    # of its widths, for an SVG where the first is missing.
    "font.sans-serif": ["DejaVu Sans", "Verdana"],
    "font.size": 9,
    "axes.titlesize": 9,
    "axes.labelsize": 9,
    "axes.edgecolor": FAINT,
    "axes.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.formatter.useoffset": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": GRID,
    "grid.linewidth": 0.6,
    "xtick.color": INK,
    "ytick.color": INK,
    "legend.frameon": False,
    "lines.linewidth": 1.6,
    "lines.markersize": 6,
    "errorbar.capsize": 3,
    "hatch.linewidth": 0.7,
    "svg.hashsalt": "millrace",  # the same table gives the same file
    "svg.fonttype": "none",  # text stays text: it can be searched, and a file is a third as large
    "pdf.fonttype": 42,  # TrueType: publishers refuse fonts of Type 3
}


@dataclass(frozen=True)
class ModelStyle:
    """Colour, marker and line of a threading model."""

    color: str
    marker: str | tuple[int, int, int]
    line: str


MODELS: dict[str, ModelStyle] = {
    "manual": ModelStyle("#d55e00", "s", (0, (6, 2))),
    "dedicated": ModelStyle("#009e73", "^", (0, (2, 1.5))),
    "dynamic": ModelStyle("#0072b2", "o", "-"),
    "elastic": ModelStyle("#cc79a7", "D", "-"),
    "multilevel": ModelStyle("#e69f00", "P", "-"),
    "coroutine": ModelStyle("#56b4e9", "v", "-"),
}

POLICIES: dict[str, ModelStyle] = {
    "random": ModelStyle("#000000", "o", "-"),
    "max_queue_length": ModelStyle("#d55e00", "s", "-"),
    "min_latency": ModelStyle("#009e73", "^", "-"),
    "least_recently_run": ModelStyle("#0072b2", "v", "-"),
    "max_running_time": ModelStyle("#cc79a7", "D", "-"),
    "highest_rate": ModelStyle("#e69f00", "P", (0, (5, 1.5))),
    "oldest_source": ModelStyle("#56b4e9", "X", (0, (5, 1.5))),
    "pressure": ModelStyle("#8c6d31", "*", (0, (5, 1.5))),
}
"""Scheduling policies of co-routines: the paper's with full lines, ours with dashes."""

TOPOLOGIES = (
    "pipeline",
    "data-parallel",
    "mix",
    "bushy",
    "load-balance",
    "chain",
    "replicated",
    "tree",
    "reverse-tree",
)
"""Order of topologies in figures; others follow by name. Models appear in the order of `MODELS`."""

FOUR_POINTED = (4, 1, 0)  # marker of a star with so many points, not turned

PEERS: dict[str, ModelStyle] = {
    "asyncio": ModelStyle("#8c6d31", "<", "-"),
    "asyncio-batched": ModelStyle("#c4ab77", "<", (0, (2, 1.5))),
    "crossbeam": ModelStyle("#843c39", "d", "-"),
    "crossbeam-batched": ModelStyle("#c98b88", "d", (0, (2, 1.5))),
    "disruptor": ModelStyle("#2f6f4f", "P", "-"),
    "disruptor-batched": ModelStyle("#86b89d", "P", (0, (2, 1.5))),
    "flink": ModelStyle("#6b4c9a", "h", "-"),
    "flink-split": ModelStyle("#8a6db8", "h", (0, (5, 1.5))),
    "flink-unchained": ModelStyle("#a98fd0", "h", (0, (2, 1.5))),
    "go": ModelStyle("#17a2a2", ">", "-"),
    "go-batched": ModelStyle("#7fd0d0", ">", (0, (2, 1.5))),
    "java": ModelStyle("#b8860b", "p", "-"),
    "java-batched": ModelStyle("#dcc07c", "p", (0, (2, 1.5))),
    "jet": ModelStyle("#c2577a", "X", "-"),
    "jet-fused": ModelStyle("#df9db3", "X", (0, (2, 1.5))),
    "storm": ModelStyle("#3d5a3c", "*", "-"),
    "storm-batched": ModelStyle("#8fae6d", "*", (0, (2, 1.5))),
    "tbb": ModelStyle("#4a4a4a", "8", "-"),
    "tbb-batched": ModelStyle("#8a8a8a", "8", (0, (2, 1.5))),
    "tbb-pipeline": ModelStyle("#5f7f95", "H", "-"),
    "tbb-pipeline-batched": ModelStyle("#a3bccb", "H", (0, (2, 1.5))),
    "tokio": ModelStyle("#22307a", FOUR_POINTED, "-"),
    "tokio-batched": ModelStyle("#8f9fe0", FOUR_POINTED, (0, (2, 1.5))),
}
"""Other runtimes; figures draw their lines thinner than those of our models."""

MARK_INCHES = 0.95  # width of the word SIMULATED in the corner of a figure

LABEL_INCHES = 1.3  # of a line of the legend, in a figure of given width

SHORT_FROM = 10_000  # numbers from here on are written with k, M, G
SHORT_DIGITS = 3  # of such a number; one with more is written with commas

UNKNOWN_MODEL = ModelStyle(FAINT, "X", ":")


def of_model(model: str) -> ModelStyle:
    """Return the style of a model, or of a peer, whose name is then the model; grey if it has none
    yet.
    """
    return MODELS.get(model) or PEERS.get(model, UNKNOWN_MODEL)


def in_order(names: Iterable[str], order: Sequence[str]) -> list[str]:
    """Return the different names, those of `order` first."""
    return sorted(
        set(names), key=lambda name: (order.index(name) if name in order else len(order), name)
    )


def of_arm(model: str, arm: str) -> ModelStyle:
    """Return the style of an arm: that of its model; paler, with a dotted line, if it hands tuples
    over one by one.
    """
    look = of_model(model)
    if not arm.endswith("-batch-1"):
        return look
    color = to_hex([(1.0 + part) / 2 for part in to_rgb(look.color)])
    return ModelStyle(color, look.marker, (0, (1, 1)))


@contextmanager
def applied() -> Iterator[None]:
    """Draw in this style: `with style.applied(): …`."""
    with plt.rc_context({**PARAMETERS, **paper.shape().parameters()}):
        yield


def rates() -> Formatter:
    """Return the formatter of tick labels for rates: 500 k, 2 M."""
    return EngFormatter(sep=" ")


def rate(number: float) -> str:
    """Return a rate for people, with 2 digits: `480 k`, `2.1 M`."""
    return EngFormatter(sep=" ")(float(f"{number:.2g}"))


def short(number: float) -> str:
    """Return a number for people, in full: `500`, `20 k`, `1.5 M`; with commas if it is no short
    multiple: `16,384`.
    """
    if abs(number) < SHORT_FROM:
        return f"{number:g}"
    text = EngFormatter(sep=" ")(number)
    digits = text.split(" ")[0]
    return text if sum(map(str.isdigit, digits)) <= SHORT_DIGITS else f"{number:,.15g}"


def key(label: str, color: str = INK, **look: Any) -> Line2D:
    """Return an entry of a legend: a line or a marker, and its label."""
    return Line2D([], [], color=color, label=label, **look)


def grid(
    rows: int, columns: int, panel_in: tuple[float, float], more_in: float, least_in: float
) -> tuple[Figure, GridSpec]:
    """Return an empty figure with places for panels. `panel_in`: width and height of a panel;
    `more_in`: height of titles and feet; `least_in`: width of the title.
    """
    width, height = panel_in
    size = (max(width * columns + 0.4, least_in), height * rows + more_in)
    drawing = plt.figure(figsize=size)
    return drawing, drawing.add_gridspec(rows, columns)


def title_with_legend(figure: Figure, title: str, handles: Sequence[Artist]) -> None:
    """Write the figure's title with the legend under it, above all panels, in as few rows as fit
    the figure's width. The panels are ready: a figure of given width gets it here.
    """
    paper.fit(figure)
    is_paper = paper.shape().width is not None
    size = paper.shape().size if is_paper else paper.TITLE_PT
    # at both sides, there is room for the mark of a simulated figure
    title = "\n".join(paper.balanced(title, figure.get_figwidth() - 2 * MARK_INCHES, size))
    if is_paper:  # so that two columns have room
        for handle in handles:
            handle.set_label("\n".join(paper.wrapped(handle.get_label(), LABEL_INCHES)))
    narrow = {"columnspacing": 1.0, "handlelength": 1.6, "labelspacing": 0.25} if is_paper else {}
    for rows in range(1, len(handles) + 1):
        columns = -(-len(handles) // rows)
        legend = figure.legend(
            handles=handles,
            title=title if paper.shape().titled else None,
            title_fontsize=size,
            loc="outside upper center",
            ncols=columns,
            borderaxespad=0.3,
            **narrow,
        )
        legend.get_title().set_multialignment("center")
        drawn = legend.get_window_extent()
        if columns == 1 or drawn.width <= figure.bbox.width:
            paper.grow(figure, drawn.height / figure.dpi)
            return
        legend.remove()


def say_no_samples(ax: Axes) -> None:
    """Say in the middle of axes that there is nothing to draw."""
    ax.text(0.5, 0.5, "no samples", transform=ax.transAxes, ha="center", va="center", color=FAINT)


def say_on_top(ax: Axes, place: float, text: str, fontsize: float) -> None:
    """Write a text, unless it is empty, at a place of the horizontal axis, below the upper edge."""
    if text:
        ax.annotate(
            text,
            (place, 1.0),
            xycoords=("data", "axes fraction"),
            ha="center",
            va="top",
            fontsize=fontsize,
        )


def say_at_foot(ax: Axes, place: float, text: str) -> None:
    """Write a text upwards from the horizontal axis, at a place of it."""
    ax.annotate(
        text,
        (place, 0.0),
        xycoords=("data", "axes fraction"),
        xytext=(0, 3),
        textcoords="offset points",
        rotation=90,
        ha="center",
        va="bottom",
        fontsize=6.5,
    )


def whole(number: float) -> str:
    """Return a whole number for people: 10,000."""
    return f"{number:,.0f}"


def save(figure: Figure, paths: list[Path]) -> None:
    """Write the figure to each path, in the format that the path's ending names, and close it.

    Raises RunFailed if a file cannot be written.
    """
    with applied():
        # The layout computes the size of every text, which is half of the drawing time. Do it once
        # for all formats, at the sizes of the .png.
        figure.set_dpi(plt.rcParams["savefig.dpi"])
        figure.draw_without_rendering()
        figure.set_layout_engine("none")
        for path in paths:
            temporary = path.with_name(f".{path.name}.tmp")
            kind = path.suffix.removeprefix(".")
            # the same table gives the same file
            metadata = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind)
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                figure.savefig(temporary, format=kind, metadata=metadata)
                temporary.replace(path)
            except OSError as error:
                raise RunFailed(f"cannot write {path}: {error.strerror}") from error
            finally:
                with suppress(OSError):
                    temporary.unlink()
    plt.close(figure)
