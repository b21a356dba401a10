"""`millrace run`: one topology or graph file under one threading model, measured and reported."""

from __future__ import annotations

import argparse
import math
import os
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from harness.cli.settings import add_settings_argument, add_topology_argument, parse_settings
from harness.engine import MACHINES
from harness.errors import RunFailed, UserError
from harness.measurement.spec import RunSpec, arm_name
from harness.measurement.subject import find_subject
from harness.models import MAX_QUEUE_CAPACITY, MAX_THREADS, MODELS, make_model, pool_of

SUMMARY = "run one topology or graph file under one threading model and report it"

DESCRIPTION = """\
Run one topology under one threading model on this machine and report its throughput and latency.

Each repeat runs in a process of its own. It warms up until sources and sinks agree and two windows in a row differ by
less than 5 %, then it is measured. A run that never settles is reported as such. Every run is checked: no tuple may be
lost, doubled, reordered or harmed, or the exit code is 1.

examples:
  millrace run pipeline --model dynamic
      a pipeline of default size, one scheduler thread for each CPU, measured for 2 s

  millrace run data-parallel --set width=10 --set cost=1000 --model dynamic --threads 2 --repeats 5
      five repeats, with the mean and its 95 % interval

  millrace run bushy --model dedicated --tuples 100000 --json - | jq .tuples_received
      send exactly 100,000 tuples, drain, and print the record as JSON

  millrace run my/graph.yaml --model dynamic
      a graph of your own; docs/graphs.md shows how to write it

Topologies and their parameters: millrace topologies. Threading models: millrace models."""

