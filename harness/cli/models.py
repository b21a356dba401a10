"""`millrace models`: the threading models with their options."""

from __future__ import annotations

import argparse
import inspect
import textwrap

from harness.cli.model_options import flag_of
from harness.models import MODELS, OPTIONS
from harness.models.option import options_of
from harness.models.policy import policies
from harness.terminal.output import say
from harness.terminal.table import aligned_rows

SUMMARY = "list the threading models with their options"

DESCRIPTION = """\
A run chooses one with --model.

examples:
  millrace models
  millrace run pipeline --model dynamic --threads 2      one of them, with one of its options
"""

COLUMNS = 120  # of the listing, at most, but for its tables


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add nothing: `models` has no options."""


def run(args: argparse.Namespace) -> int:
    """Print the listing."""
    say(as_text())
    return 0


def as_text() -> str:
    """Return the models with their summaries and a table of their options."""
    parts = []
    for name, model in MODELS.items():
        rows = [("option", "unit", "range", "default", "source")]
        rows += [option_row(option) for option in options_of(model)]
        lines = aligned_rows(rows, indent=2)
        summary = " ".join((inspect.getdoc(model) or "").split())
        summary = textwrap.fill(f"{name}: {summary}", COLUMNS, subsequent_indent="  ")
        parts.append("\n".join([summary, *lines]))
    rows = [(flag_of(name), each.help) for name, each in OPTIONS.items()]
    meanings = aligned_rows(rows, indent=2, width=COLUMNS)
    parts.append("\n".join(["what the options mean", *meanings]))
    lines = aligned_rows(list(policies().items()), indent=2)
    lines.append(
        "  FILE.py:NAME or FILE.so:SYMBOL: a function of yours that scores an operator that is "
        "ready (docs/how-to/operators.md)"
    )
    parts.append("\n".join(["policies of coroutine, --policy: what goes on next", *lines]))
    parts.append(
        "Splits and load balances have a queue before them only if the graph threads their port: "
        "they run on the thread that\nsubmits to them."
    )
    return "\n\n".join(parts)


def option_row(name: str) -> tuple[str, ...]:
    """Return an option's row of the listing."""
    option = OPTIONS[name]
    return (flag_of(name), option.unit, option.range, option.default, option.source)
