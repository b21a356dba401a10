"""`millrace run`: one topology or graph file under one threading model, measured and reported."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from harness.cli.arguments import (
    SHORTEST_DURATION_S,
    SHORTEST_VIRTUAL_S,
    add_seed_argument,
    check_apart,
    check_length,
    check_writable,
    percent,
    whole,
)
from harness.cli.lengths import VIRTUAL_DURATION, add_length_arguments
from harness.cli.model_options import add_model_options, given_options, model_name
from harness.cli.parser import INSTEAD
from harness.cli.peer_run import add_peer_argument, run_of_peer
from harness.cli.place import add_place_arguments, parse_constants
from harness.cli.profile_option import add_profile_argument, profile_of_asked
from harness.cli.run_job import benchmark_word, do_job, ends_by_itself, is_job, parameters_of_job
from harness.cli.run_report import benchmark_lines, conclusion, heading, left_out_warnings, row
from harness.cli.settings import add_settings_argument, add_topology_argument, parse_settings
from harness.errors import RunFailed, UserError
from harness.graph import Graph
from harness.graph.kinds import ELASTIC_LOAD_BALANCE
from harness.graph.values import MAX_TUPLES
from harness.machines.host.cpu import SHORTEST_S
from harness.machines.place import Place, find_place
from harness.measurement.prepare import check_run, raised, with_room
from harness.measurement.spec import DURATION_S, PERIOD_S, WINDOW_PERIODS, Run, arm_name, run_of
from harness.measurement.subject import build_subject, find_subject
from harness.models import MODELS, Dynamic, with_level
from harness.models.layout import RunLayout
from harness.terminal.output import say, tell
from harness.terminal.progress_line import ProgressLine

SUMMARY = "run one topology or graph file under one threading model and report it"

DESCRIPTION = """\
A run is a job or a benchmark.

A job goes once over its input and delivers what each sink receives: to --output, or else it shows
the first ten results. Runs of a topology with `input` or `url`, of a graph file with typed streams,
and all runs with --output are jobs. The input is read as a stream, so it may be a pipe; `-` is
standard input. Ctrl-C ends a job; its results so far are kept in a file that ends in .partial.

All others are benchmarks. So are those that ask for a time (--duration, --warmup), for --repeats,
for --tuples, for `cycles`, or for another machine. A benchmark holds its input in memory and reads
it again and again. Each repeat runs in a process of its own. It warms up until sources and sinks
agree and two windows in a row differ by less than 5 %, then it is measured. A run that never
settles is reported as such. A run whose sources end before its time is over is measured from its
first tuple to its last, and so is one with `cycles=N` and no --duration.

Every run is checked: no tuple may be lost, doubled, reordered or harmed, or the exit code is 1.

With --elastic, a run adapts first: until the control law has kept its number of threads for 8
periods and the rates are stationary. This takes at most 40 periods or 10 times the duration,
whichever is longer, and never more than 600 s. With --model multilevel, where the law also places
queues, the limits are 120 periods and 1,200 s. Then the run is measured for 5 periods or longer,
while the law goes on.

examples:
  millrace run login-failures --set input=/var/log/auth.log --output failures.csv
      each failed login of a log, in a file; .jsonl (lines of JSON) and .parquet are other formats

  zcat auth.log.*.gz | millrace run login-failures --set input=- --output - | jq .rhost
      the same from a pipe, into a pipe

  millrace run pipeline
      a pipeline of default size under the dynamic model, one scheduler thread for each CPU,
      measured for 2 s

  millrace run data-parallel --set width=10 --set cost=1000 --model dynamic --threads 2 --repeats 5
      five repeats, with the mean and its 95 % interval

  millrace run bushy --model dedicated --tuples 100000 --json - | jq .tuples_received
      send exactly 100,000 tuples, drain, and print the record as JSON

  millrace run my/graph.yaml --model dynamic
      a graph of your own; docs/how-to/graphs.md shows how to write it

  millrace run mix --model dynamic --threads 64 --machine xeon
      the same on a simulated machine, in virtual time; machines are listed by millrace machines

  millrace run my.py --machine xeon
      the same for operators that call functions of yours: they are profiled here first

  millrace run pipeline --set cost=1000 --model dynamic --elastic --max-threads 8 --log -
      a control law finds the number of threads while tuples flow; each period prints what it saw
      and why it decides so

  millrace run pipeline --model multilevel --log -
      a law decides about threads and queues

  millrace run chain --set operators=2 --model coroutine --elastic --max-threads 4 --log -
      a law decides about threads and replicas; --law cstream is that of the paper, --law
      utilisation chooses threads alone

  millrace run pipeline --set operators=10 --peer go
      the same graph in Go, with a goroutine for each operator; docs/how-to/peers.md lists the other
      runtimes

