"""`millrace topologies`: the topologies with their parameters."""

from __future__ import annotations

import argparse

import topologies
from harness.cli.parser import add_json, write_json
from harness.terminal.output import say
from harness.terminal.table import aligned_rows

SUMMARY = "list the topologies with their parameters, defaults and units"

DESCRIPTION = """\
`millrace run` and `millrace show` know them, and change their parameters by --set. What is placed
at random, such as skewed costs, follows from --seed.

examples:
  millrace topologies
  millrace topologies --json - | jq '.[].name'
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `topologies`."""
    add_json(parser, "an array with one object a topology")


def run(args: argparse.Namespace) -> int:
    """Print the listing."""
    if args.json is not None:
        write_json(args.json, as_data())
    else:
        say(as_text())
    return 0


def as_data() -> list[dict]:
    """Return the topologies as data for JSON."""
    return [
        {
            "name": topology.name,
            "summary": topology.summary,
            "source": topology.source,
            "parameters": [
                {
                    "name": parameter.name,
                    "default": parameter.default,
                    "unit": parameter.unit,
                    "low": parameter.low,
                    "high": parameter.high,
                    "words": list(parameter.words),
                    "path": parameter.path,
                    "url": parameter.url,
                    "meaning": parameter.meaning,
                }
                for parameter in topology.takes
            ],
        }
        for topology in topologies.TOPOLOGIES.values()
    ]


def as_text() -> str:
    """Return the topologies as text: a table of parameters under each name."""
    parts = []
    for topology in topologies.TOPOLOGIES.values():
        rows = [("parameter", "default", "unit", "range", "meaning")]
        for parameter in topology.takes:
            numbers = [] if parameter.low is None else [f"{parameter.low} .. {parameter.high}"]
            values = ", ".join(
                [
                    *numbers,
                    *parameter.words,
                    *["a file"] * parameter.path,
                    *["a URL"] * parameter.url,
                ]
            )
            rows.append(
                (parameter.name, str(parameter.default), parameter.unit, values, parameter.meaning)
            )
        title = f"{topology.name}: {topology.summary} ({topology.source})"
        parts.append("\n".join([title, *aligned_rows(rows, indent=2)]))
    return "\n\n".join(parts)
