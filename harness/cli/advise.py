"""`millrace advise`: which model, threads, queues, replicas and batch a graph should have."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import replace

from harness.advise.advice import Advice, to_mapping
from harness.advise.adviser import PROFILED, Adviser, Asked, entrants
from harness.advise.reason import reason_for
from harness.advise.report import lines_of, lines_so_far
from harness.advise.words import in_your_runtime
from harness.cli.arguments import (
    SHORTEST_DURATION_S,
    SHORTEST_VIRTUAL_S,
    check_length,
    check_writable,
)
from harness.cli.compare_progress import stage
from harness.cli.contest_arguments import add_contest_arguments, tell_waiting
from harness.cli.lengths import UNTIL_STATIONARY, add_allow_threads_argument, add_duration_argument
from harness.cli.parser import add_old_spelling
from harness.cli.place import add_place_arguments, parse_constants
from harness.cli.profile_option import add_profile_argument, profile_of_asked
from harness.cli.settings import add_settings_argument, add_topology_argument, parse_settings
from harness.compare.contest import By
from harness.compare.entrants import DURATION_S, RunTerms, execute, graph_of
from harness.engine import LOCAL
from harness.errors import UserError
from harness.explain import explain
from harness.files.whole import write_whole
from harness.graph import Graph
from harness.machines.place import Place, find_place
from harness.measurement.lock import measuring_clock, measuring_lock
from harness.measurement.subject import find_subject
from harness.terminal.output import say

SUMMARY = "say which threading model, threads, queues and replicas a graph should have"

DESCRIPTION = """\
First a run under each model is explained: it shows what each operator and each queue costs. From
that follow arms, and bounds of their throughput: models, numbers of threads, places and lengths of
queues, replicas, and batches of one if all sources have rates. The most promising arms are run in
turns. In each round the worse half is left out, by the paired test of millrace compare, until two
are left. The better one is then run with its neighbours, which differ from it in one option, as
long as one of them is better still. The last two and the baseline are compared by new runs, until
they can be distinguished or the budget is used up.

The output is the arm as a command line, the reason for it (what bounds the graph, and what the arm
does about that), its gain over the baseline with its interval, how certain it is, and what to do in
a runtime of your own: which operators to fuse, where to put queues, how many threads, which batch.
docs/explanation/choosing.md has the rules behind it. Ctrl-C shows what was found until then.

With --machine, the graph is profiled on this machine and arms run on the simulated one. Operators
that call functions in Python or C are simulated with the time that they take here.

examples:
  millrace advise my/graph.yaml
      all models, in five minutes at most

  millrace advise my/graph.yaml --budget 2m --json advice.json
      a shorter one, as JSON, too

  millrace advise --from costs.csv
      for a program in another runtime, of which you have a profile (docs/how-to/graphs.md)

  millrace advise mix --set cost=1000 --machine xeon
      for a machine that you do not have"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the options of `millrace advise`."""
    add_topology_argument(parser, required=False)
    parser.add_argument(
        "--from",
        dest="costs",
        metavar="FILE",
        help="in place of a graph: a table of what operators cost (.csv with operator, ns, "
        "selectivity, stream, and perhaps keys and rate; docs/how-to/graphs.md)",
    )
    add_settings_argument(parser)
    parser.add_argument(
        "--baseline",
        metavar="ARM",
        help="arm that the gain is over, such as dynamic:threads=2 (default: manual, or the first "
        "model that can run the graph)",
    )
    add_contest_arguments(parser)
    add_duration_argument(parser, DURATION_S, UNTIL_STATIONARY)
    add_allow_threads_argument(parser)
    add_place_arguments(parser)
    add_profile_argument(parser)
    parser.add_argument(
        "--json", metavar="FILE|-", help="write the advice as JSON: to FILE, or with - to stdout"
    )
    parser.add_argument("--record", metavar="FILE", help="write the record of each run (JSON)")
    add_old_spelling(parser, "--records", "--record")


def run(args: argparse.Namespace) -> int:
    """Advise. Raises UserError for bad input, RunFailed if no arm can run or a file cannot be
    written.
    """
    for option in ("json", "record"):
        if getattr(args, option) not in (None, "-"):
            check_writable(f"--{option}", getattr(args, option))
    if (args.topology is None) == (args.costs is None):
        both = "" if args.topology is None else ", not both"
        raise UserError(f"name a topology or a graph file, or a table of costs with --from{both}")
    if args.costs is not None and not args.costs.endswith(".csv"):
        raise UserError(f"--from must name a file ending in .csv, not {args.costs!r}")
    began_s = measuring_clock()
    simulated = _simulable(args, _asked(args))
    spent_s = measuring_clock() - began_s  # by profiles of this machine
    simulated = replace(simulated, budget_s=max(0.0, args.budget - spent_s))
    with (
        nullcontext() if simulated.terms.place.simulated else measuring_lock(tell_waiting),
        stage("millrace advise") as audience,
    ):
        adviser = Adviser(simulated, audience)
        try:
            advice = adviser.advise()
        except KeyboardInterrupt:
            if found := adviser.so_far:
                say("\n".join(lines_so_far(found)))
                _write_records(args, found)
            raise
        _report(args, advice, simulated.graph)
    return 0


