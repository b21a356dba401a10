"""Arguments of commands that run or draw a graph: TOPOLOGY, and `--set NAME=VALUE` for its
parameters.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import topologies
from harness.errors import UserError


def add_topology_argument(parser: argparse.ArgumentParser, required: bool = True) -> None:
    """Add `args.topology`: a topology's name or a graph file; None if it is left out."""
    names = ", ".join(topologies.TOPOLOGIES)
    parser.add_argument(
        "topology",
        nargs=None if required else "?",
        metavar="TOPOLOGY",
        help=f"one of: {names}; or a graph file ending in .yaml, .yml, .json, .csv, .py, or "
        ".py:FUNCTION (docs/how-to/graphs.md)",
    )


def add_settings_argument(parser: argparse.ArgumentParser) -> None:
    """Add `--set` to a command; its values are then `args.set`, a list of texts for
    `parse_settings`.
    """
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="set a parameter of the topology, or of the function in a .py file; may be repeated "
        "(see millrace topologies)",
    )


def parse_settings(settings: Sequence[str], option: str = "--set") -> dict[str, str]:
    """Return names with their values, as text, of a repeatable option; the topology or law checks
    the values later.

    Raises UserError for a setting that is not NAME=VALUE, or for a name that is set twice.
    """
    values: dict[str, str] = {}
    for setting in settings:
        name, equals, value = setting.partition("=")
        if not name or not equals:
            raise UserError(f"{option} takes NAME=VALUE, not {setting!r}")
        if name in values:
            raise UserError(f"{option} gives {name!r} twice: {values[name]!r} and {value!r}")
        values[name] = value
    return values
