"""`millrace doctor`: what disturbs measurements on this machine, and what to do about it."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from harness.cli.arguments import seconds
from harness.cli.parser import add_json, write_json
from harness.measurement.doctor import examine, wrong_in
from harness.terminal.output import say
from harness.terminal.table import aligned_rows

SUMMARY = "say what disturbs measurements on this machine, and what to do about it"

WATCH_S, SHORTEST_S = 2.0, 0.1
WIDTH = 100

DESCRIPTION = """\
Looks at the frequency governor and turbo, CPUs that share a core, other processes, the hypervisor,
interruptions, quotas, huge pages and the clock. It changes nothing: for what is wrong it shows the
command that helps. Every record tells of such disturbances too, in its object `host`.

The exit code is 0 whatever it finds.

examples:
  millrace doctor
      watch the machine for two seconds

  millrace doctor --watch 60
      watch it for a minute, to catch neighbours that come and go"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `doctor`."""
    parser.add_argument(
        "--watch",
        type=seconds(SHORTEST_S),
        default=WATCH_S,
        metavar="S",
        help="seconds to watch other processes (default: %(default)g)",
    )
    add_json(parser, "an array with one object a finding")


def run(args: argparse.Namespace) -> int:
    """Examine this machine, and report."""
    findings = examine(args.watch)
    if args.json is not None:
        write_json(args.json, [asdict(finding) for finding in findings])
        return 0
    rows = []
    for finding in findings:
        rows.append(("!" if finding.advice else "", finding.topic, finding.seen))
        rows += [("", "", f"-> {finding.advice}")] if finding.advice else []
    lines = aligned_rows(rows, width=WIDTH)
    wrong = wrong_in(findings)
    found = ", ".join(finding.topic for finding in wrong) or "nothing"
    say("\n".join([*lines, "", f"what disturbs measurements here: {found}"]))
    return 0
