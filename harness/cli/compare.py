"""`millrace compare`: which threading model is the fastest for a graph, by how much, how surely."""

from __future__ import annotations

import argparse
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, Any

from harness.cli.arguments import (
    SHORTEST_DURATION_S,
    SHORTEST_VIRTUAL_S,
    check_length,
    check_writable,
    seconds,
    span,
    warmup,
    whole,
)
from harness.cli.compare_progress import stage
from harness.cli.ending import ended_like_ctrl_c
from harness.cli.place import add_place_arguments, parse_constants
from harness.cli.settings import add_topology_argument, parse_settings
from harness.compare.contest import By, Contender, Contest
from harness.compare.standing import ALPHA
from harness.engine.thread_room import MOST_ALLOWED, MOST_THREADS
from harness.errors import RunFailed, UserError
from harness.machines.host.cpu import SHORTEST_S
from harness.machines.place import Place, find_place
from harness.measurement.spec import VIRTUAL_DURATION_S, Run, virtual_period_s
from harness.models import MODELS
from harness.terminal.output import say, tell

if TYPE_CHECKING:
    from harness.experiments.experiment import Arm
    from harness.graph import Graph
    from harness.measurement.subject import Subject

SUMMARY = "find out which threading model is the fastest for a graph, by how much and how surely"

BUDGET_S = 300.0
DURATION_S = 0.5  # of a run: many short runs tell more than few long ones
PERIOD_S = SHORTEST_S  # of laws: a run of an elastic arm takes dozens of periods
MAX_SEED = 2**63 - 1

