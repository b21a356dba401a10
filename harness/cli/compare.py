"""`millrace compare`: which threading model is the fastest for a graph, by how much, how surely."""

from __future__ import annotations

import argparse
import zlib
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING

from harness.cli.arguments import (
    SHORTEST_DURATION_S,
    SHORTEST_VIRTUAL_S,
    check_length,
    check_writable,
)
from harness.cli.compare_progress import stage
from harness.cli.contest_arguments import add_contest_arguments, tell_waiting
from harness.cli.extras import need
from harness.cli.lengths import UNTIL_STATIONARY, add_length_arguments
from harness.cli.parser import add_old_spelling
from harness.cli.place import add_place_arguments, parse_constants
from harness.cli.profile_option import add_profile_argument, profile_of_asked
from harness.cli.settings import add_topology_argument, parse_settings
from harness.compare.contest import By, Contender, Contest
from harness.compare.entrants import DURATION_S, PERIOD_S, RunTerms, entrant, execute, graph_of
from harness.compare.standing import ALPHA
from harness.errors import RunFailed, UserError
from harness.machines.host.cpu import SHORTEST_S
from harness.machines.place import Place, find_place
from harness.measurement.lock import measuring_clock, measuring_lock
from harness.measurement.spec import Run
from harness.models import MODELS
from harness.terminal.output import say, tell

if TYPE_CHECKING:
    from harness.experiments.experiment import Arm
    from harness.graph import Graph

SUMMARY = "find out which threading model is the fastest for a graph, by how much and how surely"


DESCRIPTION = """\
Runs the arms in random order, each run in a process of its own, until the best arm can be
distinguished from all others or the budget is used up. An arm that is proven worse is not run any
more. A live table shows each arm's ratio to the best one, and the last line says what was found:

  dynamic with 2 threads is 1.53 times as fast as manual [1.41, 1.66]; dedicated cannot be
  distinguished from it

All that a call says of the best arm, and of how far others are from it, holds together with 95 %,
however many arms it has, however often it looks at its numbers, and although the best arm is chosen
by them (docs/how-to/compare.md). Intervals of throughput are those of the arm alone. Runs come in
blocks of two of each arm; three or four blocks are the least that can decide.

Without --model and --peer, all models that can run the graph are compared. An arm is
MODEL:OPTION=VALUE,..., with the options of an arm in an experiment (docs/reference/options.md); a
list [V,V] makes an arm of each value, and name=NAME gives an arm a name.

If all sources have rates, arms are compared by their 99 % latency at that rate. Each arm then also
runs with its sources at full speed, which shows the highest rate that it sustains.

examples:
  millrace compare my/graph.yaml
      all models

  millrace compare mix --model manual --model dynamic:threads=[1,2] --peer go --budget 3m
      these arms, for three minutes at most

  millrace compare pipeline --set cost=1,100,10000 --budget 15m --html costs.html
      a comparison for each cost, and a table of all

  millrace compare mix --machine xeon --model dynamic:threads=[4,16,64] --model manual
      on a simulated machine, in virtual time

  millrace compare pipeline --export latex -o table.tex
      the table for a paper; csv and json have all numbers"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the options of `millrace compare`."""
    add_topology_argument(parser)
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE[,VALUE...]",
        help="set a parameter of the topology or graph; several values make a comparison of each; "
        "may be repeated, and all combinations are compared",
    )
    parser.add_argument(
        "--model",
        action="append",
        default=[],
        metavar="ARM",
        help=f"an arm, such as dynamic:threads=2; may be repeated (default: {', '.join(MODELS)})",
    )
    parser.add_argument(
        "--peer",
        action="append",
        default=[],
        metavar="NAME",
        help="another runtime as an arm: asyncio, go, java and others (docs/how-to/peers.md); "
        "may be repeated",
    )
    add_contest_arguments(parser)
    add_length_arguments(parser, DURATION_S, PERIOD_S, UNTIL_STATIONARY)
    add_place_arguments(parser)
    add_profile_argument(parser)
    parser.add_argument("--html", metavar="FILE", help="write a page with tables and a picture")
    parser.add_argument("--png", metavar="FILE", help="write the picture")
    parser.add_argument(
        "--export",
        choices=("csv", "md", "json", "latex"),
        help="write the tables in this format, to -o or in place of the report",
    )
    parser.add_argument("-o", "--output", metavar="FILE", help="file of --export")
    parser.add_argument("--record", metavar="FILE", help="write the record of each run (JSON)")
    add_old_spelling(parser, "--records", "--record")


