"""Quantities over time as SVG. Drawings stretch to any width; words and numbers are outside, so
that they do not stretch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from harness.measurement.period_text import short
from harness.watch.story import Period, most_replicas

WIDTH, HEIGHT = 1000, 100
HEADROOM = 1.08  # of the axis above the highest value


@dataclass(frozen=True)
class Curve:
    """Figure of one or more lines over time. `values`: name of each line, and its value in a
    period, None if not known.
    """

    name: str
    unit: str
    values: Sequence[tuple[str, Callable[[Period], float | None]]]
    steps: bool = False  # a number that holds for a period, not a mean over it
    top: float = 0.0  # the axis' end; 0: from the values


def _of(field: str) -> Callable[[Period], Any]:
    return lambda period: period.sample.get(field)


REPLICAS = Curve(
    "replicas", "of the operator that has the most", (("replicas", most_replicas),), steps=True
)
"""Curve that is left out if every operator has one replica."""

CURVES = (
    Curve("submitted", "tuples/s, all operators", (("submitted", _of("submitted_tuples_per_s")),)),
    Curve("at the sinks", "tuples/s", (("sinks", _of("sink_tuples_per_s")),)),
    Curve(
        "threads",
        "scheduler threads: asked for, and active (dashed)",
        (("asked for", _of("threads_requested")), ("active", _of("threads_active"))),
        steps=True,
    ),
    Curve("queues", "input ports with a queue", (("queues", _of("queued_ports")),), steps=True),
    REPLICAS,
    Curve(
        "CPU",
        "busy: all; other processes (dashed)",
        (("all", _of("system_cpu")), ("others", _of("others_cpu"))),
        top=1.0,
    ),
)


def places(periods: Sequence[Period]) -> list[float]:
    """Return the position of each period's end on the axis of time, from 0 to `WIDTH`."""
    first = periods[0].sample["time_s"] - periods[0].sample["elapsed_s"]
    whole = periods[-1].sample["time_s"] - first
    return [
        round(WIDTH * (period.sample["time_s"] - first) / whole, 1) if whole > 0 else 0.0
        for period in periods
    ]


def figure(curve: Curve, periods: Sequence[Period]) -> str:
    """Return a curve with its name and axis."""
    series = [(name, [value(period) for period in periods]) for name, value in curve.values]
    known = [value for _, values in series for value in values if value is not None]
    top = curve.top or max(known, default=0.0) * HEADROOM or 1.0
    highest = f"{100 * top:.0f} %" if curve.top else short(max(known, default=0.0))
    x = places(periods)
    lines = "".join(
        f'<path class="line l{number}" d="{_path(x, values, top, curve.steps)}"/>'
        for number, (_, values) in enumerate(series)
    )
    about = f"{escape(curve.unit)}; 0 to {highest}"
    label = f"{escape(curve.name)} over time, from 0 to {highest}"
    return (
        f'<figure class="curve"><figcaption><b>{escape(curve.name)}</b> <span '
        f'class="faint">{about}</span></figcaption>'
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" preserveAspectRatio="none" role="img" '
        f'aria-label="{label}">'
        f"{_measured(x, periods)}{lines}"
        f'<line class="cursor" x1="{x[0]:g}" x2="{x[0]:g}" y1="0" y2="{HEIGHT}"/></svg></figure>'
    )


def _measured(x: Sequence[float], periods: Sequence[Period]) -> str:
    """Return a background for the measured window."""
    begins = next(
        (place for place, period in enumerate(periods) if period.phase == "measuring"), None
    )
    if begins is None:
        return ""
    left = x[begins - 1] if begins else 0.0
    return f'<rect class="measured" x="{left:g}" y="0" width="{x[-1] - left:g}" height="{HEIGHT}"/>'


def _path(x: Sequence[float], values: Sequence[float | None], top: float, steps: bool) -> str:
    """Return the `d` of a line that is broken where a value is not known."""
    parts: list[str] = []
    before = 0.0
    down = False  # the pen
    for place, value in zip(x, values, strict=True):
        if value is None:
            down = False
        else:
            y = f"{HEIGHT * (1 - value / top):.1f}".rstrip("0").rstrip(".")
            if steps:
                parts.append(f"{f'L{before:g}' if down else f'M{before:g}'} {y}H{place:g}")
            else:
                parts.append(f"{'L' if down else 'M'}{place:g} {y}")
            down = True
        before = place
    # one period alone is a mean over all
    return f"{parts[0]}H0" if len(parts) == 1 and not steps else "".join(parts)
