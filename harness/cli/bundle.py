"""`bundle`: an archive with which a machine without a network measures."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from harness.bundle.wheels import CHOICES
from harness.cli.arguments import add_profile_arguments, check_writable, profile_of
from harness.errors import UserError
from harness.terminal.output import say, tell
from harness.terminal.overwritten_line import OverwrittenLine

if TYPE_CHECKING:
    from harness.bundle.contents import Contents

SUMMARY = "pack experiments for a machine without a network, which measures with one command"
DESCRIPTION = """\
The archive has Millrace as a wheel, the packages that it needs, the experiments, and a script. On
the other machine

  tar xzf FILE; cd NAME; python3 measure.py

installs from the archive alone, measures with progress, goes on where it was interrupted, and says
at the end which file to bring back. That machine needs Linux on x86-64 and a Python of the same
version as the one here; it needs no compiler, no network and no root. Each experiment is measured
on its real threads, also one that is simulated here.

Back here, aggregate and plot read the file. Unpacked in the working directory, its records are
drawn by figures, too, beside those of this machine.

examples:
  millrace bundle pldi17_fig9 pldi17_fig10 --size paper -o big.tar.gz
      two figures in the sizes of the paper, for any CPU since about 2013

  millrace bundle my.yaml -o big.tar.gz --level native
      an experiment of your own, with its graph files, for a CPU like the one here

  millrace aggregate --records amd-epyc-7763-128-cpus.tar.gz --tables tables
  millrace plot my.yaml --records amd-epyc-7763-128-cpus.tar.gz
      read what came back
"""

DEFAULT_LEVEL = "x86-64-v3"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `bundle`."""
    parser.add_argument(
        "experiment",
        nargs="+",
        metavar="EXPERIMENT",
        help="experiments of the profile, or files of your own, my.yaml, which have the profile's "
        "size",
    )
    parser.add_argument(
        "-o", "--output", required=True, metavar="FILE", help="the archive, a new .tar.gz file"
    )
    add_profile_arguments(parser)
    parser.add_argument(
        "--level",
        choices=CHOICES,
        metavar="LEVEL",
        help=f"level of the other machine's CPUs: {', '.join(CHOICES)}, the last one for a CPU "
        f"like this (default: {DEFAULT_LEVEL}, about 2013 and later)",
    )
    parser.add_argument(
        "--python",
        default=sys.executable,
        metavar="PROGRAM",
        help="a Python of this machine, with headers, of the version that the other one has "
        "(default: that which runs this command)",
    )
    parser.add_argument(
        "--wheel", metavar="FILE", help="a wheel of Millrace that is built already (make dist)"
    )
    parser.add_argument(
        "--add",
        action="append",
        default=[],
        metavar="PATH",
        help="a further file or folder that a graph reads; modules that it imports are added "
        "anyway; may be repeated",
    )
    parser.add_argument(
        "--with",
        dest="packages",
        action="append",
        default=[],
        metavar="PACKAGE",
        help="a further package that a graph needs; numba is added if it is used; may be repeated",
    )


class Packing(OverwrittenLine):
    """Progress of packing, on a terminal."""

    def show(self, done: int, total: int) -> None:
        """Show the bytes packed so far."""
        self._overwrite(f"packing, {done / 1e6:.0f} of {total / 1e6:.0f} MB", done, total)


def run(args: argparse.Namespace) -> int:
    """Write the archive. Raises UserError for bad input, RunFailed if a wheel cannot be built or
    downloaded, or the archive cannot be written.
    """
    from harness.bundle.archive import ENDING, write_archive
    from harness.bundle.contents import contents_of
    from harness.bundle.wheels import build_wheel, check_wheel, download, needs_of, tag_of
    from harness.experiments.config import clock

    path = Path(args.output)
    if not path.name.endswith(ENDING) or path.name == ENDING:
        raise UserError(f"-o must name a file ending in {ENDING}, not {args.output!r}")
    if path.exists():
        raise UserError(f"-o must name a new file; there is a {args.output!r}")
    check_writable("-o", args.output)
    if args.wheel is not None and args.level is not None:
        raise UserError("--level is for a wheel that is built now, not for one of --wheel")
    tag_of(args.python)
    if args.wheel is not None:
        check_wheel(Path(args.wheel), args.python)
    contents = contents_of(args.experiment, profile_of(args), args.add)
    _check_alone(contents)
    more = [*args.packages, *(["numba"] if contents.uses_numba else [])]
    with tempfile.TemporaryDirectory(prefix="millrace-bundle-") as name, Packing() as line:
        folder, wheels = Path(name), Path(name) / "wheels"
        if args.wheel is None:
            level = args.level or DEFAULT_LEVEL
            tell(f"building for {level} (minutes, if the sources have changed) ...")
            wheel = build_wheel(args.python, level, folder)
        else:
            wheel = Path(args.wheel)
        tell("downloading the packages that it needs ...")
        download(args.python, wheel, more, wheels)
        needs = needs_of(wheels, wheel)
        write_archive(path, contents, wheels, needs, line.show)
    blocks = contents.blocks
    seconds = sum(block.estimated_s for block in blocks)
    say(
        f"{path}: {path.stat().st_size / 1e6:.0f} MB, {len(blocks)} blocks, "
        f"{sum(block.runs for block in blocks)} runs, on this machine about {clock(seconds)}"
    )
    say(f"there: tar xzf {path.name}; cd {path.name.removesuffix(ENDING)}; python3 measure.py")
    return 0


def _check_alone(contents: Contents) -> None:
    """Raise UserError unless the experiments can be read where nothing but their files is."""
    from harness.files.places import CODE

    with tempfile.TemporaryDirectory(prefix="millrace-bundle-") as folder:
        for place, file in contents.files.items():
            target = Path(folder) / place
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, target)
        done = subprocess.run(
            [
                sys.executable,
                "-m",
                "harness",
                "sweep",
                *contents.words,
                "--as",
                "there",
                "--dry-run",
            ],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(CODE)},
            capture_output=True,
            text=True,
        )
    if done.returncode:
        said = done.stderr.strip().splitlines() or ["no message"]
        raise UserError(
            f"the experiments need more than was packed; --add names it: "
            f"{said[-1].removeprefix('millrace sweep: ')}"
        )
