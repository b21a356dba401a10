"""`millrace laws`: compare the control laws on the SASO bench, list them, or feed them with the
record of a run."""

from __future__ import annotations

import argparse
import io
import json
import sys
from typing import TYPE_CHECKING, Any

from harness.cli.arguments import check_writable, whole
from harness.cli.extras import need
from harness.cli.parser import add_old_spelling
from harness.elasticity import DEFAULT_LAW, LAWS, Decides, Law, law_class
from harness.errors import UserError
from harness.files.checked_yaml import load_yaml
from harness.files.given import load_strict_json, read_given, text_of
from harness.files.whole import write_whole
from harness.terminal.countdown import Countdown
from harness.terminal.output import say
from harness.terminal.table import aligned_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness.bench.bench import Row
    from harness.bench.scenario import Scenario

SUMMARY = "compare control laws on the SASO bench, replay a record, list them"

DESCRIPTION = """\
A control law chooses the number of threads while a graph runs. Without a command, the SASO bench
drives each law through more than a thousand scenarios (throughput curves with noise, changes of
load and bounds) and prints how well it did. It computes for a few minutes and runs no graph.

examples:
  millrace laws bench --every 60
      scores of all laws on one scenario in 60, in some seconds

  millrace laws --report laws.md
      scores on all scenarios, in a few minutes: this table decides which law is the default

  millrace laws bench --scenarios mine.yaml --law millrace --law streams
      the same on throughput curves of your own

  millrace laws bench --multilevel --every 10
      the laws that place queues as well, on graphs: docs/appendices/laws-bench.md

  millrace laws bench --replicas --every 10
      the laws that choose threads and replicas, on graphs of co-routines

  millrace laws bench --paced
      laws of threads beside paced sources: keep up, within a bound on latency, with the fewest
      threads

  millrace laws list
      every law with its settings

  millrace laws replay --law streams record.json
      what the law would have decided on the record of a run, and why

How to write a law, and how to read its decisions: docs/explanation/laws.md."""

BENCH_DESCRIPTION = """\
Drive laws through scenarios, closed loop: the level that a law chooses decides which point of the
curve the next period shows.

Scenarios of your own are a list, in YAML or JSON:
  - name: my-sink
    throughput: min(n, 6) / (1 + 0.1 * max(0, n - 6))    # at level n; or a list: at level 1, 2, ...
    max: 32                                              # and, as far as wanted:
    min: 1
    start: 1
    noise: 0.03          # standard deviation of a period, as a share of throughput
    drift: 0.02          # the same, wandering slowly
    periods: 100
    seed: 7
    events:              # kinds: scale, burst, cpu (factor), curve (throughput), idle
      - {kind: scale, at: 50, factor: 0.5}
With --paced they also have the rate of the source, `target`, and the `bound` on latency in seconds.
docs/appendices/laws-bench.md has all keys."""

REPLAY_DESCRIPTION = """\
Feed the record of a run (one line of results/raw/*.jsonl) to a law and print what it decides after
each sample. The throughputs are those of the record, whatever the law decides.

RECORD is a file with one JSON object, or - for standard input. With the record of a run under
multilevel a law of queues is asked, and under coroutine a law of replicas or of threads."""


TITLES = {
    Decides.QUEUES: "Laws that place queues and choose the number of threads (model multilevel):",
    Decides.REPLICAS: "Laws that choose replicas and the number of threads (model coroutine):",
}
"""Titles of the kinds of laws in the listing; laws of threads alone come first, without a title."""

