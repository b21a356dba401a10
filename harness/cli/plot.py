"""`plot`: draw a figure from the tables, or one of a user's own experiment from its records."""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from harness.cli.arguments import add_profile_arguments, profile_of, shown, whole
from harness.errors import UserError
from harness.files.checked_yaml import did_you_mean
from harness.terminal.output import say

if TYPE_CHECKING:
    import pandas as pd

    from harness.experiments.experiment import Experiment
    from harness.plots.draw import Part

SUMMARY = "draw a figure from the tables, or an experiment of your own from its records"
DESCRIPTION = """\
Tables are made by `millrace aggregate`, or by `millrace laws bench`. What they lack is shown as
missing.

A file in place of a figure is an experiment of your own. Its records, which millrace sweep has
measured, are drawn: the throughput of each arm over the parameter with the most values. Up to
100 MB of records are read directly, and more with Spark. If the file says `explained: true`, bars
below show what the threads of each arm spent their time on.

examples:
  millrace plot my.yaml
      draw the records in results/raw/my/ as my.png

  millrace plot crossover --tables results/tables/crossover -o crossover.png
  millrace plot pldi17_fig9 --tables results/tables/pldi17_fig9 -o fig9.png -o fig9.svg

  millrace plot pldi17_fig10 --panel mix,cost=1000 --machine xeon --width 3.3in --no-title -o f.pdf
      one panel for a column of a paper: its text is text, in TrueType fonts of 7 points; what the
      title and the foot said is printed, for the caption

  millrace plot pldi17_fig10 --panel mix,cost=1000 --machine xeon --without dynamic-elastic-pldi17 \
      --title 'As many threads as the work needs' -o front.png
      one panel with a title of your own, without one of the arms

  millrace plot pldi17_fig10 --csv fig10.csv --latex fig10.tex
      the data of the figure and no picture
"""

KINDS = ("png", "svg", "pdf")

INCHES = {"in": 1.0, "cm": 1 / 2.54, "mm": 1 / 25.4, "pt": 1 / 72.27}
"""Units of widths. A pt is that of TeX."""
LEAST_INCHES, MOST_INCHES = 1.5, 30.0
SMALLEST_PT, LARGEST_PT = 4, 24

MOST_FONTS = 12
"""Fonts in an error message."""

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
        help="folder with the tables, NAME.parquet (default: that of `millrace figures` for the "
        "profile)",
    )
    parser.add_argument(
        "--records",
        metavar="DIR",
        help="with a file: folder with its records, or .tar.gz from another machine (default: "
        "results/raw/NAME)",
    )
    add_profile_arguments(parser)
    parser.add_argument(
        "-o",
        "--output",
        action="append",
        metavar="FILE",
        help=f"file ({', '.join(KINDS)}); may be repeated (default: NAME.png)",
    )
    parser.add_argument(
        "--panel",
        action="append",
        default=[],
        metavar="CELL",
        help="draw these cells alone, named by topology and parameters: mix,cost=1000; may be "
        "repeated",
    )
    parser.add_argument("--machine", metavar="NAME", help="draw results on this machine alone")
    parser.add_argument(
        "--without",
        action="append",
        default=[],
        metavar="ARM",
        help="leave out this arm, such as dynamic-elastic-pldi17; may be repeated",
    )
    parser.add_argument(
        "--title", metavar="TEXT", help="title of the figure, in place of its own one"
    )
    parser.add_argument(
        "--width",
        type=_width,
        metavar="LENGTH",
        help="width of the figure with its unit, such as 3.3in or 84mm; panels without room go "
        "below",
    )
    parser.add_argument(
        "--font", metavar="NAME", help="font of all text, such as serif or Times New Roman"
    )
    parser.add_argument(
        "--font-size",
        type=whole(SMALLEST_PT, LARGEST_PT),
        metavar="POINTS",
        help="size of ordinary text (default: 9, or 7 with --width)",
    )
    parser.add_argument(
        "--no-title",
        action="store_true",
        help="leave out title and foot, and print them for the caption",
    )
    parser.add_argument("--csv", metavar="FILE", help="write the data that is drawn as CSV")
    parser.add_argument(
        "--latex", metavar="FILE", help="write the data that is drawn as a LaTeX table"
    )


