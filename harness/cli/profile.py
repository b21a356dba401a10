"""`millrace profile`: what the operators of a graph cost on this machine."""

from __future__ import annotations

import argparse

from harness.cli.arguments import check_writable, whole
from harness.cli.settings import add_settings_argument, add_topology_argument, parse_settings
from harness.explain.report import time_ns
from harness.measurement.subject import find_subject
from harness.terminal.output import say, tell
from harness.terminal.table import aligned_rows

SUMMARY = "measure what the operators of a graph cost, for simulated runs of it"

MAX_SEED = 2**63 - 1

DESCRIPTION = """\
Runs a graph for some six seconds on one thread, which executes all operators, and looks at that
thread 1,000 times a second. The table has the time of a tuple in each operator, and the tuples that
it took.

With -o the result is kept in a file, from which run, compare, advise and explain simulate the graph
on other machines: on a machine that executes half as many instructions a second, a function takes
twice as long.

examples:
  millrace profile my.py -o my.json
      profile a graph with functions of your own

  millrace run my.py --machine xeon --profile my.json
      simulate it on another machine

  millrace compare my.py --machine power8 --profile my.json
      find out which threading model is the fastest there"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the options of `millrace profile`."""
    add_topology_argument(parser)
    add_settings_argument(parser)
    parser.add_argument(
        "--seed",
        type=whole(0, MAX_SEED),
        default=0,
        metavar="N",
        help="seed of what the topology draws at random (default: 0)",
    )
    parser.add_argument("-o", "--output", metavar="FILE", help="keep the profile in a file (JSON)")


def run(args: argparse.Namespace) -> int:
    """Profile a graph. Raises UserError for bad input, RunFailed if its run fails or is too
    short.
    """
    if args.output is not None:
        check_writable("--output", args.output)
    import topologies
    from harness.measurement.lock import measuring_lock
    from harness.measurement.profiling import profile, save_profile

    subject = find_subject(args.topology, parse_settings(args.set), args.seed)
    graph = subject.graph or topologies.build(subject.topology, subject.given, args.seed)[0]
    with measuring_lock(tell):
        found = profile(graph)
    rows = [("operator", "kind", "ns/tuple", "tuples")]
    for operator, cost_ns, tuples in zip(
        graph.operators.values(), found.cost_ns, found.tuples, strict=True
    ):
        rows.append((operator.name, str(operator.kind), time_ns(cost_ns), f"{tuples:,}"))
    say("\n".join([f"{graph.name} on {found.cpu}", "", *aligned_rows(rows)]))
    if args.output is not None:
        save_profile(args.output, graph, subject.cell, found)
        say(f"\nwrote {args.output}")
    return 0