MAX_PATH = 200  # characters of a file's name that an error shows
MAX_PORTS_TEXT = 40  # characters of a row
MAX_EVERY = 1000
MAX_JOBS = 1024


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add a parser for each command; `args.action` is its function."""
    _add_bench_options(parser)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    benching = commands.add_parser(
        "bench",
        help="the laws on the SASO bench, or on curves of your own (the default)",
        description=BENCH_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    _add_bench_options(benching, again=True)
    benching.add_argument(
        "--scenarios",
        metavar="FILE",
        help="curves of your own (YAML or JSON) in place of the library, for laws of threads",
    )
    benching.add_argument(
        "--simulator",
        type=whole(1, MAX_EVERY),
        metavar="N",
        help="with --multilevel: N scenarios of the library, or as many as fit it, on the "
        "simulator in place of surfaces",
    )
    listing = commands.add_parser(
        "list", help="every law with its settings", description="Every law with its settings."
    )
    listing.set_defaults(action=list_laws)
    replaying = commands.add_parser(
        "replay",
        help="what a law would have decided on the record of a run",
        description=REPLAY_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    replaying.set_defaults(action=replay_record)
    replaying.add_argument("record", metavar="RECORD", help="a JSON file, or - for standard input")
    both = (
        f"one of: {', '.join(LAWS[Decides.THREADS])}; for the record of a run under "
        f"multilevel: {', '.join(LAWS[Decides.QUEUES])}"
    )
    of = "replay_{}".format  # the same options before the command belong to the bench
    replaying.add_argument("--law", dest=of("law"), required=True, metavar="NAME", help=both)
    replaying.add_argument(
        "--multilevel",
        dest=of("multilevel"),
        action="store_true",
        help="refuse a record of another model than multilevel",
    )
    replaying.add_argument(
        "--law-set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a setting of the law; may be repeated (see list)",
    )
    add_old_spelling(replaying, "--set", "--law-set")
    replaying.add_argument(
        "--json",
        dest=of("json"),
        metavar="FILE|-",
        help="write the decisions as JSON: to FILE, or with - to stdout in place of the table",
    )


def _add_bench_options(parser: argparse.ArgumentParser, again: bool = False) -> None:
    """Add the options of the bench.

    `again`: add them after the command, too. Options before the command then hold unless they are
    repeated after it.
    """
    parser.set_defaults(action=bench, scenarios=None, simulator=None)

    def add(option: str, default: object = None, **how: Any) -> None:
        parser.add_argument(option, default=argparse.SUPPRESS if again else default, **how)

    add(
        "--law",
        action="append",
        metavar="NAME",
        help="this law only; may be repeated (default: all)",
    )
    add(
        "--multilevel",
        False,
        action="store_true",
        help="laws that place queues, too (docs/appendices/laws-bench.md)",
    )
    add(
        "--replicas",
        False,
        action="store_true",
        help="laws that choose replicas in place of those for threads "
        "(docs/appendices/laws-bench.md)",
    )
    add(
        "--paced",
        False,
        action="store_true",
        help="a paced source and a bound on latency, with the fewest threads",
    )
    add(
        "--jobs",
        None,
        type=whole(1, MAX_JOBS),
        metavar="N",
        help="processes (default: one for each CPU allowed)",
    )
    add(
        "--every",
        1,
        type=whole(1, MAX_EVERY),
        metavar="N",
        help="one in N scenarios of the library (default: all)",
    )
    add(
        "--held-out",
        False,
        action="store_true",
        help="only scenarios of kinds on which no number of our laws was chosen",
    )
    add("--report", metavar="PATH", help="write the table to PATH (Markdown)")
    add(
        "--table",
        metavar="PATH",
        help="write a row a law and scenario to PATH (Parquet), for the figure",
    )
    add(
        "--json",
        metavar="FILE|-",
        help="write the rows with all levels as JSON: to FILE, or with - to stdout in place of the "
        "table",
    )


def run(args: argparse.Namespace) -> int:
    """Run the command. Raise UserError for an option before a command that does not have it."""
    if args.action is not bench:
        plain = argparse.ArgumentParser()
        _add_bench_options(plain)
        for option, default in vars(plain.parse_args([])).items():
            if option != "action" and getattr(args, option) != default:
                raise UserError(
                    f"--{option} before the command is for bench only: write options of a command "
                    "behind it"
                )
    return args.action(args)


def bench(args: argparse.Namespace) -> int:
    """Drive the laws through the scenarios; print and write the results."""
    from harness.bench.bench import check_name, contestants, library, run_bench

    bench = _bench_of(args)
    laws = list(dict.fromkeys(args.law or contestants(bench)))
    for name in laws:
        check_name(name, bench)
    chosen = library(bench, args.every) if args.scenarios is None else _own(args, bench)
    if args.held_out:
        if args.scenarios is not None:
            raise UserError("--held-out is for the library, not for --scenarios")
        chosen = [scenario for scenario in chosen if scenario.held_out]
    _check_outputs(args)
    options: dict[str, Any] = {}
    if args.simulator is not None:
        from harness.bench.queues.simulated import rows_of

        chosen, options = _on_the_simulator(args, bench, chosen), {"rows_of": rows_of}
    with _countdown(len(laws) * len(chosen)) as line:
        rows = run_bench(
            laws,
            chosen,
            lambda done, _: line.reached(done, "laws and scenarios"),
            args.jobs,
            **options,
        )
    return _tell(args, rows)


def _on_the_simulator(
    args: argparse.Namespace, bench: str, drawn: list[Scenario]
) -> list[Scenario]:
    """Return as many of the scenarios as asked for that fit the simulator."""
    from harness.bench.queues.simulated import SIMULABLE_WORDS, simulable

    if bench != "queues":
        raise UserError(f"--simulator is for --multilevel only, not {str(args.simulator)!r}")
    chosen = simulable(drawn, args.simulator)
    if not chosen:
        raise UserError(
            f"--simulator takes scenarios {SIMULABLE_WORDS}: of the {len(drawn)} with "
            f"--every {args.every} there is none"
        )
    if len(chosen) < args.simulator:
        notice = (
            f"--simulator: only {len(chosen)} of {len(drawn)} scenarios are {SIMULABLE_WORDS}, not "
            f"{args.simulator}"
        )
        print(f"millrace laws: {notice}", file=sys.stderr, flush=True)
    return chosen


def _bench_of(args: argparse.Namespace) -> str:
    """Return the library that the options name."""
    benches = {"multilevel": "queues", "replicas": "replicas", "paced": "paced"}
    given = [option for option in benches if getattr(args, option)]
    if len(given) > 1:
        raise UserError(
            f"{' and '.join(f'--{each}' for each in given)} are two benches: give one of them"
        )
    return benches[given[0]] if given else "threads"


def _countdown(pairs: int) -> Countdown:
    """Return a countdown over (law, scenario) pairs; it has no estimate until the first ones
    finish."""
    return Countdown("laws bench", float(pairs), pairs)


def _check_outputs(args: argparse.Namespace) -> None:
    outputs = {
        option: path
        for option in ("report", "table", "json")
        if (path := getattr(args, option)) not in (None, "-")
    }
    for option, path in outputs.items():
        check_writable(f"--{option}", path)
    if args.table is not None:
        need("pandas", "pyarrow")


def _tell(args: argparse.Namespace, rows: Sequence[Row]) -> int:
    """Print and write the results of a bench."""
    from harness.bench.report import as_document, as_frame, summary

    if args.table is not None:
        # the writer of Parquet would remove what it cannot write to, a device too
        buffer = io.BytesIO()
        as_frame(rows).to_parquet(buffer, index=False)
        write_whole(args.table, buffer.getvalue())
    if args.report is not None:
        write_whole(args.report, summary(rows).encode())
    if args.json is not None:
        document = json.dumps(as_document(rows))
        if args.json == "-":
            say(document)
            return 0
        write_whole(args.json, f"{document}\n".encode())
    say(summary(rows).rstrip())
    return 0


def _own(args: argparse.Namespace, bench: str) -> list[Scenario]:
    """Return a user's own scenarios, from a file."""
    import yaml

    from harness.bench.threads.user_curves import parse_paced, parse_scenarios

    path = args.scenarios
    if bench not in ("threads", "paced"):
        option = "--multilevel" if bench == "queues" else "--replicas"
        raise UserError(f"--scenarios are curves for laws of threads: not with {option}")
    if args.every != 1:
        raise UserError(
            f"--every is for the library, not for --scenarios, of which all are taken: {args.every}"
        )
    text = _text_of(path)
    try:
        document = _json_or_none(text) or load_yaml(text)
    except (yaml.YAMLError, ValueError, UserError) as error:
        raise UserError(
            f"--scenarios {path[:MAX_PATH]}: must be YAML or JSON: "
            f"{' '.join(str(error).split())[:200]}"
        ) from None
    try:
        return list(parse_paced(document) if bench == "paced" else parse_scenarios(document))
    except UserError as error:
        raise UserError(f"--scenarios {path[:MAX_PATH]}: {error}") from None


