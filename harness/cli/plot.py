"""`plot`: draw a figure from the tables."""

from __future__ import annotations

import argparse
from pathlib import Path

from harness.errors import UserError
from harness.files.checked_yaml import did_you_mean

SUMMARY = "draw a figure from the tables"
DESCRIPTION = """\
Tables are made by `millrace aggregate`, or by `millrace laws bench`. What they lack is shown as
missing.

examples:
  millrace plot crossover --tables results/tables/crossover -o crossover.png
  millrace plot pldi17_fig9 --tables results/tables/pldi17_fig9 -o fig9.png -o fig9.svg
"""

KINDS = ("png", "svg", "pdf")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `plot`."""
    from harness.plots.figures import FIGURES

    parser.add_argument("figure", metavar="FIGURE", help=f"one of: {', '.join(FIGURES)}")
    parser.add_argument(
        "--tables", required=True, metavar="DIR", help="folder with the tables (NAME.parquet)"
    )
    parser.add_argument(
        "-o",
        "--output",
        required=True,
        action="append",
        metavar="FILE",
        help=f"file ({', '.join(KINDS)}); may be repeated",
    )


def run(args: argparse.Namespace) -> int:
    """Draw. Raises UserError for a figure, table or file type that does not exist, RunFailed if a
    file cannot be written.
    """
    from harness.plots.figures import FIGURES

    if args.figure not in FIGURES:
        meant = did_you_mean(args.figure, FIGURES)
        raise UserError(
            f"figure {args.figure!r} is unknown{meant}; figures are: {', '.join(FIGURES)}"
        )
    paths = [Path(name) for name in args.output]
    for path in paths:
        if path.suffix.removeprefix(".") not in KINDS:
            raise UserError(
                f"-o must name a file ending in {', '.join('.' + kind for kind in KINDS)}, not "
                f"{str(path)!r}"
            )
    from harness.plots.draw import draw

    draw(FIGURES[args.figure], Path(args.tables), paths)
    return 0
