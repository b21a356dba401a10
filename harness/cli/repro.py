"""`repro`: figures one after the other, each with what it needs said first."""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys

from harness.cli.arguments import add_profile_arguments, profile_of
from harness.errors import RunFailed, UserError
from harness.files.checked_yaml import did_you_mean
from harness.terminal.output import say, tell

SUMMARY = "reproduce figures one by one; says first what time, disk and memory each needs"
DESCRIPTION = """\
This measures the cells of a figure, makes its tables and draws it, and only then begins with the
next figure. What is up to date is not made again. Interrupted, it goes on where it was.

examples:
  millrace repro pldi17_fig9                  one figure in the quick size
  millrace repro mw19_fig9 --size paper       in the size of the paper
  millrace repro mw19_fig9 --size paper --dry-run
      say what it needs, and make nothing
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `repro`."""
    parser.add_argument("figure", nargs="+", metavar="FIGURE", help="figures to reproduce")
    add_profile_arguments(parser)
    parser.add_argument(
        "--dry-run", action="store_true", help="say what is needed, and make nothing"
    )


def run(args: argparse.Namespace) -> int:
    """Reproduce figures; return 1 if one failed. Raises UserError for a figure that does not exist,
    RunFailed if the disk is too small.
    """
    from harness.experiments.config import load_config
    from harness.experiments.effort import effort_left, total

    config = load_config(profile_of(args))
    needed = {}
    for name in args.figure:
        if name not in config.drawable:
            config.refuse_other_size(name)
            meant = did_you_mean(name, config.drawable)
            raise UserError(
                f"FIGURE {name!r} is none of {config.path}{meant}; figures are: "
                f"{', '.join(config.drawable)}"
            )
        needed[name] = effort_left(config, [name])
        tell(f"{name}: {needed[name]}")
    free = shutil.disk_usage(".").free
    asked = total(needed.values()).disk
    if asked > free:
        raise RunFailed(f"{asked / 1e6:,.0f} MB of disk are needed, and {free / 1e6:,.0f} are free")
    if args.dry_run:
        return 0
    size = ["--config", args.config] if args.config else ["--size", args.size or "quick"]
    for name in needed:
        # A process each: Snakemake keeps state, and no figure waits for the cells of the next
        command = [sys.executable, "-m", "harness", "figures", name, *size]
        code = subprocess.run(command, check=False).returncode
        if code != 0:
            tell(f"{name} was not made")
            return code if code > 0 else 1
        say(", ".join(config.figure(name, kind) for kind in ("png", "svg")))
    return 0
