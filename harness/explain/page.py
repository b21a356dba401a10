"""Explanation of runs as one HTML file that loads no other one and needs no scripts."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from harness.explain.explanation import RunExplanation
from harness.explain.report import percent, report
from harness.explain.shares import CATEGORIES, Times
from harness.files.web_page import web_page
from harness.plots.style import TIME_COLORS

BARS_STYLE = """
.bar { display: flex; align-items: center; gap: .6rem; margin: .15rem 0; }
.bar b { flex: 0 0 14rem; font-weight: normal; overflow-wrap: anywhere; text-align: right; }
.bar div { flex: 1; display: flex; height: 1.2rem; }
.bar span { outline: 1px solid #767676; }
.key span { display: inline-block; width: 1rem; height: .8rem; outline: 1px solid #767676; }
.key { margin-right: 1rem; white-space: nowrap; }
"""
"""Style of stacked bars and of their key."""

STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; color: #222; background: #fff; max-width: 1100px;
  margin: 0 auto; padding: 0 1rem 2rem; }
h1 { font-size: 1.2rem; overflow-wrap: anywhere; } h2 { font-size: 1rem; }
.simulated { background: #ffe680; border: 1px solid #222; padding: 0 .4rem; font-size: .8em; }
pre { overflow: auto; font-size: .85rem; }
"""


def page(explained: Sequence[RunExplanation]) -> str:
    """Return the whole page."""
    body = "\n".join(_run(run) for run in explained)
    return web_page(explained[0].title, STYLE + BARS_STYLE, f"{body}\n{key()}")


def key() -> str:
    """Return the colours with what each stands for."""
    keys = "".join(
        f'<span class="key"><span style="background:{TIME_COLORS[name]}"></span> '
        f"{escape(name)}: {escape(meaning)}</span> "
        for name, meaning in CATEGORIES.items()
    )
    return f"<p>{keys}</p>"


def _run(run: RunExplanation) -> str:
    label = ' <span class="simulated">SIMULATED</span>' if run.simulated else ""
    sentences = "".join(f"<li>{escape(sentence)}</li>" for sentence in run.sentences)
    threads = [(thread.name, thread.shares) for thread in run.threads]
    operators = [(each.name, each.shares) for each in run.operators]
    return (
        f"<h1>{escape(run.title)}{label}</h1>\n<ul>{sentences}</ul>\n"
        f"<h2>Time of each thread</h2>\n{bars([*threads, ('all threads', run.shares)])}\n"
        f"<h2>Time of all threads, by operator</h2>\n{bars(operators)}\n"
        f"<details><summary>Numbers</summary><pre>{escape(chr(10).join(report(run)))}</pre>"
        "</details>"
    )


def bars(named: Sequence[tuple[str, Times]]) -> str:
    """Return stacked bars of shares with their names."""
    return "\n".join(
        f'<div class="bar"><b>{escape(name)}</b>{_bar(shares)}</div>' for name, shares in named
    )


def _bar(shares: Times) -> str:
    parts = "".join(
        f'<span style="width:{100 * share:.3f}%;background:{TIME_COLORS[name]}" '
        f'title="{escape(name)} {percent(share)}"></span>'
        for name, share in shares.items()
        if share > 0.0
    )
    return f"<div>{parts}</div>"
