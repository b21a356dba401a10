"""The command `millrace gate history`: stores verdicts of the gate, and shows when and where a cell
has changed."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from harness.errors import UserError
from harness.files.checked_yaml import did_you_mean
from harness.terminal.output import say, tell

if TYPE_CHECKING:
    from harness.gate.history.trend import CellHistory

SUMMARY = "keep verdicts of the gate, and find changes of level over them"
DESCRIPTION = """\
A gate compares two commits, so it cannot see many small slowdowns that each stay below its factor.
A history of verdicts, one a night, shows them. `add` keeps a verdict, `show` prints for each cell
the latest result, the level and its changes, and `plot` draws them.

Results of different hosts (CPU, CPUs allowed, quota, governor, kernel, Python, compiler) form
separate series.

examples:
  millrace gate --base v1.4 --json verdict.json
  millrace gate history add verdict.json
  millrace gate history show
  millrace gate history show --cell pipeline-dynamic --json -
  millrace gate history plot -o trend.svg

It needs the extra [figures]: pip install 'millrace[figures]'

docs/how-to/gate-in-ci.md says how to keep a history from night to night."""

DEFAULT_HISTORY = "results/gate/history"
DEFAULT_FIGURES = ("figures/gate_trend.png", "figures/gate_trend.svg")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add a parser for each command; its function is `args.action`."""
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    adding = commands.add_parser(
        "add",
        help="keep verdicts",
        description="Keep verdicts. One that is there already stays one.",
    )
    adding.set_defaults(action=add)
    adding.add_argument(
        "verdict", nargs="+", metavar="VERDICT.json", help="what `millrace gate --json FILE` wrote"
    )
    showing = commands.add_parser(
        "show", help="a table of the cells", description="The cells: latest result, level, changes."
    )
    showing.set_defaults(action=show)
    showing.add_argument(
        "--json",
        metavar="FILE|-",
        help="as JSON: to FILE, or with - to stdout in place of the table",
    )
    plotting = commands.add_parser(
        "plot", help="draw the trends", description="A panel a cell, a colour a host."
    )
    plotting.set_defaults(action=plot)
    plotting.add_argument(
        "-o",
        "--output",
        action="append",
        metavar="FILE",
        help=f"png, svg or pdf; may be repeated (default: {' and '.join(DEFAULT_FIGURES)})",
    )
    for command in (adding, showing, plotting):
        command.add_argument(
            "--history",
            default=DEFAULT_HISTORY,
            metavar="DIR",
            help="the folder of the history (default: %(default)s)",
        )
    for command in (showing, plotting):
        command.add_argument(
            "--cell", action="append", metavar="NAME", help="this cell only; may be repeated"
        )
        command.add_argument(
            "--host",
            metavar="TEXT",
            help="only hosts whose key, as `show` prints it, contains TEXT",
        )
        command.add_argument(
            "--join-hosts",
            action="store_true",
            help="one series a cell, whatever it was measured on; every line says so",
        )


def run(args: argparse.Namespace) -> int:
    """Run the command. Raises UserError for bad input, RunFailed if a file cannot be written."""
    return args.action(args)


def add(args: argparse.Namespace) -> int:
    """Store verdicts: all of them, or none if one cannot be used."""
    from harness.gate.history import store
    from harness.gate.history.row import entry_of
    from harness.gate.host_key import UNKNOWN, host_key
    from harness.gate.results import read_verdict

    comparisons = [read_verdict(path).comparison for path in args.verdict]
    for path, comparison in zip(args.verdict, comparisons, strict=True):
        try:
            entry_of(comparison)
        except UserError as error:
            raise UserError(f"{path}: {error}") from error
    for path, comparison in zip(args.verdict, comparisons, strict=True):
        kept = store.add(comparison, Path(args.history))
        outcome = f"kept as {kept}" if kept else f"is in {args.history} already"
        nameless = (
            ""
            if host_key(comparison.head.host) != UNKNOWN
            else "; it tells no host: keep those of several hosts apart"
        )
        say(f"{path}: {outcome}{nameless}")
    return 0


def show(args: argparse.Namespace) -> int:
    """Print the table, or write the document."""
    from harness.gate.history import text

    found = _series(args)
    if args.json is None:
        say(text.table(found))
        return 0
    written = json.dumps(text.document(found), indent=1, allow_nan=False)
    if args.json == "-":
        say(written)
    else:
        from harness.files.whole import write_whole

        write_whole(args.json, (written + "\n").encode())
    return 0


def plot(args: argparse.Namespace) -> int:
    """Draw the figure."""
    from harness.cli.plot import KINDS

    paths = [Path(name) for name in args.output or DEFAULT_FIGURES]
    for path in paths:
        if path.suffix.removeprefix(".") not in KINDS:
            raise UserError(
                f"-o must name a file ending in {', '.join('.' + kind for kind in KINDS)}, not "
                f"{str(path)!r}"
            )
    found = _series(args)
    from harness.plots import gate_trend, style

    style.save(gate_trend.figure(found), paths)
    for path in paths:
        say(f"drawn: {path}")
    return 0


def _series(args: argparse.Namespace) -> list[CellHistory]:
    """Return the series asked for. Raises UserError if there is no such cell or host."""
    from harness.gate.history import store
    from harness.gate.history.trend import series_of

    table = store.read(Path(args.history), lambda note: tell(f"millrace gate history: {note}"))
    for name in args.cell or ():
        _known("--cell", name, table["cell"], name in set(table["cell"]))
    if args.cell:
        table = table[table["cell"].isin(args.cell)]
    if args.host is not None:
        fits = table["host_key"].str.contains(args.host, regex=False)
        _known("--host", args.host, table["host_key"], bool(fits.any()))
        table = table[fits]
    return series_of(table, join_hosts=args.join_hosts)


def _known(option: str, value: str, known: Iterable[str], is_known: bool) -> None:
    if not is_known:
        names = sorted(set(known))
        raise UserError(
            f"{option} {value!r} is not in the history{did_you_mean(value, names)}; it has: "
            f"{'; '.join(names)}"
        )
