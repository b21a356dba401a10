"""`artifact`: what goes with a paper: an appendix for its reviewers, and a run as an archive."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from harness.cli.arguments import add_profile_arguments, profile_of
from harness.errors import UserError
from harness.terminal.output import say

if TYPE_CHECKING:
    from harness.experiments.config import Config

SUMMARY = "write the appendix of an artifact, or a run as an RO-Crate"
DESCRIPTION = """\
The appendix, a Markdown file, has the check-list, the set-up and a first test, and each claim of
the papers: the command that makes its tables, the minutes, disk and memory that this needs, the
expected verdict and the tolerance. The verdicts are those of the tables that are there.

The RO-Crate, a .zip file, has records, tables, figures and ro-crate-metadata.json, which says what
each file is and what made it. An archive such as Zenodo takes it.

examples:
  millrace artifact -o appendix.md --size paper
  millrace artifact -o run.zip                    all that the quick profile has made
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `artifact`."""
    add_profile_arguments(parser)
    parser.add_argument(
        "-o",
        "--output",
        action="append",
        required=True,
        metavar="FILE",
        help="appendix (.md) or RO-Crate (.zip); may be repeated",
    )


def run(args: argparse.Namespace) -> int:
    """Write the files. Raises UserError for a kind of file that it does not write, or if nothing is
    made that an archive could have.
    """
    from harness.experiments.config import load_config

    paths = [Path(name) for name in args.output]
    for path in paths:
        if path.suffix not in (".md", ".zip"):
            raise UserError(f"-o must name a file ending in .md or .zip, not {str(path)!r}")
    config = load_config(profile_of(args))
    for path in paths:
        if path.suffix == ".md":
            size = ["--config", args.config] if args.config else ["--size", args.size or "quick"]
            _write_appendix(config, path, " ".join(size))
        else:
            _write_crate(config, path)
        say(str(path))
    return 0


def _write_appendix(config: Config, path: Path, size: str) -> None:
    from harness.claims.appendix import appendix
    from harness.claims.claim import chosen, experiments
    from harness.claims.evaluate import evaluate
    from harness.claims.tables import read_tables
    from harness.experiments.effort import effort_of_figure
    from harness.files.whole import write_whole
    from harness.machines.host.cpu import allowed_cpus

    folder = Path(config.results) / "tables"
    results = evaluate(chosen(), read_tables(folder, experiments()))
    efforts = {name: effort_of_figure(config, name) for name in config.drawable}
    text = appendix(results, efforts, size, allowed_cpus(), str(folder))
    write_whole(path, text.encode())


def _write_crate(config: Config, path: Path) -> None:
    from harness.report.crate import write_crate

    folders = [Path(config.results) / name for name in ("raw", "tables", "report-data")]
    files = [file for folder in folders for file in folder.rglob("*") if file.is_file()]
    names = [*config.drawable, "claims"]
    kinds = ("png", "svg", "md", "html")
    made = [Path(config.figure(name, kind)) for name in names for kind in kinds]
    files += [file for file in [*made, Path(config.report)] if file.is_file()]
    shown = sorted(file for file in files if not file.name.startswith((".", "_")))
    if not shown or any(file.is_absolute() or ".." in file.parts for file in shown):
        raise UserError(
            f"-o {path}: {config.path} has made nothing below this folder; `millrace figures` does"
        )
    about = {
        "name": f"A run of Millrace, profile {config.profile}",
        "description": "Records of measured and simulated runs of stream graphs under several "
        "threading models, the tables made of them, and the figures drawn from these.",
    }
    write_crate(path, shown, f"millrace figures --config {config.path}", about)