def _width(text: str) -> float:
    """Return a width in inches, from a number with its unit."""
    found = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)(in|cm|mm|pt)", text)
    if found and LEAST_INCHES <= (inches := float(found[1]) * INCHES[found[2]]) <= MOST_INCHES:
        return inches
    raise argparse.ArgumentTypeError(
        f"must be from {LEAST_INCHES:g}in to {MOST_INCHES:g}in, in one of {', '.join(INCHES)}, "
        f"not {shown(text)}"
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
    name = files[0].stem if files else args.figure
    data = args.csv or args.latex
    paths = [Path(path) for path in args.output or ([] if data else [f"{name}.png"])]
    for path in paths:
        if path.suffix.removeprefix(".") not in KINDS:
            raise UserError(
                f"-o must name a file ending in {', '.join('.' + kind for kind in KINDS)}, not "
                f"{str(path)!r}"
            )
    if files and args.tables is not None:
        raise UserError(f"--tables is for figures that are no file, not for {args.figure}")
    if not files and args.records is not None:
        raise UserError(f"--records is for a file with an experiment, not for {args.figure}")
    if args.font is not None:
        _check_font(args.font)
    from harness.plots.draw import Part
    from harness.plots.paper import Shape, shaped

    data_files = (path and Path(path) for path in (args.csv, args.latex))
    part = Part(args.panel, args.machine, *data_files, without=args.without)
    shape = Shape(args.width, args.font, args.font_size, not args.no_title)
    with shaped(shape):
        if files:
            _draw_own(files[0], args, paths, part)
        else:
            _draw_row(args, paths, part)
    if not shape.titled and paths:
        title = args.title or (name if files else FIGURES[name].heading)
        say(" ".join([f"{title}.", *shape.foot]))
    return 0


def _check_font(name: str) -> None:
    """Raise UserError, with similar fonts, for a font that this machine does not have."""
    from difflib import get_close_matches

    from matplotlib import font_manager

    known = {font.name for font in font_manager.fontManager.ttflist}
    families = sorted(font_manager.font_family_aliases)
    if name in known or name in families:
        return
    fonts = [*families, *sorted(known)]
    by_folded = {font.casefold(): font for font in fonts}
    folded = name.casefold()
    close = get_close_matches(folded, by_folded, n=MOST_FONTS)
    similar = [by_folded[each] for each in close]
    similar += [font for each, font in by_folded.items() if folded in each and font not in similar]
    named = "similar ones are" if similar else "fonts are"
    listed = similar or fonts
    more = f" and {len(listed) - MOST_FONTS} more" if len(listed) > MOST_FONTS else ""
    raise UserError(
        f"--font {shown(name)}: this machine has no such font; {named}: "
        f"{', '.join(listed[:MOST_FONTS])}{more}"
    )


def _draw_row(args: argparse.Namespace, paths: list[Path], part: Part) -> None:
    """Draw a row of the table of figures, from the folder of its tables."""
    from harness.plots.draw import draw
    from harness.plots.figures import FIGURES

    if args.tables is not None:
        folder = Path(args.tables)
    else:
        from harness.experiments.config import load_config

        folder = Path(load_config(profile_of(args)).tables(args.figure))
    _say_left_out(args, draw(FIGURES[args.figure], folder, paths, part, args.title))


def _say_left_out(args: argparse.Namespace, lost: str) -> None:
    """Say which points are left out; without a title, the foot is printed and says it."""
    if lost and not args.no_title:
        say(lost)


def _draw_own(file: Path, args: argparse.Namespace, paths: list[Path], part: Part) -> None:
    """Draw a user's own experiment. Raises UserError if there are no records of it."""
    from harness.bundle.brought import folder_of
    from harness.experiments.config import load_config

    config = load_config(profile_of(args), files=[file])
    place = args.records or Path(config.records(file.stem, "any")).parent
    with folder_of(str(place)) as folder:
        _draw_records(args, file, config.experiment(file.stem), Path(folder), paths, part)


def _draw_records(
    args: argparse.Namespace,
    file: Path,
    experiment: Experiment,
    folder: Path,
    paths: list[Path],
    part: Part,
) -> None:
    import pandas as pd

    from harness.experiments.results import in_order
    from harness.plots import style
    from harness.plots.experiment_panels import figure_of_experiment
    from harness.plots.provenance import left_out
    from harness.spark.stationary import without_unsettled

    size = sum(path.stat().st_size for path in folder.rglob("*.jsonl"))
    if not size:
        raise UserError(f"{folder} holds no records; millrace sweep {file} measures them")
    table = _with_spark(folder) if size > MOST_BYTES else _with_pandas(folder)
    cells = {cell.name: {"topology": cell.topology, **cell.parameters} for cell in experiment.cells}
    table = table[table["cell"].isin(cells)]
    if table["mean"].isna().all():
        raise UserError(f"{folder} holds no correct run of a cell of {file}")
    machines = list(dict.fromkeys(block.place.machine for block in experiment.blocks()))
    arms = [arm.name for arm in experiment.arms]
    table = without_unsettled(in_order(table, machines, list(cells), arms))
    of_cells = pd.DataFrame([cells[cell] for cell in table["cell"]], index=table.index)
    table = table.assign(**{column: of_cells[column] for column in of_cells if column not in table})
    table = part.of({"throughput": table})["throughput"]
    if not paths:
        return
    uses = _time_uses(folder) if any(block.explained for block in experiment.blocks()) else {}
    style.save(figure_of_experiment(table, cells, args.title or file.stem, uses), paths)
    say(f"wrote {', '.join(map(str, paths))}: {len(table)} arms of {table['cell'].nunique()} cells")
    _say_left_out(args, left_out(table))


def _with_pandas(folder: Path) -> pd.DataFrame:
    from harness.experiments.results import table_of_folder

    return table_of_folder(folder)


def _time_uses(folder: Path) -> dict[tuple[str, str, str], dict[str, float]]:
    """Return, for each arm of each cell on each machine, the mean shares of its threads' time."""
    from statistics import fmean

    from harness.explain import explain
    from harness.measurement.records import read_records

    seen: dict[tuple[str, str, str], list[Mapping[str, float]]] = {}
    for path in sorted(folder.rglob("*.jsonl")):
        for record in read_records(path)[0]:
            if record.get("time_use") and record["error"] is None and record["correct"]:
                key = (record["cell"], record["machine"], record["arm"])
                seen.setdefault(key, []).append(explain(record).shares)
    return {
        key: {name: fmean(each[name] for each in shares) for name in shares[0]}
        for key, shares in seen.items()
    }


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
