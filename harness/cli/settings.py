"""`--set NAME=VALUE`, the option with which a command takes a topology's parameters."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from harness.errors import UserError


def add_settings_argument(parser: argparse.ArgumentParser) -> None:
    """Add `--set` to a command; what was given, a list of texts, is then `args.set`, to be read by `parse_settings`."""
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="set a parameter of the topology; may be repeated (parameters: millrace topologies)",
    )


def parse_settings(settings: Sequence[str]) -> dict[str, str]:
    """Parameter names with their values, as text: whether a topology accepts them is the topology's to say.

    Raises UserError for a setting that is not NAME=VALUE, or for a name that is set twice.
    """
    values: dict[str, str] = {}
    for setting in settings:
        name, equals, value = setting.partition("=")
        if not name or not equals:
            raise UserError(f"--set takes NAME=VALUE, not {setting!r}")
        if name in values:
            raise UserError(f"--set gives {name!r} twice: {values[name]!r} and {value!r}")
        values[name] = value
    return values