def run(args: argparse.Namespace) -> int:
    """Compare. Raises UserError for bad input, RunFailed if an arm failed or a file cannot be
    written.
    """
    _check_outputs(args)
    began_s = measuring_clock()
    contests = list(_contests(args))

    try:
        with (
            nullcontext() if contests[0].simulated else measuring_lock(tell_waiting),
            stage("millrace compare") as audience,
        ):
            left_s = max(0.0, args.budget - (measuring_clock() - began_s))  # graphs are profiled
            for place, contest in enumerate(contests):
                contest.budget_s = left_s / (len(contests) - place)
                audience.begin(contest)
                contest.compare(execute, audience)
                left_s = max(0.0, left_s - contest.elapsed_s)
    finally:
        begun = [contest for contest in contests if contest.started_s is not None]
        if begun:
            _report(args, begun)
    failed = [arm for contest in contests for arm in contest.contenders if arm.failure]
    if failed:
        raise RunFailed(f"{failed[0].name} failed: {failed[0].failure}")
    return 0


# -- what is asked for -----------------------------------------------------------------------------


def _contests(args: argparse.Namespace) -> Iterator[Contest]:
    """Yield a comparison for each combination of parameters. Raises UserError for bad input."""
    from harness.graph.schedule import Schedule
    from harness.measurement.subject import find_subject

    place = find_place(args.machine, args.simulated, args.software, args.cpus)
    constants = parse_constants(place, args.set_constant)
    shortest_s = SHORTEST_VIRTUAL_S if place.simulated else SHORTEST_DURATION_S
    check_length("duration", args.duration, shortest_s)
    check_length("period", args.period, SHORTEST_VIRTUAL_S if place.simulated else SHORTEST_S)
    terms = RunTerms(
        place,
        "compare",
        args.duration,
        args.period,
        args.warmup,
        constants,
        args.seed,
        args.allow_threads,
    )
    arms = _arms(args, place)
    swept = {name: text.split(",") for name, text in parse_settings(args.set).items()}
    for name, values in swept.items():
        if len(set(values)) < len(values) or "" in values:
            raise UserError(f"--set {name} must have different values, not {','.join(values)!r}")
    choices = list(product(*swept.values()))
    for values in choices:
        subject = find_subject(args.topology, dict(zip(swept, values, strict=True)), args.seed)
        graph, profiled = graph_of(subject, terms), terms
        # costs may depend on the parameters, so each combination has a profile of its own
        if profile := profile_of_asked(args, place, subject, graph, tell_waiting):
            profiled = replace(terms, profile=profile)
            graph = graph_of(subject, profiled)
        runs = [(arm, words, profiled.run_of(arm, subject)) for arm, words in arms]
        contenders = list(_contenders(runs, graph, bool(args.model or args.peer)))
        if len(contenders) < 2:
            raise UserError(f"two arms at least must be able to run {args.topology!r}")
        schedule = Schedule.of(graph)
        is_paced = schedule.mean_per_s is not None
        by = By(args.by or (By.LATENCY if is_paced else By.THROUGHPUT))
        yield Contest(
            subject.topology,
            subject.parameters,
            contenders,
            by,
            ALPHA / len(choices),
            args.budget,
            zlib.crc32(f"{args.seed}/{subject.cell}".encode()),
            schedule,
            explains=True,
            whole_budget_s=args.budget,
        )