DESCRIPTION = """\
Runs the arms in random order, each run in a process of its own, until the best arm can be
distinguished from all others or the budget is used up. An arm that is proven worse is not run any
more. A live table shows each arm's ratio to the best one, and the last line says what was found:

  dynamic with 2 threads is 1.53 times as fast as manual [1.41, 1.66]; dedicated cannot be
  distinguished from it

All that a call says holds together with 95 %, however many arms it has, however often it looks at
its numbers, and although the best arm is chosen by them (docs/compare.md). Runs come in blocks of
two of each arm; three or four blocks are the least that can decide.

Without --model and --peer, all models that can run the graph are compared. An arm is
MODEL:OPTION=VALUE,..., with the options of an arm in an experiment (docs/options.md); a list
[V,V] makes an arm of each value, and name=NAME gives an arm a name.

If a source has a rate, arms are compared by their 99 % latency at that rate. Each arm then also
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
        help="another runtime as an arm: asyncio, go, java and others (docs/peers.md); may be "
        "repeated",
    )
    parser.add_argument(
        "--by",
        choices=[str(each) for each in By],
        help="compare by throughput, or by 99 %% latency (default: latency if a source has a rate)",
    )
    parser.add_argument(
        "--budget",
        type=span,
        default=BUDGET_S,
        metavar="TIME",
        help="longest time for all, such as 90s, 3m or 1h (default: 5m)",
    )
    parser.add_argument(
        "--duration",
        type=seconds(0.0),
        metavar="S",
        help=f"seconds to measure in a run (default: {DURATION_S:g}; simulated: "
        f"{VIRTUAL_DURATION_S:g} s of virtual time)",
    )
    parser.add_argument(
        "--warmup",
        type=warmup,
        default="auto",
        metavar="auto|S",
        help="seconds to run before measuring; auto (the default): until the run is stationary",
    )
    parser.add_argument(
        "--period",
        type=seconds(0.0),
        metavar="S",
        help=f"seconds between two decisions of a control law (default: {PERIOD_S:g}; simulated: "
        "as millrace run)",
    )
    parser.add_argument(
        "--seed",
        type=whole(0, MAX_SEED),
        default=0,
        metavar="N",
        help="seed of what the topology draws at random, and of the order of the runs (default: 0)",
    )
    parser.add_argument(
        "--allow-threads",
        type=whole(1, MOST_ALLOWED),
        metavar="N",
        help=f"real threads that a run may have (default: {MOST_THREADS})",
    )
    add_place_arguments(parser)
    parser.add_argument("--html", metavar="FILE", help="write a page with tables and a picture")
    parser.add_argument("--png", metavar="FILE", help="write the picture")
    parser.add_argument(
        "--export",
        choices=("csv", "md", "json", "latex"),
        help="write the tables in this format, to -o or in place of the report",
    )
    parser.add_argument("-o", "--output", metavar="FILE", help="file of --export")
    parser.add_argument("--records", metavar="FILE", help="write the record of each run (JSON)")


@ended_like_ctrl_c()
def run(args: argparse.Namespace) -> int:
    """Compare. Raises UserError for bad input, RunFailed if an arm failed or a file cannot be
    written.
    """
    _check_outputs(args)
    contests = list(_contests(args))
    from harness.measurement.lock import measuring_lock

    try:
        with nullcontext() if contests[0].simulated else measuring_lock(tell), stage() as audience:
            left_s = args.budget
            for place, contest in enumerate(contests):
                contest.budget_s = left_s / (len(contests) - place)
                audience.begin(contest)
                contest.compare(_execute, audience)
                left_s = max(0.0, left_s - contest.elapsed_s)
    finally:
        begun = [contest for contest in contests if contest.started_s is not None]
        if begun:
            _report(args, begun)
    failed = [arm for contest in contests for arm in contest.contenders if arm.failure]
    if failed:
        raise RunFailed(f"{failed[0].name} failed: {failed[0].failure}")
    return 0


def _execute(run: Run, announce: Callable[[str], None]) -> dict[str, Any]:
    from harness.measurement.run import run_in_fresh_process, run_once

    if run.simulated:
        return run_once(run, announce=announce)
    return run_in_fresh_process(run, announce=announce)


# -- what is asked for -----------------------------------------------------------------------------


def _contests(args: argparse.Namespace) -> Iterator[Contest]:
    """Yield a comparison for each combination of parameters. Raises UserError for bad input."""
    from harness.compare.rates import offered_per_s
    from harness.measurement.subject import find_subject

    place = find_place(args.machine, args.simulated, args.software, args.cpus)
    constants = parse_constants(place, args.set_constant)
    shortest_s = SHORTEST_VIRTUAL_S if place.simulated else SHORTEST_DURATION_S
    check_length("duration", args.duration, shortest_s)
    check_length("period", args.period, SHORTEST_VIRTUAL_S if place.simulated else SHORTEST_S)
    arms = _arms(args, place)
    swept = {name: text.split(",") for name, text in parse_settings(args.set).items()}
    for name, values in swept.items():
        if len(set(values)) < len(values) or "" in values:
            raise UserError(f"--set {name} must have different values, not {','.join(values)!r}")
    choices = list(product(*swept.values()))
    for values in choices:
        subject = find_subject(args.topology, dict(zip(swept, values, strict=True)), args.seed)
        runs = [(arm, _run_of(arm, subject, place, constants, args)) for arm in arms]
        graph = _graph(runs[0][1], subject)
        contenders = list(_contenders(runs, graph, bool(args.model or args.peer)))
        if len(contenders) < 2:
            raise UserError(f"two arms at least must be able to run {args.topology!r}")
        offered = offered_per_s(graph)
        by = By(args.by or (By.THROUGHPUT if offered is None else By.LATENCY))
        yield Contest(
            subject.topology,
            subject.parameters,
            contenders,
            by,
            ALPHA / len(choices),
            args.budget,
            zlib.crc32(f"{args.seed}/{subject.cell}".encode()),
            offered,
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


def _run_of(
    named: tuple[Arm, str],
    subject: Subject,
    place: Place,
    constants: dict[str, float],
    args: argparse.Namespace,
) -> Run:
    arm, _ = named
    period_s = args.period or (virtual_period_s(arm.model) if place.simulated else PERIOD_S)
    usual_s = VIRTUAL_DURATION_S if place.simulated else DURATION_S
    return Run(
        subject.topology,
        subject.given,
        arm.model,
        place,
        duration_s=arm.duration_s or args.duration or usual_s,
        period_s=period_s,
        warmup=args.warmup,
        constants=constants,
        seed=args.seed,
        experiment="compare",
        cell=subject.cell,
        arm=arm.name,
        graph_file=subject.file,
        digest=subject.digest,
        allow_threads=args.allow_threads,
    )


def _graph(run: Run, subject: Subject) -> Graph:
    from harness.measurement.subject import build_subject

    return subject.graph or build_subject(run)[0]


def _contenders(
    runs: Sequence[tuple[tuple[Arm, str], Run]], graph: Graph, explicit: bool
) -> Iterator[Contender]:
    """Yield the arms that can run a graph, and say in a line what was changed, or left out.

    `explicit`: the user named the arms, so one that cannot run is an error.
    """
    from harness.experiments.arms import in_words

    seen: dict[str, str] = {}
    for (arm, words), run in runs:
        try:
            fitted, note = _fitted(run, graph)
        except UserError as error:
            if explicit:
                raise UserError(f"arm {arm.name}: {error}") from error
            tell(f"millrace compare: {arm.name} is left out: {error}")
            continue
        if fitted.arm in seen:
            tell(f"millrace compare: {arm.name} is left out: it runs as {fitted.arm} ({note})")
            continue
        seen[fitted.arm] = arm.name
        if note:
            tell(f"millrace compare: {arm.name}: {note}")
            words = in_words(replace(arm, name=fitted.arm, model=fitted.model))
        yield Contender(fitted.arm, words, fitted, notes=[note] if note else [])


def _fitted(run: Run, graph: Graph) -> tuple[Run, str]:
    """Return a run as the graph allows it, and what was changed for which reason; "" for nothing.

    Raises UserError if it cannot be run.
    """
    from harness.measurement.prepare import check_run, raised, with_room
    from harness.measurement.spec import PeerModel, arm_name
    from harness.models import with_level

    if isinstance(run.model, PeerModel):
        from harness.peers.plan import plan_of

        plan_of(graph, 1, None)
        return run, ""
    usual = run.arm == arm_name(run.model)
    run = with_room(run, graph)
    layout = check_run(run, graph)
    if layout is None:
        return run, ""
    asked = getattr(run.model, "threads", None)
    told = raised(layout, asked, layout.pool.threads)
    fitted = replace(run, model=with_level(run.model, layout.pool))
    if usual:
        fitted = replace(fitted, arm=arm_name(fitted.model))
    return fitted, "" if told is None else f"threads {told}"


# -- what was found --------------------------------------------------------------------------------


def _check_outputs(args: argparse.Namespace) -> None:
    for option in ("html", "png", "output", "records"):
        if getattr(args, option) is not None:
            check_writable(f"--{option}", getattr(args, option))
    if args.output is not None and args.export is None:
        raise UserError(f"-o {args.output!r} needs --export, which says in what format")
    if args.png is not None and not args.png.endswith(".png"):
        raise UserError(f"--png must name a file ending in .png, not {args.png!r}")


def _report(args: argparse.Namespace, contests: Sequence[Contest]) -> None:
    """Print and write what was found, also by a call that was interrupted."""
    from harness.compare import report
    from harness.files.whole import write_whole

    if args.records is not None:
        from harness.measurement.records import write_records

        records = [
            record
            for contest in contests
            for arm in contest.contenders
            for record in (*arm.records, *arm.at_full_speed)
        ]
        write_records(args.records, records)
    if args.export is not None:
        from harness.compare.export import export

        text = export(contests, args.export)
        if args.output is None:
            say(text.rstrip("\n"))
        else:
            write_whole(args.output, text.encode())
    if args.html is not None or args.png is not None:
        _draw(args, contests)
    if args.export is None or args.output is not None:
        say("\n".join(report.lines_of(contests)))


def _draw(args: argparse.Namespace, contests: Sequence[Contest]) -> None:
    from pathlib import Path

    from harness.compare.picture import figure_of_contests, page_of
    from harness.files.whole import write_whole
    from harness.plots import style

    if args.html is not None:
        write_whole(args.html, page_of(contests).encode())
    if args.png is not None:
        style.save(figure_of_contests(contests), [Path(args.png)])
