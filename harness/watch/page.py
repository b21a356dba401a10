"""Replay of a run: one HTML file that loads no other one. Without scripts it shows the first period
and all numbers.

A row of the table has all text of a period. `replay.js` moves the cursor, recolours the graph and
shows that row; it computes nothing. Besides the table it gets one object: the positions of the
cursor, and the states of the picture.
"""

from __future__ import annotations

import json
from html import escape
from pathlib import Path

from harness.files.web_page import web_page
from harness.measurement.period_text import replicas_text, short
from harness.watch import lines
from harness.watch.curves import CURVES, REPLICAS, figure, places
from harness.watch.picture import Picture
from harness.watch.story import Period, Story

HERE = Path(__file__).resolve().parent
MAX_NAMES = 20  # of ports that are listed

COLUMNS = (
    "time",
    "phase",
    "submitted",
    "at the sinks",
    "threads",
    "queues",
    "replicas",
    "CPU",
    "law",
    "then",
)
WIDE_COLUMNS = ("law", "then")  # have a line of their own

LEGEND = (
    ("box a", "box b", "box c", "regions: operators joined by calls, executed together"),
    ("box x", "called from several regions"),
    ("mark q9", "a queue before an input port; paler: before some of the ports"),
    ("mark q0", "a port that may get a queue and has none"),
    ("mark t q9", "a queue with a thread of its own"),
    (
        "streams run from left to right; in a graph that is broken into lines they go on in the "
        "next one",
    ),
)
"""Symbols, as classes of the style sheet, and what they mean."""


def page(story: Story) -> str:
    """Return the whole page."""
    title = f"{story.heading.title}: {story.heading.arm}"
    body = [_header(story), _replay(story) if story.periods else _nothing(story)]
    style, script = (
        (HERE / name).read_text(encoding="utf-8") for name in ("replay.css", "replay.js")
    )
    return web_page(title, style, "\n".join(body), script if story.periods else "")


def _header(story: Story) -> str:
    heading = story.heading
    badge = '<strong class="simulated">SIMULATED</strong> ' if heading.simulated else ""
    parts = [part for part in (heading.arm, heading.law, heading.where) if part]
    ended = f' class="{"failed" if story.failed else "ended"}"'
    return (
        f"<header><h1>{badge}{escape(heading.title)}</h1>\n<p>{escape(heading.parameters)}</p>\n"
        f"<p>{escape('; '.join(parts))}.</p>\n"
        f"<p{ended}>{escape(story.outcome or 'no result')}.</p>{_doubt(story)}</header>"
    )


def _doubt(story: Story) -> str:
    if not story.is_doubtful:
        return ""
    return (
        '<p class="failed">The record counts other queues than it names: the picture may mark '
        "wrong ports.</p>"
    )


def _nothing(story: Story) -> str:
    picture = Picture(story)
    return (
        "<p>The run ended before its first period.</p>\n<div "
        f'class="scroll">{picture.svg(story.queued)}</div>'
    )


def _replay(story: Story) -> str:
    picture, periods = Picture(story), story.periods
    return "\n".join(
        (
            _controls(len(periods)),
            '<main>\n<section aria-label="graph">',
            '<div class="scroll" tabindex="0" aria-label="the graph, to be '
            f'scrolled">{picture.svg(periods[0].queued)}</div>',
            _legend(),
            "</section>",
            '<section aria-label="over time">',
            *(
                figure(curve, periods)
                for curve in CURVES
                if curve is not REPLICAS or story.has_replicas
            ),
            _axis(story),
            "</section>\n</main>",
            _table(story),
            f'<script type="application/json" id="run">{_data(story, picture)}</script>',
        )
    )


def _controls(many: int) -> str:
    rows = "".join(
        f"<div{' class=wide' * (name in WIDE_COLUMNS)}>"
        f'<dt>{name}</dt><dd id="now-{number}"></dd></div>'
        for number, name in enumerate(COLUMNS)
    )
    return (
        '<section class="controls" aria-label="period">\n'
        '<p><button id="play" type="button" aria-label="play">▶</button>'
        f'<input id="period" type="range" min="0" max="{many - 1}" value="0" step="1" '
        'aria-label="period">'
        f'<output id="at" for="period">1 of {many:,}</output></p>\n'
        f'<dl id="now">{rows}<div class="wide"><dt>ports with a queue</dt><dd '
        'id="ports"></dd></div></dl>\n'
        '<p class="faint keys">Keys: ← → a period, Home and End, space to play. A click on a curve '
        "goes there.</p>\n</section>"
    )


def _legend() -> str:
    items = (
        "".join(f'<span class="{each}"></span>' for each in symbols) + f" {text}"
        for *symbols, text in LEGEND
    )
    return '<ul class="legend">' + "".join(f"<li>{item}</li>" for item in items) + "</ul>"


def _axis(story: Story) -> str:
    first, last = story.periods[0].sample, story.periods[-1].sample
    ends = (
        lines.clock(time_s, story.heading.simulated)
        for time_s in (first["time_s"] - first["elapsed_s"], last["time_s"])
    )
    axis = '<p class="axis">' + "".join(f"<span>{end}</span>" for end in ends) + "</p>"
    phases = {period.phase for period in story.periods}
    return axis + (
        '<p class="faint">Shaded: the measured window.</p>' if {"measuring"} < phases else ""
    )


def _table(story: Story) -> str:
    head = "".join(f'<th scope="col">{name}</th>' for name in COLUMNS)
    rows = "\n".join(_row(story, period) for period in story.periods)
    return (
        f"<details><summary>All {len(story.periods):,} periods as a table</summary>\n<div "
        'class="scroll"><table>\n'
        f'<thead><tr>{head}</tr></thead>\n<tbody id="rows">\n{rows}\n'
        "</tbody></table></div></details>"
    )


def _row(story: Story, period: Period) -> str:
    sample = period.sample
    level = sample.get("threads_requested") or sample["threads_active"]
    active = sample["threads_active"]
    said = (
        [f"{sample['law_state']}: {sample['law_reason']}"]
        if sample.get("law_state") is not None
        else []
    )
    for each in sample.get("balancers", ()):
        reason = f" ({each['reason']})" if each["reason"] else ""
        said.append(f"{each['operator']}: {each['active']} of {each['ports']} ports{reason}")
    cells = (
        lines.clock(sample["time_s"], story.heading.simulated),
        period.phase,
        f"{short(sample['submitted_tuples_per_s'])} tuples/s",
        f"{short(sample['sink_tuples_per_s'])} tuples/s",
        f"{level}" + (f" ({active} active)" if active != level else ""),
        f"{sample.get('queued_ports', len(period.queued)):,}",
        replicas_text(sample.get("replicas") or {}) or "one each" * story.has_replicas,
        f"{100 * sample['system_cpu']:.0f} %" if sample.get("system_cpu") is not None else "",
        "; ".join(said),
        "; ".join(lines.switched(story, sample)),
    )
    return "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in cells) + "</tr>"


def _data(story: Story, picture: Picture) -> str:
    """Return the script's data as JSON that cannot end its element."""
    states: dict[frozenset[str], int] = {}
    shown = [states.setdefault(period.queued, len(states)) for period in story.periods]
    queue_states = [
        [*_state(picture, queued), lines.names(story, queued, MAX_NAMES) or "none"]
        for queued in states
    ]
    data = json.dumps(
        {"x": places(story.periods), "state": shown, "states": queue_states}, separators=(",", ":")
    )
    return data.replace("<", "\\u003c")


def _state(picture: Picture, queued: frozenset[str]) -> tuple[str, str]:
    state = picture.state(queued)
    return state.boxes, state.marks
