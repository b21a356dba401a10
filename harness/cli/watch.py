"""`millrace watch`: view of a run while it adapts, and a page that plays it again."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from harness.cli.arguments import check_writable, whole
from harness.cli.model_options import flag_of
from harness.cli.run import add_run_arguments, raise_if_wrong, run_asked
from harness.cli.run_report import report
from harness.errors import RunFailed, UserError
from harness.measurement.spec import Run
from harness.terminal.output import say

if TYPE_CHECKING:
    from harness.graph import Graph
    from harness.watch.story import Story

SUMMARY = "show a run while it adapts, and write a page that plays it again"

DESCRIPTION = """\
Do one run, as millrace run does, and show what happens in it: throughput, threads, queued ports,
how busy the CPUs are, and what the control law does and why. In a terminal the view is drawn anew
each period; elsewhere there is a line a period.

With --html it also writes a page that plays the run again: the graph with its queues and regions
over time, beside the curves. The page is one file and needs no network. --replay makes it from the
record of an earlier run.

Ctrl-C ends the run; the page then shows the periods until that moment. Drawing takes about 2 ms of
CPU time each period: use millrace run for numbers that you publish.

examples:
  millrace watch pipeline --set cost=1000 --model multilevel --html run.html
      a law decides about threads and queues

  millrace watch mix --model dynamic --elastic --max-threads 8 --period 0.5
      only the threads change

  millrace watch pipeline --set operators=200 --model multilevel --machine xeon --html xeon.html
      the same on a simulated machine, in virtual time

  millrace watch --replay results/raw/mine/cell.jsonl --line 3 --html run.html
      the run of the third line of a file of records

  millrace watch my/graph.yaml --replay run.jsonl --html run.html
      a run whose graph was a file"""

MAX_LINE = 10**9

OF_A_REPLAY = ("topology", "html", "replay", "line")
"""Options of a replay."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `run` that are about the run itself, and those of the output."""
    add_run_arguments(parser, required=False)
    parser.add_argument("--html", metavar="FILE", help="write the page that plays the run again")
    parser.add_argument("--record", metavar="FILE", help="write the run's record, one line of JSON")
    parser.add_argument(
        "--replay", metavar="RECORDS", help="no run: show the one of a file of records"
    )
    parser.add_argument(
        "--line",
        type=whole(1, MAX_LINE),
        metavar="N",
        help="with --replay: the line of its record (default: the only one)",
    )


def run(args: argparse.Namespace) -> int:
    """Watch. Raises UserError for bad input, RunFailed if the run was not correct or a file cannot
    be written.
    """
    for option in ("html", "record"):
        if getattr(args, option) is not None:
            check_writable(f"--{option}", getattr(args, option))
    return _replay(args) if args.replay is not None else _watch(args)


# -- a run that goes on ----------------------------------------------------------------------------


def _watch(args: argparse.Namespace) -> int:
    if args.line is not None:
        raise UserError(f"--line {args.line} needs a --replay")
    if args.topology is None:
        raise UserError("needed is a TOPOLOGY, or a --replay of a record")
    run = replace(run_asked(args), live=True)
    from harness.watch.story import story_of_run

    story = story_of_run(run)
    try:
        record = _measure(story, run, args.record)
    except KeyboardInterrupt:
        story.outcome = "interrupted"
        raise
    except RunFailed as error:
        story.outcome, story.failed = f"failed: {error}", True
        raise
    finally:
        _write_page(story, args.html)
    say("\n".join(report([record])))
    if args.record is not None:
        say(f"wrote the record to {args.record}")
    raise_if_wrong([record])
    return 0


def _measure(story: Story, run: Run, path: str | None) -> dict[str, Any]:
    """Do the run, and show the story as it grows; return its record.

    The record is in the file `path` before an error of the view is raised.
    """
    from harness.measurement.block import run_block
    from harness.measurement.live import sample_of
    from harness.measurement.records import write_records
    from harness.watch.stage import stage

    with stage(story, _limits(story, run)) as shown:

        def hear(done: int, total: int, text: str) -> None:
            line = text.partition(": ")[2]  # behind the arm's name
            sample = sample_of(line)
            if sample is not None:
                if story.add(sample):
                    shown.period()
            elif line:
                story.enter(line.partition(":")[0])
                shown.phase()

        (record,) = run_block({run.arm: run}, 1, run.seed, hear, shown.notice)
        story.end(record)
        if path is not None:
            write_records(path, [record])
    return record


def _limits(story: Story, run: Run) -> Mapping[str, float]:
    """Return the longest time [s] of each phase of a run; empty if the run is bounded, or as long
    as its events.
    """
    if run.tuples is not None or run.events is not None:
        return {}
    if story.heading.law:
        return {"adapting": run.adaptation_limit_s, "measuring": run.elastic_window_s}
    return {"warming up": run.warmup_limit_s, "measuring": run.duration_s}


# -- a run that is over ----------------------------------------------------------------------------


def _replay(args: argparse.Namespace) -> int:
    plain = argparse.ArgumentParser()
    add_arguments(plain)
    for option, default in vars(plain.parse_args([])).items():
        if option not in OF_A_REPLAY and getattr(args, option) != default:
            raise UserError(
                f"{flag_of(option)} is for a run; with --replay the record says what was run"
            )
    record = _record(args.replay, args.line)
    from harness.watch import lines
    from harness.watch.story import story_of_record

    story = story_of_record(record, _graph(record, args.topology))
    if args.html is None:
        periods = (lines.line(story, period) for period in story.periods)
        say("\n".join([*lines.heading(story), *lines.doubt(story), *periods, story.outcome]))
    _write_page(story, args.html)
    return 0


def _record(path: str, number: int | None) -> dict[str, Any]:
    """Return the record of a line of a file, or the only one. Raises UserError if there is none, or
    more than one.
    """
    from harness.measurement.records import read_records

    records, problems = read_records(path, number)
    if problems:
        raise UserError(
            f"--replay {path}: line {problems[0].line} holds no record: {problems[0].reason}"
        )
    if not records:
        raise UserError(
            f"--replay {path}: no record" + ("" if number is None else f" in line {number}")
        )
    if len(records) > 1:
        raise UserError(
            f"--replay {path}: {len(records)} records; name the line of one with --line"
        )
    return records[0]


def _graph(record: Mapping[str, Any], word: str | None) -> Graph:
    """Return the graph of a record: of its topology, or of the file that `word` names.

    Raises UserError if the file is not the one of the record.
    """
    import topologies
    from harness.graph.files.file import is_graph_file, load_graph_file

    name = record["topology"]
    if word is not None and is_graph_file(word):
        loaded = load_graph_file(word, record["parameters"], record["seed"])
        if "digest=" in record["cell"] and f"digest={loaded.digest}" not in record["cell"]:
            raise UserError(
                f"{word} is not the file that the record was made of, or has changed since"
            )
        return loaded.graph
    if word is not None:
        raise UserError(f"with --replay TOPOLOGY may be the record's graph file only, not {word!r}")
    # a file's graph may have a topology's name
    if "digest=" in record["cell"] or name not in topologies.TOPOLOGIES:
        raise UserError(
            f"graph {name!r} of the record is no topology: name its file before --replay"
        )
    return topologies.build(name, record["parameters"], record["seed"])[0]


def _write_page(story: Story, path: str | None) -> None:
    if path is None:
        return
    from harness.files.whole import write_whole
    from harness.watch.page import page

    write_whole(path, page(story).encode())
    say(f"wrote {path}: {len(story.periods)} period(s)")
