"""`plot`: draw a figure from the tables, or one of a user's own experiment from its records."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from harness.cli.arguments import add_profile_arguments, profile_of
from harness.errors import UserError
from harness.files.checked_yaml import did_you_mean

if TYPE_CHECKING:
    import pandas as pd

SUMMARY = "draw a figure from the tables, or an experiment of your own from its records"
DESCRIPTION = """\
Tables are made by `millrace aggregate`, or by `millrace laws bench`. What they lack is shown as
missing.

A file in place of a figure is an experiment of your own. Its records, which millrace sweep has
measured, are drawn: the throughput of each arm over the parameter with the most values. Up to
100 MB of records are read directly, and more with Spark.

examples:
  millrace plot my.yaml
      draw the records in results/raw/my/ as my.png

  millrace plot crossover --tables results/tables/crossover -o crossover.png
  millrace plot pldi17_fig9 --tables results/tables/pldi17_fig9 -o fig9.png -o fig9.svg
"""

KINDS = ("png", "svg", "pdf")

MOST_BYTES = 100_000_000
"""Records that are read without Spark, which takes 20 s to start."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `plot`."""
    from harness.plots.figures import FIGURES

    parser.add_argument(
        "figure",
        metavar="FIGURE",
        help=f"a file with an experiment, my.yaml, or one of: {', '.join(FIGURES)}",
    )
    parser.add_argument(
        "--tables",
        metavar="DIR",
        help="folder with the tables (NAME.parquet); needed for figures that are no file",
    )
    parser.add_argument(
        "--records",
        metavar="DIR",
        help="with a file: folder with its records (default: results/raw/NAME)",
    )
    add_profile_arguments(parser)
    parser.add_argument(
        "-o",
        "--output",
        action="append",
        metavar="FILE",
        help=f"file ({', '.join(KINDS)}); may be repeated (default for a file: NAME.png)",
    )


def run(args: argparse.Namespace) -> int:
    """Draw. Raises UserError for a figure, table or file type that does not exist, RunFailed if a
    file cannot be written.
    """
    from harness.experiments.config import own_files
    from harness.plots.figures import FIGURES

    files = own_files([args.figure])
    if not files and args.figure not in FIGURES:
        meant = did_you_mean(args.figure, FIGURES)
        raise UserError(
            f"figure {args.figure!r} is unknown{meant}; figures are: {', '.join(FIGURES)}"
        )
    paths = [Path(name) for name in args.output or [f"{file.stem}.png" for file in files]]
    for path in paths:
        if path.suffix.removeprefix(".") not in KINDS:
            raise UserError(
                f"-o must name a file ending in {', '.join('.' + kind for kind in KINDS)}, not "
                f"{str(path)!r}"
            )
    if files:
        if args.tables is not None:
            raise UserError(f"--tables is for figures that are no file, not for {args.figure}")
        _draw_own(files[0], args, paths)
        return 0
    if args.records is not None:
        raise UserError(f"--records is for a file with an experiment, not for {args.figure}")
    for option, value in (("--tables", args.tables), ("-o", paths)):
        if not value:
            raise UserError(f"figure {args.figure} needs {option}")
    from harness.plots.draw import draw

    draw(FIGURES[args.figure], Path(args.tables), paths)
    return 0


def _draw_own(file: Path, args: argparse.Namespace, paths: list[Path]) -> None:
    """Draw a user's own experiment. Raises UserError if there are no records of it."""
    from harness.experiments.config import load_config
    from harness.plots import style
    from harness.plots.experiment_panels import figure_of_experiment
    from harness.terminal.output import say

    config = load_config(profile_of(args), files=[file])
    experiment = config.experiment(file.stem)
    folder = Path(args.records or config.records(file.stem, "any")).parent
    folder = Path(args.records) if args.records else folder
    size = sum(path.stat().st_size for path in folder.glob("*.jsonl"))
    if not size:
        raise UserError(f"{folder} holds no records; millrace sweep {file} measures them")
    table = _with_spark(folder) if size > MOST_BYTES else _with_pandas(folder)
    cells = {cell.name: {"topology": cell.topology, **cell.parameters} for cell in experiment.cells}
    table = table[table["cell"].isin(cells) & table["mean"].notna()]
    if table.empty:
        raise UserError(f"{folder} holds no correct run of a cell of {file}")
    style.save(figure_of_experiment(table, cells, file.stem), paths)
    say(f"wrote {', '.join(map(str, paths))}: {len(table)} arms of {table['cell'].nunique()} cells")


def _with_pandas(folder: Path) -> pd.DataFrame:
    from harness.experiments.results import table_of_folder

    return table_of_folder(folder)


def _with_spark(folder: Path) -> pd.DataFrame:
    import tempfile

    import pandas as pd

    from harness.spark.aggregate import aggregate
    from harness.spark.session import for_records, open_session
    from harness.spark.storage import bytes_of_records, table_writer

    with tempfile.TemporaryDirectory() as tables:
        settings = for_records(bytes_of_records(str(folder)))
        with table_writer(tables) as writer, open_session(settings) as spark:
            aggregate(spark, str(folder), writer)
        return pd.read_parquet(Path(tables) / "throughput.parquet")
