"""`millrace init`: a file to start from."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path

from harness.cli.arguments import check_writable
from harness.errors import UserError
from harness.terminal.output import say

SUMMARY = "write a graph, operator, experiment or suite to start from"

STARTERS = Path(__file__).parent / "starters"

KINDS = {
    "graph": ("graph.py", "millrace compare {file}"),
    "operator": ("operator.py", "millrace run {file}"),
    "experiment": ("experiment.yaml", "millrace sweep {file}, then millrace plot {file}"),
    "suite": ("suite.yaml", "millrace gate --base main --suite {file}"),
}
"""Files to start from, with what to do next."""

DESCRIPTION = """\
Writes a small file that runs, with a comment at each thing to change, and says what to do next.

  graph       operators and streams, in Python, with parameters
  operator    an operator in Python, in a graph that uses it
  experiment  what millrace sweep measures: graphs, parameters and arms
  suite       what millrace gate compares between two versions of a program

examples:
  millrace init graph
      write my_graph.py

  millrace init experiment -o costs.yaml
      write costs.yaml"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `init`."""
    parser.add_argument(
        "kind", choices=list(KINDS), metavar="KIND", help=f"one of: {', '.join(KINDS)}"
    )
    parser.add_argument(
        "-o", "--output", metavar="FILE", help="file to write (default: my_KIND.py or .yaml)"
    )


def run(args: argparse.Namespace) -> int:
    """Write the file. Raises UserError for one that exists, or has another ending."""
    from harness.files.whole import write_whole

    name, following = KINDS[args.kind]
    starter = STARTERS / name
    path = Path(args.output or f"my_{name}")
    if path.suffix != starter.suffix:
        raise UserError(f"-o must name a file ending in {starter.suffix}, not {str(path)!r}")
    if path.exists():
        raise UserError(f"-o must name a new file; there is a {str(path)!r}")
    check_writable("-o", str(path))
    text = starter.read_text(encoding="utf-8")
    for word in (name, f"{Path(name).stem}/", f"{Path(name).stem}.png"):
        text = text.replace(word, word.replace(Path(name).stem, path.stem))
    write_whole(path, text.encode())
    say(f"wrote {path}; next: {following.format(file=shlex.quote(str(path)))}")
    return 0