def _json_or_none(text: str) -> object:
    """Return the value of a JSON text; None for other text.

    JSON is not quite YAML: it may be indented by tabs, and has numbers without a point, as 1e-05.
    Raise ValueError for JSON with a repeated key or a number that is not finite.
    """
    try:
        return load_strict_json(text)
    except (json.JSONDecodeError, RecursionError):
        return None


def list_laws(args: argparse.Namespace) -> int:
    """Print the listing: laws of the thread level, then those that place queues."""
    texts = []
    for decides, laws in LAWS.items():
        if decides in TITLES:
            texts.append(TITLES[decides])
        texts += [law_as_text(law_class(name, decides), name == DEFAULT_LAW) for name in laws]
    say("\n\n".join(texts))
    return 0


def law_as_text(law: type[Law], default: bool) -> str:
    """Return the summary of a law and a table of its settings."""
    title = f"{law.name}{' (the default)' if default else ''}: {law.summary}"
    rows = [("setting", "default", "unit", "range", "meaning")]
    for setting in law.SETTINGS:
        if isinstance(setting.default, bool):
            default, allowed = str(setting.default).lower(), "true, false"
        else:
            default = f"{setting.default:g}"
            allowed = f"{'>' if setting.above_low else ''}{setting.low:g} .. {setting.high:g}"
        rows.append((setting.name, default, setting.unit or "-", allowed, setting.meaning))
    return "\n".join([title, *(aligned_rows(rows, indent=2) if rows[1:] else ["  no settings"])])


