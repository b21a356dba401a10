"""`report`: one page with all figures that are made, their captions, claims and data."""

from __future__ import annotations

import argparse
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

from harness.cli.arguments import add_profile_arguments, profile_of
from harness.errors import UserError
from harness.files.checked_yaml import did_you_mean
from harness.terminal.output import say, tell

if TYPE_CHECKING:
    from harness.experiments.config import Config

SUMMARY = "write the figures that are made, with captions, claims and data, as one page"
DESCRIPTION = """\
The page has the papers in order. Each figure has its caption, the verdicts on the papers' claims
that are checked on it, and links to its data as CSV, in a folder beside the page. It can be read on
a phone. It measures nothing: `millrace figures` makes the figures, and `millrace figures --report`
makes them and writes the page.

examples:
  millrace report                            all figures that are made, in results/report.html
  millrace report pldi17_fig9 -o page.html   one figure
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `report`."""
    parser.add_argument(
        "figure", nargs="*", metavar="FIGURE", help="figures to show (default: all)"
    )
    add_profile_arguments(parser)
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="page to write, .html (default: report.html in the profile's results)",
    )


def run(args: argparse.Namespace) -> int:
    """Write the page. Raises UserError for a figure that does not exist or if none is made."""
    from harness.experiments.config import load_config

    config = load_config(profile_of(args))
    for name in args.figure:
        if name not in config.drawable:
            meant = did_you_mean(name, config.drawable)
            raise UserError(
                f"FIGURE {name!r} is none of {config.path}{meant}; figures are: "
                f"{', '.join(config.drawable)}"
            )
    path = page_of(config, "-o", args.output)
    write(config, path, args.figure)
    say(str(path))
    return 0


def page_of(config: Config, option: str, given: str | None) -> Path:
    """Return the file of the page. Raises UserError if it is no .html file."""
    path = Path(given or config.report)
    if path.suffix != ".html":
        raise UserError(f"{option} must name a file ending in .html, not {given!r}")
    return path


def write(config: Config, path: Path, figures: Collection[str] = ()) -> None:
    """Write the page, and say on standard error which figures are not made."""
    from harness.report.page import write_report

    if missing := write_report(config, path, figures):
        tell(f"not on the page, since they are not made: {', '.join(missing)}")