Topologies and their parameters: millrace topologies. Threading models: millrace models."""

DEFAULT_MODEL = Dynamic.name
MAX_REPEATS = 1000
WARN_LEFT_OUT = 1.0  # percent


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the options of `millrace run`."""
    add_run_arguments(parser)
    add_peer_argument(parser)
    parser.add_argument(
        "--log",
        metavar="FILE|-",
        help="write a line for each phase and for each period of a control law: to PATH, or with - "
        "to stderr",
    )
    parser.add_argument(
        "--output",
        metavar="FILE|-",
        help="run a job and write what its sinks receive: to FILE, as lines of JSON (.jsonl, "
        ".ndjson, .json), CSV (.csv) or Parquet (.parquet), a file FILE.SINK.* for each of several "
        "sinks; with - to stdout, as lines of JSON, and all else goes to stderr",
    )
    parser.add_argument(
        "--warn-left-out",
        type=percent,
        default=WARN_LEFT_OUT,
        metavar="PERCENT",
        help="end with a warning if more than this share of the input was left out: broken, late, "
        "truncated, or of an unknown kind (default: %(default)g)",
    )
    parser.add_argument(
        "--repeats",
        type=whole(1, MAX_REPEATS),
        default=1,
        metavar="K",
        help="runs to make, each in a fresh process (default: 1)",
    )
    parser.add_argument(
        "--json",
        metavar="FILE|-",
        help="write one JSON record of each run, one a line: to FILE, which is replaced after the "
        "last run or at Ctrl-C; "
        "with - to stdout, as each run ends and in place of the table",
    )


def add_run_arguments(
    parser: argparse.ArgumentParser, required: bool = True, simulated: str = VIRTUAL_DURATION
) -> None:
    """Describe a run; `required`: whether it has to be said which topology; `simulated`: how long
    simulated runs are by default. `run_asked` reads what was given.
    """
    add_topology_argument(parser, required)
    add_settings_argument(parser)
    model = parser.add_argument(
        "--model",
        default=DEFAULT_MODEL,
        type=model_name,
        choices=list(MODELS),
        help="threading model (default: %(default)s)",
    )
    setattr(model, INSTEAD, "; millrace compare runs several models in turns and compares them")
    add_model_options(parser)
    add_length_arguments(parser, DURATION_S, PERIOD_S, simulated)
    add_place_arguments(parser)
    add_profile_argument(parser)
    add_seed_argument(parser, "what the topology draws at random")
    parser.add_argument(
        "--tuples",
        type=whole(0, MAX_TUPLES),
        metavar="N",
        help="send exactly N tuples from each source, drain and measure all of it; --duration and "
        "--warmup then have no effect",
    )


def run(args: argparse.Namespace) -> int:
    """Do a job, or measure; report. Raises RunFailed if a run was not correct."""
    given = parse_settings(args.set)
    if args.peer is None:
        wants_job = is_job(args, given)
        parameters = parameters_of_job(args.topology, given) if wants_job else given
        asked, graph = run_with_graph(args, parameters)
        typed_file = bool(asked.graph_file) and graph.typed_graph
        if wants_job or (typed_file and benchmark_word(args, given) is None):
            return do_job(args, asked, graph)
    else:
        asked = _run_of_peer(args)
    written = [
        (f"--{name}", getattr(args, name))
        for name in ("json", "log")
        if getattr(args, name) not in (None, "-")
    ]
    for option, path in written:
        check_writable(option, path)
    check_apart(written, asked.parameters)
    from harness.measurement.block import run_block
    from harness.measurement.records import record_line

    records: list[dict[str, Any]] = []
    try:
        with ProgressLine(args.log) as line:
            if args.json != "-":
                for text in benchmark_lines(asked):
                    say(text)
            for record in run_block(
                {asked.arm: asked}, args.repeats, args.seed, line.show, line.notify
            ):
                records.append(record)
                line.clear()
                if args.json == "-":
                    say(record_line(record))
                else:
                    say("\n".join([*(heading(record) if len(records) == 1 else ()), row(records)]))
    except KeyboardInterrupt:
        raise KeyboardInterrupt(f"after {len(records)} of {args.repeats} run(s)") from None
    finally:
        if records:  # what is finished is kept, whatever ended the runs
            _keep(args.json, records, args.warn_left_out)
    raise_if_wrong(records)
    return 0


def _keep(path: str | None, records: Sequence[dict[str, Any]], most_left_out: float) -> None:
    """Write the records of the runs that are finished, and print what they come to together."""
    warnings = left_out_warnings(records, most_left_out)
    if path == "-":
        for each in warnings:
            tell(each)
        return
    if path is not None:
        from harness.measurement.records import write_records

        write_records(path, records)
    lines = conclusion(records) + (
        [] if path is None else [f"wrote {len(records)} record(s) to {path}"]
    )
    lines += warnings
    if lines:
        say("\n".join(lines))