def replay_record(args: argparse.Namespace) -> int:
    """Print what a law decides on the record of a run, or write it as JSON."""
    from harness.bench.replay import answer, parse_record, place_names, replay
    from harness.cli.settings import parse_settings

    law, path = args.replay_law, args.replay_json
    settings = parse_settings(args.law_set, "--law-set")
    others = (*LAWS[Decides.QUEUES], *LAWS[Decides.REPLICAS])
    if args.replay_multilevel or law not in others:  # report a wrong name before reading anything
        law_class(law, Decides.QUEUES if args.replay_multilevel else Decides.THREADS)
    trace = parse_record(_text_of(args.record))
    if args.replay_multilevel and trace.decides is not Decides.QUEUES:
        raise UserError("--multilevel: the record must be of a run under the model multilevel")
    decisions = replay(law, trace, settings)
    document = json.dumps(answer(law, decisions))
    if path == "-":
        say(document)
        return 0
    layout = trace.layout if trace.decides is Decides.QUEUES else None
    replicated = trace.decides is Decides.REPLICAS
    more = ("queues",) if layout else ("replicas",) if replicated else ()
    rows = [
        ("sample", "tuples/s", "level", *more, "state", *(("ports",) if layout else ()), "reason")
    ]
    for i, (reading, decision) in enumerate(zip(trace.readings, decisions, strict=True)):
        count = (
            (str(len(decision.queued)),)
            if layout
            else ("-" if decision.replicas is None else str(sum(decision.replicas)),)
            if replicated
            else ()
        )
        ports = () if layout is None else (_cut(place_names(decision.queued, layout)) or "-",)
        level = (str(i), f"{reading.throughput:.6g}", str(decision.threads))
        rows.append((*level, *count, decision.state, *ports, decision.reason))
    if path is not None:
        check_writable("--json", path)
        write_whole(path, f"{document}\n".encode())
    say("\n".join(aligned_rows(rows, right=range(3 + len(more)))))
    return 0


def _cut(text: str) -> str:
    return text if len(text) <= MAX_PORTS_TEXT else text[: MAX_PORTS_TEXT - 1] + "…"


def _text_of(path: str) -> str:
    return text_of(sys.stdin.buffer.read() if path == "-" else read_given(path), path[:MAX_PATH])
