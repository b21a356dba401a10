"""Arguments of the commands that compare arms: `--by`, `--budget`, `--seed`."""

from __future__ import annotations

import argparse

from harness.cli.arguments import add_seed_argument, span
from harness.compare.contest import By
from harness.measurement.lock import WAITING
from harness.terminal.output import tell

BUDGET_S = 300.0


def tell_waiting(notice: str) -> None:
    """Show a notice of the measuring lock, and that a budget does not count the wait."""
    counted = "; the wait does not count against --budget" if notice.startswith(WAITING) else ""
    tell(f"{notice}{counted}")


def add_contest_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument(
        "--by",
        choices=[str(each) for each in By],
        help="compare by throughput, or by 99 %% latency (default: latency if all sources have "
        "rates)",
    )
    parser.add_argument(
        "--budget",
        type=span,
        default=BUDGET_S,
        metavar="TIME",
        help="longest time of the whole command, profiles included, such as 90s, 3m or 1h; a run "
        "that has begun is finished, and waiting until others have measured does not count "
        "(default: 5m)",
    )
    add_seed_argument(parser, "what the topology draws at random, and of the order of the runs")
