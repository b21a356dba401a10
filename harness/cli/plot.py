"""`plot`: draw a figure from the tables."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from harness.errors import UserError
from harness.files.given import is_table

if TYPE_CHECKING:
    import pandas as pd

SUMMARY = "draw a figure from the tables"
DESCRIPTION = """\
Tables are made by `millrace aggregate`, or by `millrace laws bench`. What they lack is shown as missing.

examples:
  millrace plot crossover --tables results/tables/crossover -o crossover.png
  millrace plot pldi17_fig9 --tables results/tables/pldi17_fig9 -o fig9.png -o fig9.svg
"""

KINDS = ("png", "svg", "pdf")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `plot`."""
    from harness.plots import FIGURES

    parser.add_argument("figure", metavar="FIGURE", help=f"one of: {', '.join(FIGURES)}")
    parser.add_argument("--tables", required=True, metavar="DIR", help="folder with the tables (NAME.parquet)")
    parser.add_argument(
        "-o",
        "--output",
        required=True,
        action="append",
        metavar="FILE",
        help=f"file ({', '.join(KINDS)}); may be repeated",
    )


def run(args: argparse.Namespace) -> int:
    """Draw. Raises UserError for a figure, table or file type that is not there, RunFailed if a file cannot be written."""
    import importlib

    from harness.plots import FIGURES

    if args.figure not in FIGURES:
        raise UserError(f"figure {args.figure!r} is unknown; figures are: {', '.join(FIGURES)}")
    paths = [Path(name) for name in args.output]
    for path in paths:
        if path.suffix.removeprefix(".") not in KINDS:
            raise UserError(f"-o must name a file ending in {', '.join('.' + kind for kind in KINDS)}, not {str(path)!r}")
    module = importlib.import_module(f"harness.plots.{args.figure}")
    tables = {name: read_table(Path(args.tables), name, args.figure) for name in module.TABLES}
    from harness.plots import style

    try:
        drawing = module.figure(tables)
    except KeyError as error:
        column = error.args[0]
        if any(column in table for table in tables.values()):
            raise
        raise UserError(
            f"--tables: a table in {args.tables} has no column {column!r}; `millrace aggregate` makes it anew"
        ) from error
    style.save(drawing, paths)
    return 0


def read_table(folder: Path, name: str, experiment: str) -> pd.DataFrame:
    """The rows of an experiment in a table, in a fixed order; all rows of a bench's table, as they are.

    Raises UserError if the table cannot be read or has none.
    """
    import pandas as pd

    from harness.experiments.config import BENCHES

    path = folder / f"{name}.parquet"
    if not is_table(path):
        raise UserError(f"--tables: no table {path}; `millrace aggregate` makes it")
    try:
        table = pd.read_parquet(path)
    except (OSError, ValueError) as error:
        raise UserError(f"--tables: {path} cannot be read as Parquet: {str(error).splitlines()[0]}") from error
    if experiment in BENCHES and not table.empty:
        return table
    if table.empty or "experiment" not in table:
        raise UserError(f"--tables: {path} is empty")
    rows = table[table["experiment"] == experiment]
    if rows.empty:
        found = ", ".join(sorted(table["experiment"].unique()))
        raise UserError(f"--tables: {path} has no rows of the experiment {experiment!r}; it has: {found}")
    order = [column for column in ("topology", "cell", "model", "arm") if column in rows]
    return rows.sort_values(order, kind="stable").reset_index(drop=True)
