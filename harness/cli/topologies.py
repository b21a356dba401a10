"""`millrace topologies`: the topologies with their parameters."""

from __future__ import annotations

import argparse
import json

import topologies
from harness.terminal.output import say

SUMMARY = "list the topologies with their parameters, defaults and units"

DESCRIPTION = """\
`millrace run` and `millrace show` know them, and change their parameters by --set. What is placed
at random, such as skewed costs, follows from --seed.

examples:
  millrace topologies
  millrace topologies --json | jq '.[].name'
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `topologies`."""
    parser.add_argument(
        "--json", action="store_true", help="write JSON: an array with one object a topology"
    )


def run(args: argparse.Namespace) -> int:
    """Print the listing."""
    say(json.dumps(as_data(), indent=2) if args.json else as_text())
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
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = [
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in rows
        ]
        parts.append(
            "\n  ".join([f"{topology.name}: {topology.summary} ({topology.source})", *lines])
        )
    return "\n\n".join(parts)
