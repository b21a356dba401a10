"""Arguments for the place of a run: `--machine`, `--cpus`, `--simulated`, `--software`,
`--set-constant`.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from harness.cli.arguments import shown, whole
from harness.cli.settings import parse_settings
from harness.engine import DEFAULT_SOFTWARE, LOCAL
from harness.errors import UserError
from harness.machines.machine import MAX_CPUS
from harness.machines.place import Place


def add_place_arguments(parser: argparse.ArgumentParser, default: str | None = LOCAL) -> None:
    """Add the options; `harness.machines.place.find_place` reads the first four, `parse_constants`
    the last one.
    """
    meaning = "local, its threads" if default == LOCAL else "that of the experiment"
    parser.add_argument(
        "--machine",
        default=default,
        metavar="NAME",
        help=f"where to run: local, or a simulated machine (default: {meaning})",
    )
    parser.add_argument(
        "--cpus",
        type=whole(1, MAX_CPUS),
        metavar="N",
        help="simulated machines only: use the first N CPUs; cores come first, then their further "
        "hardware threads",
    )
    parser.add_argument(
        "--simulated", action="store_true", help="simulate the machine, even if it is local"
    )
    parser.add_argument(
        "--software",
        default="",
        metavar="NAME",
        help=f"the runtime whose costs are simulated (default: {DEFAULT_SOFTWARE})",
    )
    parser.add_argument(
        "--set-constant",
        action="append",
        default=[],
        metavar="PATH=VALUE",
        help="replace a constant of a simulated machine, or its cache.l3, as in atomic.fence=20; "
        "may be repeated",
    )


def parse_constants(place: Place, assignments: Sequence[str]) -> dict[str, float]:
    """Return constants by path. Raises UserError for a text that is no PATH=VALUE, or no constant
    of the place's machine.
    """
    constants: dict[str, float] = {}
    for path, text in parse_settings(assignments, "--set-constant").items():
        try:
            constants[path] = float(text)
        except ValueError:
            raise UserError(f"--set-constant {path} must be a number, not {shown(text)}") from None
    place.check_constants(constants)
    return constants