DEFAULT_DURATION_S = 2.0
MAX_DURATION_S = 86400.0
MAX_REPEATS = 1000
MAX_SEED = 2**63 - 1
MAX_TUPLES = 10**15


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the options of `millrace run`."""
    seconds = _seconds(0.01)
    add_topology_argument(parser)
    add_settings_argument(parser)
    parser.add_argument("--model", required=True, choices=list(MODELS), help="threading model")
    parser.add_argument(
        "--threads",
        type=_whole(1, MAX_THREADS),
        metavar="N",
        help="scheduler threads, of dynamic only (default: one for each CPU allowed)",
    )
    parser.add_argument(
        "--queue-capacity",
        type=_whole(1, MAX_QUEUE_CAPACITY),
        metavar="N",
        help="tuples a queue holds, of dynamic and dedicated (default: 1000, fewer where queues are many)",
    )
    parser.add_argument("--machine", default="local", metavar="NAME", help="where to run: local (the default)")
    parser.add_argument(
        "--duration", type=seconds, default=DEFAULT_DURATION_S, metavar="S", help="seconds to measure (default: %(default)g)"
    )
    parser.add_argument(
        "--warmup",
        type=_warmup,
        default="auto",
        metavar="auto|S",
        help="seconds to run before measuring, 0 allowed; auto (the default): until the run is stationary",
    )
    parser.add_argument(
        "--repeats",
        type=_whole(1, MAX_REPEATS),
        default=1,
        metavar="K",
        help="runs to make, each in a fresh process (default: 1)",
    )
    parser.add_argument(
        "--seed",
        type=_whole(0, MAX_SEED),
        default=0,
        metavar="N",
        help="seed of what the topology draws at random (default: 0)",
    )
    parser.add_argument(
        "--tuples",
        type=_whole(0, MAX_TUPLES),
        metavar="N",
        help="send exactly N tuples from each source, drain and measure all of it; --duration and --warmup then have no effect",
    )
    parser.add_argument(
        "--json",
        metavar="PATH|-",
        help="write one JSON record a run, one a line: to PATH, which is replaced once all runs are done, or "
        "with - to stdout, as each run ends and in place of the table",
    )


def run(args: argparse.Namespace) -> int:
    """Measure, report; raises RunFailed if a run was not correct."""
    spec = _spec(args)
    if args.json not in (None, "-"):
        _check_writable(args.json)
    from harness.measurement.block import run_block
    from harness.measurement.records import record_line, write_records

    records: list[dict[str, Any]] = []
    with _ProgressLine(args.repeats) as line:
        for record in run_block({spec.arm: spec}, args.repeats, args.seed, line.show, line.notify):
            records.append(record)
            if args.json == "-":
                line.clear()
                _print(record_line(record))
    if args.json != "-":
        _print("\n".join(report(records)))
    if args.json not in (None, "-"):
        write_records(args.json, records)
        _print(f"wrote {len(records)} record(s) to {args.json}")
    _raise_if_wrong(records)
    return 0


def _spec(args: argparse.Namespace) -> RunSpec:
    """The run asked for. Bad input is told here, before anything is started."""
    subject = find_subject(args.topology, parse_settings(args.set), args.seed)
    model = make_model(args.model, threads=args.threads, queue_capacity=args.queue_capacity)
    if subject.graph is not None:
        pool_of(subject.graph, model)  # its annotations may ask for what is not there
    if args.machine not in MACHINES:
        raise UserError(f"machine {args.machine!r} is unknown; machines are: {', '.join(MACHINES)}")
    threads = getattr(model, "threads", None)
    return RunSpec(
        topology=subject.topology,
        parameters=subject.given,
        model=args.model,
        threads=threads,
        queue_capacity=args.queue_capacity,
        machine=args.machine,
        duration_s=args.duration,
        warmup=args.warmup,
        seed=args.seed,
        tuples=args.tuples,
        cell=subject.cell,
        arm=arm_name(args.model, threads),
        graph_file=subject.file,
        digest=subject.digest,
    )


def _check_writable(path: str) -> None:
    """Raise UserError now for a path that could not be written after all the runs."""
    try:
        target = Path(path).resolve()
        if target.is_dir():
            raise UserError(f"--json must name a file, not the directory {path!r}")
        if not target.parent.is_dir():
            raise UserError(f"--json {path!r}: there is no directory {str(target.parent)!r}")
        if not os.access(target if target.exists() else target.parent, os.W_OK):
            raise UserError(f"--json {path!r}: no permission to write it")
    except (OSError, RuntimeError) as error:  # a name too long, a loop of links
        raise UserError(f"--json {_shown(path)}: not the name of a file: {error.__class__.__name__}") from error


def _raise_if_wrong(records: Sequence[dict[str, Any]]) -> None:
    wrong = [number for number, record in enumerate(records, start=1) if not record["correct"] or record["error"] is not None]
    if wrong:
        reason = (records[wrong[0] - 1]["error"] or "not correct").splitlines()[0]
        raise RunFailed(f"{len(wrong)} of {len(records)} run(s) failed; run {wrong[0]}: {reason}")


def _print(text: str) -> None:
    try:
        print(text, flush=True)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise RunFailed(f"cannot write to standard output: {error.strerror}") from error


# -- numbers -------------------------------------------------------------------------------------------------------------


def _whole(low: int, high: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        if re.fullmatch(r"[0-9]{1,19}", text) and low <= int(text) <= high:
            return int(text)
        raise argparse.ArgumentTypeError(f"must be a whole number from {low} to {high}, not {_shown(text)}")

    return parse


def _seconds(low: float) -> Callable[[str], float]:
    def parse(text: str) -> float:
        try:
            value = float(text) if text.isascii() and "_" not in text else math.nan
        except ValueError:
            value = math.nan
        if not low <= value <= MAX_DURATION_S:  # nan compares false
            raise argparse.ArgumentTypeError(f"must be from {low:g} to {MAX_DURATION_S:g} seconds, not {_shown(text)}")
        return value

    return parse


def _warmup(text: str) -> float | str:
    if text == "auto":
        return text
    try:
        return _seconds(0.0)(text)
    except argparse.ArgumentTypeError as error:
        raise argparse.ArgumentTypeError(f"must be auto, or {str(error).removeprefix('must be ')}") from None


def _shown(text: str) -> str:
    return repr(text if len(text) <= 40 else text[:40] + "…")


# -- what a person reads -------------------------------------------------------------------------------------------------


def report(records: Sequence[dict[str, Any]]) -> list[str]:
    """The lines of the table: one a run, the mean with its interval if there are several, and what to know about the host."""
    first = max(records, key=lambda record: record["threads_total"])  # one that did start, if any
    settings = " ".join(f"{name}={value}" for name, value in first["parameters"].items())
    queues = f", queues of {first['queue_capacity']} tuples" if first["queue_capacity"] else ""
    threads = f"{first['threads_total']} thread(s){queues}" if first["threads_total"] else "did not start"
    lines = [f"{first['topology']} {settings}".rstrip(), f"{first['arm']}: {threads}", ""]
    rows = [("run", "tuples/s", "submitted/s", "ns/hop", "p50 latency", "p99 latency", "settled", "correct")]
    for number, record in enumerate(records, start=1):
        latency = record["latency_ns"]
        rates = (_quantity(record[name]) for name in ("sink_tuples_per_s", "submitted_tuples_per_s", "ns_per_hop"))
        verdicts = ("yes" if record["settled"] else "NO", "yes" if record["correct"] else "NO")
        rows.append((str(number), *rates, _time(latency["p50"]), _time(latency["p99"]), *verdicts))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines += ["  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]
    lines += _mean_lines(records)
    return lines + _host_lines(records)


def _host_lines(records: Sequence[dict[str, Any]]) -> list[str]:
    """Each kind of warning once, as the first run had it: runs differ in its numbers."""
    kinds: dict[str, list[str]] = {}
    for record in records:
        for warning in record["host"]["host_warnings"]:
            kinds.setdefault(re.sub(r"[0-9.]+", "", warning), []).append(warning)
    return [f"host: {seen[0]} (in {len(seen)} of {len(records)} runs)" for seen in kinds.values()]


def _mean_lines(records: Sequence[dict[str, Any]]) -> list[str]:
    if len(records) < 2:
        return []
    correct = [record for record in records if record["correct"] and record["sink_tuples_per_s"] is not None]
    used = [record for record in correct if record["settled"]] or correct
    note = "" if used and used[0]["settled"] else ", none of them settled"
    if len(used) < 2:
        return [f"mean: an interval needs two correct, settled runs; here: {len(used)}"]
    from harness.measurement.interval import mean_interval

    mean, low, high = mean_interval([record["sink_tuples_per_s"] for record in used])
    half = f" (± {100 * (high - mean) / mean:.1f} %)" if mean > 0 else ""
    interval = f"95 % interval {_quantity(low)} .. {_quantity(high)}{half}"
    return [f"mean: {_quantity(mean)} tuples/s, {interval}, of {len(used)} runs{note}"]


def _quantity(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _time(ns: float | None) -> str:
    if ns is None:
        return "-"
    for unit, size in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if ns >= size:
            return f"{ns / size:.3g} {unit}"
    return f"{ns:g} ns"


class _ProgressLine:
    """One line on stderr that is overwritten as the runs go on; silent if stderr is not a terminal."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._width = 0
        self._live = sys.stderr.isatty()

    def __enter__(self) -> _ProgressLine:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.clear()

    def show(self, done: int, total: int, text: str) -> None:
        """Say which run is on, and what it does."""
        self._put(f"run {min(done + 1, total)}/{total}: {text}")

    def notify(self, notice: str) -> None:
        """Say why we wait: on a line of its own, so that a log has it as well."""
        self.clear()
        print(f"millrace run: {notice}", file=sys.stderr, flush=True)

    def clear(self) -> None:
        """Take the line away."""
        if self._width:
            self._put("")
            print("\r", end="", file=sys.stderr, flush=True)

    def _put(self, text: str) -> None:
        if self._live:
            print("\r" + text.ljust(self._width), end="", file=sys.stderr, flush=True)
            self._width = len(text)
