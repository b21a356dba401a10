"""`millrace claims`: check the papers' claims against the tables."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from harness.claims.papers import PAPERS
from harness.cli.arguments import factor
from harness.errors import UserError
from harness.files.checked_yaml import did_you_mean

if TYPE_CHECKING:
    from harness.claims.evaluate import Result

SUMMARY = "check the papers' claims against the tables"
DESCRIPTION = """\
A verdict is reproduced, not reproduced, or the reason why there is no answer; the numbers that it
rests on are beside it. For simulated machines the report says whether a verdict depends on
estimated constants. Measurements on this machine are reported beside. A claim that fails is part of
the report: the exit code is 0, unless --strict is given.

examples:
  millrace claims           all claims, on what `millrace figures` made
  millrace claims --tables results/paper/tables --paper P17 --machine xeon
  millrace claims p17-5.1-manual-worst p17-5.3-dynamic-best
  millrace claims -o claims.md -o claims.html -o claims.json
  millrace claims --simulator-error 1.4
                            mark verdicts that an error of this size could change
  millrace claims --list    what is claimed where; needs no tables
"""

KINDS = (".md", ".html", ".json")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `claims`."""
    parser.add_argument(
        "claim", nargs="*", metavar="CLAIM-ID", help="claims to check (default: all)"
    )
    parser.add_argument(
        "--tables",
        default="results/tables",
        metavar="DIR",
        help="folder with the tables of experiments (default: %(default)s)",
    )
    parser.add_argument(
        "--paper", metavar="PAPER", help=f"claims of this paper only: {', '.join(PAPERS)}"
    )
    parser.add_argument("--machine", metavar="NAME", help="results on this machine only")
    parser.add_argument(
        "--simulator-error",
        type=factor,
        metavar="X",
        help="factor by which the ratio of two simulated throughputs may be wrong, as `millrace "
        "validate` reports it; marks the verdicts that this could change",
    )
    parser.add_argument(
        "-o",
        "--output",
        action="append",
        default=[],
        metavar="FILE",
        help="file (.md, .html, .json); may be repeated; - is stdout",
    )
    parser.add_argument("--list", action="store_true", help="list the claims and check nothing")
    parser.add_argument(
        "--strict",
        action="store_true",
        help="exit with 1 if a claim is not reproduced on a machine it is about",
    )


def run(args: argparse.Namespace) -> int:
    """Check and report. Raises UserError for bad input, RunFailed if a report cannot be written."""
    from harness.claims.claim import chosen, experiments
    from harness.terminal.output import say

    if args.paper is not None and args.paper not in PAPERS:
        close = did_you_mean(args.paper, PAPERS)
        raise UserError(f"--paper must be one of {', '.join(PAPERS)}, not {args.paper!r}{close}")
    for name in args.output:
        if name != "-" and Path(name).suffix not in KINDS:
            raise UserError(
                f"-o must name a file ending in {', '.join(KINDS)}, or be -, not {name!r}"
            )
    claims = chosen(args.claim, args.paper)
    if args.list:
        from harness.claims.report import listing

        for option, value in (
            ("-o", args.output),
            ("--machine", args.machine),
            ("--simulator-error", args.simulator_error),
            ("--strict", args.strict),
        ):
            if value:
                raise UserError(f"{option} is for claims that are checked; --list checks none")
        say(listing(claims))
        return 0

    from harness.claims.evaluate import ClaimVerdict, evaluate
    from harness.claims.tables import read_tables

    tables = read_tables(Path(args.tables), experiments())
    known = {venue.machine for venue in tables.venues()} | {
        name for claim in claims for name in claim.machines
    }
    if args.machine is not None and args.machine not in known:
        raise UserError(
            f"--machine must be one of {', '.join(sorted(known))}, not {args.machine!r}"
        )
    results = evaluate(claims, tables, args.machine, args.simulator_error)
    if not results:
        raise UserError(f"--machine {args.machine}: none of these claims is checked on it alone")
    _write(results, args.output or ["-"])
    failed = any(
        result.verdict is ClaimVerdict.NOT_REPRODUCED and not result.beside for result in results
    )
    return 1 if args.strict and failed else 0


def _write(results: Sequence[Result], outputs: Sequence[str]) -> None:
    from harness.claims import page, report
    from harness.files.whole import write_whole
    from harness.terminal.output import say

    for name in outputs:
        match Path(name).suffix:
            case ".html":
                text = page.html(results)
            case ".json":
                text = json.dumps(report.document(results), indent=1, ensure_ascii=False) + "\n"
            case _:
                text = report.markdown(results)
        if name == "-":
            say(text.rstrip("\n"))
        else:
            write_whole(name, text.encode())
