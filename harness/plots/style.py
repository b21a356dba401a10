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
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import EngFormatter, Formatter

from harness.errors import RunFailed

INK = "#222222"
FAINT = "#767676"  # text of lesser weight; 4.5 : 1 on white
GRID = "#e4e4e4"
# behind simulated results: lighter than all lines, and no line has this colour
SIMULATED = "#fdf8e4"
SIMULATED_LABEL = "#ffe680"

PARAMETERS = {
    "figure.dpi": 100,
    "savefig.dpi": 160,
    "figure.constrained_layout.use": True,
    "font.family": "DejaVu Sans",  # comes with matplotlib, so figures look the same everywhere
    "font.size": 9,
    "axes.titlesize": 9,
    "axes.labelsize": 9,
    "axes.edgecolor": FAINT,
    "axes.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
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
    "svg.fonttype": "path",
}


@dataclass(frozen=True)
class ModelStyle:
    """Colour, marker and line of a threading model."""

    color: str
    marker: str
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

PEERS: dict[str, ModelStyle] = {
    "asyncio": ModelStyle("#8c6d31", "<", "-"),
    "crossbeam": ModelStyle("#843c39", "d", "-"),
    "flink": ModelStyle("#6b4c9a", "h", "-"),
    "flink-unchained": ModelStyle("#a98fd0", "h", (0, (2, 1.5))),
    "go": ModelStyle("#17a2a2", ">", "-"),
    "java": ModelStyle("#b8860b", "p", "-"),
    "storm": ModelStyle("#3d5a3c", "*", "-"),
    "storm-batched": ModelStyle("#8fae6d", "*", (0, (2, 1.5))),
    "tbb": ModelStyle("#4a4a4a", "8", "-"),
    "tbb-pipeline": ModelStyle("#9a9a9a", "8", (0, (2, 1.5))),
}
"""Other runtimes; figures draw their lines thinner than those of our models."""

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


@contextmanager
def applied() -> Iterator[None]:
    """Draw in this style: `with style.applied(): …`."""
    with plt.rc_context(PARAMETERS):
        yield


def rates() -> Formatter:
    """Return the formatter of tick labels for rates: 500 k, 2 M."""
    return EngFormatter(sep=" ")


def key(label: str, color: str = INK, **look: Any) -> Line2D:
    """Return an entry of a legend: a line or a marker, and its label."""
    return Line2D([], [], color=color, label=label, **look)


def title_with_legend(figure: Figure, title: str, handles: Sequence[Artist]) -> None:
    """Write the figure's title with the legend under it, above all panels, in as few rows as fit
    the figure's width.
    """
    for rows in range(1, len(handles) + 1):
        columns = -(-len(handles) // rows)
        legend = figure.legend(
            handles=handles,
            title=title,
            title_fontsize=11,
            loc="outside upper center",
            ncols=columns,
            borderaxespad=0.3,
        )
        if columns == 1 or legend.get_window_extent().width <= figure.bbox.width:
            return
        legend.remove()


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
            metadata = {"Date": None} if kind == "svg" else None
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