def _arms(args: argparse.Namespace, place: Place) -> list[tuple[Arm, str]]:
    """Return the arms with their names in a sentence. Raises UserError for a wrong word, a peer on
    a simulated machine, or an arm that is named twice.
    """
    from harness.experiments.arms import arms_of_text, in_words, peer_arm
    from harness.experiments.file import experiment_schema

    if place.simulated and args.peer:
        raise UserError(f"--peer {args.peer[0]} cannot be simulated: only our own runtime is")
    words = args.model or ([] if args.peer else list(MODELS))
    schema = experiment_schema()
    arms = [arm for word in words for arm in arms_of_text(word, "--model", schema, place)]
    arms += [peer_arm(name) for name in args.peer]
    seen = set()
    for arm in arms:
        if arm.name in seen:
            raise UserError(
                f"arm {arm.name} must be given once; name=NAME in an arm tells two of them apart"
            )
        seen.add(arm.name)
    if len(arms) < 2:
        raise UserError(f"needed are two arms at least, not {arms[0].name} alone")
    return [(arm, in_words(arm)) for arm in arms]


def _contenders(
    runs: Sequence[tuple[Arm, str, Run]], graph: Graph, explicit: bool
) -> Iterator[Contender]:
    """Yield the arms that can run a graph, and say in a line what was changed, or left out.

    `explicit`: the user named the arms, so one that cannot run is an error.
    """
    seen: set[str] = set()
    for arm, words, run in runs:
        try:
            made = entrant(arm, words, run, graph)
        except UserError as error:
            if explicit:
                raise UserError(f"arm {arm.name}: {error}") from error
            tell(f"millrace compare: {arm.name} is left out: {error}")
            continue
        (note,) = made.notes or ("",)
        if made.name in seen:
            tell(f"millrace compare: {arm.name} is left out: it runs as {made.name} ({note})")
            continue
        seen.add(made.name)
        if note:
            tell(f"millrace compare: {arm.name}: {note}")
        yield made


# -- what was found --------------------------------------------------------------------------------


def _check_outputs(args: argparse.Namespace) -> None:
    for option in ("html", "png", "output", "record"):
        if getattr(args, option) is not None:
            check_writable(f"--{option}", getattr(args, option))
    if args.output is not None and args.export is None:
        raise UserError(f"-o {args.output!r} needs --export, which says in what format")
    if args.png is not None and not args.png.endswith(".png"):
        raise UserError(f"--png must name a file ending in .png, not {args.png!r}")
    if args.html is not None or args.png is not None:
        need("matplotlib")


def _report(args: argparse.Namespace, contests: Sequence[Contest]) -> None:
    """Print and write what was found, also by a call that was interrupted."""
    from harness.compare import report
    from harness.files.whole import write_whole

    if args.record is not None:
        from harness.measurement.records import write_records

        records = [
            record
            for contest in contests
            for arm in contest.contenders
            for record in (
                *([arm.explained] if arm.explained else []),
                *arm.records,
                *arm.at_full_speed,
            )
        ]
        write_records(args.record, records)
    if args.export is not None:
        from harness.compare.export import export

        text = export(contests, args.export)
        if args.output is None:
            say(text.rstrip("\n"))
        else:
            write_whole(args.output, text.encode())
    if args.export is None or args.output is not None:
        say("\n".join(report.lines_of(contests)))
    if args.html is not None or args.png is not None:
        _draw(args, contests)


def _draw(args: argparse.Namespace, contests: Sequence[Contest]) -> None:
    from pathlib import Path

    from harness.compare.picture import figure_of_contests, page_of
    from harness.files.whole import write_whole
    from harness.plots import style

    if args.html is not None:
        write_whole(args.html, page_of(contests).encode())
    if args.png is not None:
        style.save(figure_of_contests(contests), [Path(args.png)])
