"""The report for a pull request: the verdict, one table, and the rest as a list."""

from __future__ import annotations

import re
from collections.abc import Sequence

from harness.gate.report.rows import HEADINGS, row, worst_first
from harness.gate.report.words import conclusion, foot, heading, reasons, remarks
from harness.gate.verdict import Comparison, Exit

ALIGNED = (":-:", ":--", "--:", "--:", "--:", ":-:", ":--")

MARKDOWN_SIGN = re.compile(r"[\\`*_|<>\[\]#~&$]|^[-+]")
"""Characters with a meaning in Markdown, including those that begin a list at the start of a
line."""

NUMBERED = re.compile(r"^(\d+)([.)])")

BREAK = "<!-- -->"
REFERENCE = re.compile(r"(?<=[@#!~%&$])(?=\w)|(?<=\bGH-)(?=\d)|(?<=:)(?=//|[a-z0-9_+-]+:)")
"""Positions for `BREAK`, which is invisible. Servers look for mentions, issues, addresses and emoji
in the rendered Markdown, so a backslash would not stop a benchmark named `@all` from notifying
everybody."""


def markdown(
    comparison: Comparison,
    *,
    only_changed: bool = False,
    inconclusive: Exit = Exit.INCONCLUSIVE,
    finished: bool = True,
    explained: Sequence[str] = (),
) -> str:
    """Return the whole report, with the lines of explanations."""
    shown = worst_first(comparison, only_changed)
    parts = [
        f"### Gate: {_escaped(conclusion(comparison, inconclusive, finished))}",
        _escaped(heading(comparison)),
    ]
    if shown:
        lines = [
            _line(HEADINGS),
            _line(ALIGNED),
            *(_line([_escaped(word) for word in row(result)]) for result in shown),
        ]
        parts.append("\n".join(lines))
    rest = [*reasons(comparison), *foot(comparison, only_changed), *remarks(comparison), *explained]
    parts.append("\n".join(f"* {_escaped(line)}" for line in rest))
    return "\n\n".join(parts) + "\n"


def _line(words: tuple[str, ...] | list[str]) -> str:
    return f"| {' | '.join(words)} |"


def _escaped(text: str) -> str:
    """Return a text escaped so that Markdown shows it unchanged."""
    plain = BREAK.join(MARKDOWN_SIGN.sub(r"\\\g<0>", part) for part in REFERENCE.split(text))
    return NUMBERED.sub(r"\1\\\2", plain)
