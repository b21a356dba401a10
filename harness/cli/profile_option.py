"""Argument `--profile` of commands that simulate: what users' operators cost."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from harness.errors import UserError
from harness.graph import Graph
from harness.machines.place import Place
from harness.measurement.subject import Subject
from harness.terminal.output import tell


def add_profile_argument(parser: argparse.ArgumentParser) -> None:
    """Add the option; `profile_of_asked` reads it."""
    parser.add_argument(
        "--profile",
        metavar="FILE",
        help="simulated machines only: costs of operators that call functions, as millrace profile "
        "has written it (default: the graph is profiled first)",
    )


def profile_of_asked(
    args: argparse.Namespace,
    place: Place,
    subject: Subject,
    graph: Graph,
    notify: Callable[[str], None] = tell,
) -> str:
    """Return the file with what users' operators cost where a graph is simulated; "" if it needs
    none. A graph file without one is profiled on this machine; `notify` gets a line if that waits.

    Raises UserError for a graph that cannot be simulated, or a profile of another one, and
    RunFailed if the graph cannot be profiled.
    """
    if not place.simulated:
        if args.profile is not None:
            raise UserError(f"--profile is for simulated runs: add --machine to {args.profile!r}")
        return ""
    from harness.measurement.profiling import load_profile, profile_here
    from harness.measurement.simulable import check_simulable, needs_profile

    if args.profile is not None:
        check_simulable(graph)
        load_profile(args.profile, graph, subject.cell)
        return str(args.profile)
    if not subject.file or not needs_profile(graph):
        return ""
    check_simulable(graph)
    tell(f"millrace: profiles {graph.name} on this machine first, for some 6 seconds")
    file = profile_here(graph, subject.cell, notify)
    tell(f"millrace: kept what its operators cost here; use it again with --profile {file}")
    return str(file)