def run_asked(args: argparse.Namespace) -> Run:
    """Return the run asked for. Raises UserError for bad input, before anything is started."""
    return run_with_graph(args, parse_settings(args.set))[0]


def run_with_graph(args: argparse.Namespace, given: Mapping[str, str]) -> tuple[Run, Graph]:
    """Return the run asked for with these parameters, and its graph."""
    place = find_place(args.machine, args.simulated, args.software, args.cpus)
    constants = parse_constants(place, args.set_constant)
    _check_lengths(args, place)
    subject = find_subject(args.topology, given, args.seed)
    run = run_of(
        subject.topology,
        subject.given,
        args.model,
        machine=place.machine,
        simulated=place.simulated,
        software=place.software,
        constants=constants,
        duration_s=args.duration,
        period_s=args.period,
        warmup=args.warmup,
        seed=args.seed,
        tuples=MAX_TUPLES if args.tuples is None and ends_by_itself(args, given) else args.tuples,
        cell=subject.cell,
        graph_file=subject.file,
        digest=subject.digest,
        allow_threads=args.allow_threads,
        **given_options(args),
    )
    graph = subject.graph or build_subject(run).graph
    if profile := profile_of_asked(args, place, subject, graph):
        run = replace(run, profile=profile)
        graph = build_subject(run).graph
    if args.maximum is None:
        run = with_room(run, graph)
    layout = check_run(run, graph)
    if subject.graph is not None:  # the graph of a file may raise the level
        run = replace(run, model=with_level(run.model, layout.pool))
    run = replace(run, arm=arm_name(run.model))
    if args.threads is not None or args.minimum is not None:
        _tell_raised(layout, args)
    if args.period is not None:
        _check_period(layout, args.period)
    window_s = run.elastic_window_s
    if args.duration is not None and args.tuples is None and run.duration_s < window_s:
        _tell_window(layout, run)
    return run, graph


def _tell_raised(layout: RunLayout, args: argparse.Namespace) -> None:
    """Say that a pool has more threads than were asked for, and why."""
    pool = layout.pool
    levels = (
        ("--threads", args.threads, pool.threads),
        ("--min-threads", args.minimum, pool.minimum),
    )
    for option, asked, level in levels:
        notice = raised(layout, asked, level)
        if notice is not None:
            tell(f"millrace: {option} {notice}")


def _tell_window(layout: RunLayout, run: Run) -> None:
    """Say that a run will be measured for longer than was asked for, if a law is at work."""
    if layout.pool.elastic:
        tell(
            f"millrace: a run with a control law is measured for {WINDOW_PERIODS} periods at "
            "least, so for "
            f"{run.elastic_window_s:g} s and not for --duration {run.duration_s:g}; a shorter "
            "--period makes it shorter"
        )


def _run_of_peer(args: argparse.Namespace) -> Run:
    """Return the run of a peer that is asked for."""
    unset = argparse.ArgumentParser()
    add_run_arguments(unset)
    _check_lengths(args, Place())
    return run_of_peer(args, unset.parse_args([args.topology]))


def _check_period(layout: RunLayout, period_s: float) -> None:
    """Raise UserError for a period of laws where there are none. The law of a load balance has its
    own, but how long all may take to settle is counted in this one.
    """
    balances = any(
        operator.kind is ELASTIC_LOAD_BALANCE and operator.elastic
        for operator in layout.graph.operators.values()
    )
    if not balances and not layout.pool.elastic:
        raise UserError(
            "period applies where a law is at work only; nothing is elastic here under "
            f"{layout.model.name}: {period_s:g}"
        )


def _check_lengths(args: argparse.Namespace, place: Place) -> None:
    """Raise UserError for a measured window or a period of laws [s] that is too short where the run
    is made.
    """
    if place.simulated:
        least = dict.fromkeys(("duration", "period"), SHORTEST_VIRTUAL_S)
    else:
        least = {"duration": SHORTEST_DURATION_S, "period": SHORTEST_S}
    for name, shortest in least.items():
        check_length(name, getattr(args, name), shortest)


def raise_if_wrong(records: Sequence[dict[str, Any]]) -> None:
    """Raise RunFailed, with the reason, if one of the runs failed."""
    wrong = [
        number
        for number, record in enumerate(records, start=1)
        if not record["correct"] or record["error"] is not None
    ]
    if wrong:
        reason = (records[wrong[0] - 1]["error"] or "not correct").splitlines()[0]
        raise RunFailed(f"{len(wrong)} of {len(records)} run(s) failed; run {wrong[0]}: {reason}")
