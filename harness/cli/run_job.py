"""Jobs on the command line: which runs are jobs, and what one prints."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from dataclasses import replace

from harness.cli.arguments import check_apart, check_writable
from harness.cli.run_report import heading_of_threads, left_out_lines, left_out_warnings
from harness.errors import RunFailed, UserError
from harness.graph import Graph
from harness.graph.values import MAX_TUPLES
from harness.jobs.job import JobOutcome, run_job
from harness.jobs.results import FIRST, STANDARD, JobResults, files_of, format_of, standard_output
from harness.jobs.tapped import sinks_of, streams_of
from harness.machines.machine import LOCAL
from harness.measurement.records import record_line, write_records
from harness.measurement.spec import Run
from harness.terminal.output import say, tell
from harness.terminal.progress_line import ProgressLine
from topologies import TOPOLOGIES

CYCLES, ONCE, ENDLESS = "cycles", "once", "endless"
INPUTS = ("input", "url")


def benchmark_word(args: argparse.Namespace, given: Mapping[str, str]) -> str | None:
    """Return the first word of a command that asks for a benchmark, or None."""
    asked = {
        "--duration": args.duration is not None,
        "--warmup": args.warmup != "auto",
        "--tuples": args.tuples is not None,
        "--repeats": args.repeats > 1,
        "--peer": args.peer is not None,
        "--machine": args.machine != LOCAL,
        "--simulated": args.simulated,
        f"{CYCLES}={given.get(CYCLES)}": _cycles(args, given) not in (None, ONCE),
    }
    return next((word for word, is_asked in asked.items() if is_asked), None)


def is_job(args: argparse.Namespace, given: Mapping[str, str]) -> bool:
    """Return True if a command asks for a job. A graph file with typed streams is one as well,
    unless a word asks for a benchmark. Raises UserError for a command that asks for both.
    """
    word = benchmark_word(args, given)
    if args.output is not None and word is not None:
        raise UserError(
            f"--output is for a job, which goes once over its input; {word} asks for a benchmark"
        )
    if args.output is not None or _cycles(args, given) == ONCE:
        return True
    return word is None and args.topology in TOPOLOGIES and not given.keys().isdisjoint(INPUTS)


def parameters_of_job(topology: str, given: Mapping[str, str]) -> dict[str, str]:
    """Return the parameters of a job: its input is gone through once."""
    known = TOPOLOGIES[topology].parameters if topology in TOPOLOGIES else {}
    if CYCLES not in known or CYCLES in given:
        return dict(given)
    return {**given, CYCLES: ONCE if ONCE in known[CYCLES].words else "1"}


def ends_by_itself(args: argparse.Namespace, given: Mapping[str, str]) -> bool:
    """Return True for a benchmark whose input ends after some cycles, and that has no time of its
    own: it is measured as a whole.
    """
    here = args.machine == LOCAL and not args.simulated
    return here and args.duration is None and _cycles(args, given) not in (None, ENDLESS, ONCE)


def _cycles(args: argparse.Namespace, given: Mapping[str, str]) -> str | None:
    """Return the cycles that a command asks for; a graph file may give the word another meaning."""
    return given.get(CYCLES) if args.topology in TOPOLOGIES else None


def do_job(args: argparse.Namespace, asked: Run, graph: Graph) -> int:
    """Do a job and print what came of it; returns the exit code. Raises RunFailed if it failed, and
    KeyboardInterrupt if it was interrupted.
    """
    streams = [each for sink in sinks_of(graph) for each in dict.fromkeys(streams_of(sink))]
    if not streams:
        raise UserError(f"a job needs a sink; graph {graph.name} has none")
    if args.json == STANDARD and args.output in (None, STANDARD):
        raise UserError("--json - and the results would both be on standard output; give a FILE")
    written = [
        (f"--{name}", getattr(args, name))
        for name in ("json", "log")
        if getattr(args, name) not in (None, STANDARD)
    ]
    if args.output not in (None, STANDARD):
        format_of(args.output)
        written = [*(("--output", each) for each in files_of(args.output, streams)), *written]
    for option, path in written:
        check_writable(option, path)
    check_apart(written, asked.parameters)
    has_output = args.output == STANDARD
    results = JobResults(
        args.output, streams, standard_output() if has_output else sys.stdout.buffer
    )
    put = tell if has_output or args.json == STANDARD else say
    with ProgressLine(args.log) as line:
        job = run_job(
            replace(asked, tuples=MAX_TUPLES),
            graph,
            results,
            lambda record: put("\n".join(heading_of_threads(record))),
            lambda period: args.log and line.show(0, 1, f"job: {period}"),
        )
    if results.closed and not has_output:
        put = tell  # nobody reads standard output any more
    if args.json == STANDARD:
        say(record_line(job.record))
    elif args.json is not None:
        write_records(args.json, [job.record])
    for line in (
        *conclusion_of(job, results),
        *([] if args.json in (None, STANDARD) else [f"wrote 1 record to {args.json}"]),
        *left_out_warnings([job.record], args.warn_left_out),
    ):
        put(line)
    if job.record["error"] is not None or not job.record["correct"]:
        kept = f"; {kept_of(results)}" if results.files else ""
        reason = (job.record["error"] or "not correct").splitlines()[0]
        raise RunFailed(f"the job failed: {reason}{kept}")
    if results.closed:
        return 0  # as `head` does, the reader has taken what it wanted
    if job.interrupted:
        raise KeyboardInterrupt
    return 0


def conclusion_of(job: JobOutcome, results: JobResults) -> list[str]:
    """Return the lines below the results of a job."""
    record = job.record
    lines = []
    if results.path is None and results.total > FIRST:
        lines.append(f"... and {results.total - FIRST:,} more; --output FILE keeps all of them")
    elif results.total == 0:
        lines.append("no results")
    counted = record["application"] if record["application"] else {}
    seconds = f"{record['duration_s']:.3g} s"
    counts = ", ".join(f"{name} {value:,}" for name, value in counted.items())
    lines.append(f"after {seconds}: {counts}" if counts else f"after {seconds}")
    lines += left_out_lines([record])
    if results.path is not None and results.path != STANDARD:
        lines.append(kept_of(results))
    elif results.path == STANDARD:
        lines.append(f"wrote {results.total:,} results")
    return lines


def kept_of(results: JobResults) -> str:
    """Return which results are in which files."""
    return "wrote " + ", ".join(
        f"{count:,} results to {file}"
        for count, file in zip(results.counts.values(), results.files, strict=True)
    )
