"""Stacked bars of what threads spend their time on, as explanations divide it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.patches import Patch
from matplotlib.ticker import PercentFormatter

from harness.plots import style

LONGEST_NAME = 32  # characters

NamedBar = tuple[str, Mapping[str, float]]
"""Name of a bar, and its shares by category."""


def draw_time_bars(axes: Axes, bars: Sequence[NamedBar], longest: float = 0.0) -> None:
    """Draw bars, the first one on top; the axis goes up to `longest`, or to the longest bar."""
    left = [0.0] * len(bars)
    for category, color in style.TIME_COLORS.items():
        widths = [shares[category] for _, shares in bars]
        axes.barh(
            range(len(bars)), widths, left=left, color=color, edgecolor=style.FAINT, linewidth=0.4
        )
        left = [start + width for start, width in zip(left, widths, strict=True)]
    axes.set_yticks(range(len(bars)), [_shortened(name) for name, _ in bars])
    axes.invert_yaxis()
    axes.grid(visible=False, axis="y")
    axes.set_xlim(0.0, max(longest or max(left, default=1.0), 1e-3))
    axes.xaxis.set_major_formatter(PercentFormatter(1.0, decimals=None))


def key_of_time(bars: Sequence[NamedBar]) -> list[Patch]:
    """Return a key for each category that one of the bars has."""
    return [
        Patch(facecolor=color, edgecolor=style.FAINT, label=name)
        for name, color in style.TIME_COLORS.items()
        if any(shares[name] > 0.0 for _, shares in bars)
    ]


def _shortened(name: str) -> str:
    return name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…"
