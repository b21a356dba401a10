"""`millrace show`: draw a topology or a graph file, with its queues and threads under a model."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import topologies
from harness.cli.model_options import add_model_options, flag_of, given_options, model_name
from harness.cli.settings import add_settings_argument, add_topology_argument, parse_settings
from harness.errors import UserError
from harness.graph import Graph
from harness.graph.files.file import is_graph_file, load_graph_file
from harness.models import MODELS, Model, make_model

SUMMARY = "draw a topology or graph file with its queues and threads under a model"

DESCRIPTION = """\
Operators and streams are drawn; with --model, also the queues and the threads that execute each
operator. Long chains and wide levels are folded, so that graphs of any size can be read.

examples:
  millrace show bushy -o bushy.svg
  millrace show mix --set width=4 --set depth=3 --model dynamic --threads 2 -o mix.png
  millrace show my/graph.yaml --model manual -o graph.png
"""

KINDS = ("svg", "png", "pdf")

DRAWN = ("threads", "queue_capacity")
"""Options of a model that a drawing shows."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `show`."""
    add_topology_argument(parser)
    add_settings_argument(parser)
    parser.add_argument(
        "--model",
        type=model_name,
        choices=list(MODELS),
        help="threading model (default: draw the graph alone)",
    )
    add_model_options(parser, DRAWN)
    parser.add_argument(
        "--seed",
        type=int,
        default=0,
        metavar="N",
        help="seed of what is placed at random (default: 0)",
    )
    parser.add_argument(
        "-o",
        "--output",
        required=True,
        metavar="FILE",
        help=f"file to write, ending in .{', .'.join(KINDS)}",
    )


def run(args: argparse.Namespace) -> int:
    """Draw. Raises UserError for bad input, RunFailed if the file cannot be written."""
    path = output_path(args.output)
    model = _model(args)
    if args.seed < 0:
        raise UserError(f"--seed must be 0 or more, not {args.seed}")
    settings = parse_settings(args.set)
    graph, parameters = _graph(args.topology, settings, args.seed)
    graph.check()
    # late: matplotlib is slow to import, and a user's mistake needs none
    from harness.plots import graph_drawing, style

    style.save(graph_drawing.figure(graph, model, parameters), [path])
    return 0


def _graph(word: str, settings: dict[str, str], seed: int) -> tuple[Graph, dict[str, int | str]]:
    if not is_graph_file(word):
        return topologies.build(word, settings, seed)
    loaded = load_graph_file(word, settings, seed)
    return loaded.graph, loaded.parameters


def output_path(text: str) -> Path:
    """Return the file to write. Raises UserError unless its ending is known and its directory
    exists.
    """
    path = Path(text)
    if path.suffix.removeprefix(".").lower() not in KINDS:
        raise UserError(f"-o must name a file ending in .{', .'.join(KINDS)}, not {text!r}")
    if path.is_dir():
        raise UserError(f"-o must name a file, not the directory {text!r}")
    if not path.parent.is_dir():
        raise UserError(f"-o {text!r}: there is no directory {str(path.parent)!r}")
    if not os.access(path.parent, os.W_OK):
        raise UserError(f"-o {text!r}: no permission to write in {str(path.parent)!r}")
    return path


def _model(args: argparse.Namespace) -> Model | None:
    given = given_options(args)
    if args.model is not None:
        return make_model(args.model, **given)
    for name, value in given.items():
        if value is not None:
            raise UserError(f"{flag_of(name)} {value} needs a --model")
    return None