def _asked(args: argparse.Namespace) -> Asked:
    """Return what is asked for. Raises UserError for bad input."""
    place = find_place(args.machine, args.simulated, args.software, args.cpus)
    constants = parse_constants(place, args.set_constant)
    shortest_s = SHORTEST_VIRTUAL_S if place.simulated else SHORTEST_DURATION_S
    check_length("duration", args.duration, shortest_s)
    terms = RunTerms(
        place,
        "advise",
        args.duration,
        constants=constants,
        seed=args.seed,
        allow_threads=args.allow_threads,
    )
    word = args.costs or args.topology
    given = parse_settings(args.set)
    subject = find_subject(word, given, args.seed)
    by = By(args.by) if args.by else None
    asked = Asked(
        word,
        given,
        subject,
        graph_of(subject, terms),
        terms,
        args.budget,
        by,
        terms_of(args),
        compare_terms_of(args),
    )
    if args.baseline is None:
        return asked
    from harness.experiments.arms import arms_of_text
    from harness.experiments.file import experiment_schema

    arms = arms_of_text(args.baseline, "--baseline", experiment_schema(), place)
    if len(arms) > 1:
        raise UserError(f"--baseline must be one arm, not {args.baseline!r}")
    asked.made(arms[0])  # raises for an arm that cannot run the graph
    return replace(asked, baseline=arms[0])


def _simulable(args: argparse.Namespace, asked: Asked) -> Asked:
    """Return what is asked for, with measured costs in place of users' functions where it is
    simulated.
    """
    place, graph = asked.terms.place, asked.graph
    profile = profile_of_asked(args, place, asked.subject, graph, tell_waiting)
    if not profile:
        return replace(asked, rests_on=tuple(_of_here(asked))) if place.simulated else asked
    from harness.measurement.profiling import load_profile

    terms = replace(asked.terms, profile=profile)
    profiled = load_profile(profile, graph)
    users = ", ".join(each.name for each in graph.operators.values() if each.users)
    locked = profiled.interpreter_lock and any(each.in_python for each in graph.operators.values())
    rests_on = (
        f"a profile of real threads ({profiled.cpu}): what {users} take there, scaled by "
        "instructions a second to the described machine",
        *(["one Python function at a time: each holds the interpreter's lock"] if locked else []),
    )
    return replace(asked, terms=terms, graph=graph_of(asked.subject, terms), rests_on=rests_on)


def _of_here(asked: Asked) -> Iterator[str]:
    """Run the graph on this machine, and in a simulation of it; yield how near the two are."""
    from harness.measurement.records import rate_of

    here = replace(asked.terms, place=Place(), constants={}, duration_s=None)
    there = replace(here, place=find_place("local", simulated=True))
    rates = []
    for terms, lock in ((here, measuring_lock(tell_waiting)), (there, nullcontext())):
        try:
            made = next(entrants(replace(asked, terms=terms), PROFILED))
        except (StopIteration, UserError):
            return
        with lock:
            record = execute(made.run, lambda phase: None)
        rates.append(rate_of(record) if record["error"] is None else None)
    measured, simulated = rates
    if measured and simulated:
        yield (
            f"a profile on this machine: {measured:,.0f} tuples/s under {made.name}, where the "
            f"simulator predicts {simulated:,.0f} ({simulated / measured:.2f} times as many)"
        )


def terms_of(args: argparse.Namespace) -> list[str]:
    """Return the options of a call that `millrace run` needs, too: place, constants and seed."""
    words = [] if args.machine == LOCAL else ["--machine", args.machine]
    words += ["--simulated"] if args.simulated else []
    for flag, value in (
        ("--cpus", args.cpus),
        ("--software", args.software),
        ("--seed", args.seed),
        ("--allow-threads", args.allow_threads),
    ):
        words += [flag, f"{value}"] if value else []
    for assignment in args.set_constant:
        words += ["--set-constant", assignment]
    return words


def compare_terms_of(args: argparse.Namespace) -> list[str]:
    """Return the other options of a call that `millrace compare` needs to ask the same."""
    words = []
    for flag, value in (
        ("--by", args.by),
        ("--duration", args.duration),
        ("--profile", args.profile),
    ):
        words += [flag, f"{value}"] if value is not None else []
    return words


def _report(args: argparse.Namespace, advice: Advice, graph: Graph) -> None:
    """Print and write what was found."""

    record = advice.arm.explained
    if record is None:
        record = execute(replace(advice.arm.run, explained=True), lambda phase: None)
    explained = explain(record)
    words, bound = in_your_runtime(graph, record, explained), explained.headline
    why = reason_for(advice, explained)
    found = to_mapping(advice, words, bound, why)
    _write_records(args, advice)
    if args.json == "-":
        say(json.dumps(found, allow_nan=False))
        return
    if args.json is not None:
        write_whole(args.json, f"{json.dumps(found, indent=1, allow_nan=False)}\n".encode())
    say("\n".join(lines_of(advice, words, bound, why)))


def _write_records(args: argparse.Namespace, advice: Advice) -> None:
    if args.record is None:
        return
    from harness.measurement.records import write_records

    arms = [arm for contest in advice.contests for arm in contest.contenders]
    write_records(args.record, [record for arm in arms for record in arm.records])
