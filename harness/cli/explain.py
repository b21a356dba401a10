"""`millrace explain`: where a run's time goes, and what bounds its throughput."""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.cli.arguments import check_writable
from harness.cli.extras import need
from harness.cli.lengths import UNTIL_STATIONARY
from harness.cli.run import add_run_arguments, raise_if_wrong, run_asked
from harness.errors import UserError
from harness.measurement.spec import Run, run_of, until_stationary
from harness.terminal.output import say, tell
from harness.terminal.progress_line import ProgressLine

if TYPE_CHECKING:
    from harness.explain import RunExplanation

SUMMARY = "say where a run's time goes, and what bounds its throughput"

DESCRIPTION = """\
Do one run, as millrace run does, and look up to a thousand times a second at what its threads do:
each executes an operator, makes tuples at a source, moves tuples (queues, copies), looks for work,
waits for tuples, for room, or for others to leave an operator, or is not needed. The system says
how long each thread ran and waited for a CPU. The parts add up to the time of the threads.

Then it says what bounds the throughput: an operator that one thread at a time executes, a path of
such operators without a queue, the source, the CPUs, the threads of the model, the room in queues,
or the interpreter's lock; and how much of each bound is used. docs/how-to/explaining.md explains
the columns.

On a simulated machine (--machine) all shares are exact, and the run goes on until it is stationary
(unless --duration, --warmup or --tuples say how long). With --validate, the run is measured and
also simulated on the profile of this machine, and both are shown side by side.

examples:
  millrace explain pipeline --set cost=1000 --model dynamic --threads 2
      a table by thread, a table by operator, the bounds, and what would help

  millrace explain my/graph.yaml --model dedicated --html why.html
      a graph of your own, with stacked bars

  millrace explain mix --model dynamic --threads 64 --machine xeon --png why.png
      the same in virtual time

  millrace explain pipeline --model manual --validate
      measured and simulated shares side by side

  millrace explain --replay run.jsonl
      the run of an earlier millrace explain --record run.jsonl"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `run` that are about the run itself, and those of the output."""
    add_run_arguments(parser, required=False, simulated=UNTIL_STATIONARY)
    parser.add_argument(
        "--validate",
        action="store_true",
        help="also simulate the run on the profile of this machine (millrace calibrate), and show "
        "both side by side",
    )
    parser.add_argument("--png", metavar="FILE", help="draw stacked bars; FILE may end in .svg")
    parser.add_argument("--html", metavar="FILE", help="write a page with stacked bars")
    parser.add_argument(
        "--json",
        metavar="FILE|-",
        help="write the explanation as JSON: to FILE, or with - to stdout",
    )
    parser.add_argument("--record", metavar="FILE", help="write the run's record, one line of JSON")
    parser.add_argument(
        "--replay", metavar="RECORDS", help="no run: explain those of a file of records"
    )


def run(args: argparse.Namespace) -> int:
    """Explain a run. Raises UserError for bad input, RunFailed if the run was not correct or a
    file cannot be written.
    """
    for option in ("png", "html", "json", "record"):
        if getattr(args, option) not in (None, "-"):
            check_writable(f"--{option}", getattr(args, option))
    if args.html is not None or args.png is not None:
        need("matplotlib")
    records = _records(args)
    raise_if_wrong(records)
    from harness.explain import explain

    _show(args, [explain(record) for record in records])
    return 0


def _records(args: argparse.Namespace) -> list[dict[str, Any]]:
    from harness.measurement.records import read_records, write_records

    if args.replay is not None:
        if given := _options_of_a_run(args):
            raise UserError(f"--replay makes no run: give it without {given[0]}")
        records = [record for record in read_records(args.replay)[0] if "time_use" in record]
        if not records:
            raise UserError(f"--replay: {args.replay} has no record of millrace explain")
        return records
    if args.topology is None:
        raise UserError("name a topology or a graph file, or a file of records with --replay")
    asked = run_asked(args)
    from harness.measurement.block import run_block

    runs = [asked, *([_simulated(asked)] if args.validate else [])]
    if args.duration is None:
        runs = [until_stationary(each) for each in runs]
    records = []
    for each in runs:
        with ProgressLine() as line:
            explained = replace(each, explained=True)
            records += run_block({each.arm: explained}, 1, each.seed, line.show, line.notify)
    if args.record is not None:
        write_records(args.record, records)
    return records


def _options_of_a_run(args: argparse.Namespace) -> list[str]:
    """Return what the call gives besides a file of records and files to write: the graph first."""
    unset = argparse.ArgumentParser()
    add_arguments(unset)
    given = [
        name
        for name, value in vars(unset.parse_args([])).items()
        if name not in ("replay", "png", "html", "json") and getattr(args, name) != value
    ]
    return ["a graph" if name == "topology" else f"--{name.replace('_', '-')}" for name in given]


def _simulated(asked: Run) -> Run:
    """Return the same run in virtual time, on the profile of this machine."""
    if asked.simulated:
        raise UserError("--validate compares with a measured run: give it without --machine")
    return run_of(**{**asked.to_mapping(), "simulated": True, "duration_s": None, "period_s": None})


def _show(args: argparse.Namespace, explained: list[RunExplanation]) -> None:
    from harness.explain.report import report, side_by_side

    written = tell if args.json == "-" else say  # standard output is JSON, and nothing else
    if args.json == "-":
        say(json.dumps([each.to_mapping() for each in explained]))
    else:
        for each in explained:
            say("\n".join([*report(each), ""]))
        if len(explained) == 2 and [each.simulated for each in explained] == [False, True]:
            say("\n".join(side_by_side(*explained)))
    if args.json not in (None, "-"):
        from harness.files.whole import write_whole

        text = json.dumps([each.to_mapping() for each in explained], indent=1)
        write_whole(args.json, f"{text}\n".encode())
        say(f"wrote {args.json}")
    if args.png is not None:
        from harness.explain.picture import draw

        draw(explained, [Path(args.png)])
        written(f"wrote {args.png}")
    if args.html is not None:
        from harness.explain.page import page
        from harness.files.whole import write_whole

        write_whole(args.html, page(explained).encode())
        written(f"wrote {args.html}")
