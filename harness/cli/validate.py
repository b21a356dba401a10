"""`millrace validate`: the simulator's predictions of this machine beside measurements on it."""

from __future__ import annotations

import argparse
import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.cli.arguments import add_seed_argument, check_writable, seconds, whole
from harness.cli.extras import need
from harness.cli.parser import add_old_spelling
from harness.errors import RunFailed, UserError
from harness.files.whole import write_whole
from harness.machines.place import LOCAL, find_place
from harness.terminal.countdown import Countdown
from harness.terminal.output import say

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import pandas as pd

    from harness.measurement.spec import Run
    from harness.validation.cases import Case
    from harness.validation.state import SameStateRunner

SUMMARY = "compare what the simulator predicts of this machine with what it measures"

DESCRIPTION = """\
Measure the four topologies at three costs and two payloads under manual, dedicated and dynamic with
1 and 2 threads on this machine's real threads, some of them as co-routines, pipelines of 100 and
1,000 operators under dynamic and as co-routines, an unbalanced tree, and two applications of typed
operators. Let the simulator predict the same 148 cases from the calibrated profile of this machine.
Report the errors beside those of naive baselines, whether the models come in the right order, by
how much two arms must differ for a safe order, and whether the targets are met: median error at
most 15 %, none above 40 %, the order right wherever measured medians differ by more than 15 %.

A run counts if the machine was then in the state that the profile describes: if a cache line took
as long from core to core, right before and right after it, as the profile says. A virtual machine
changes its state whenever a hypervisor moves its CPUs. Runs wait for the right state, five minutes
in all unless --patience says otherwise, and are made again if it has changed. If it is not seen at
all in the first seconds nothing waits, and the report says so.

How much the shared cache holds for a virtual machine depends on its neighbours: that is measured
between the runs, and the median takes the profile's place in the predictions (`cache.l3`). No other
constant follows the runs, and none their throughput.

The default takes about a quarter of an hour on 2 CPUs; leave the machine alone meanwhile. Every
measured run is kept when it ends, in NAME.measured.jsonl beside the output, and predictions when
all are made, in NAME.predicted.jsonl. A session that was interrupted goes on with --resume;
predictions, which take less time, are made anew, since profiles and simulator may have changed.

examples:
  millrace validate --figure validation.png --report validation.md
      the whole of it

  millrace validate --cells topology=pipeline,cost=1,cost=100 --cells model=manual
      some cases only: topology, cost, payload and model may be given, several values of one are
      alternatives

  millrace validate --measured results/validation.measured.jsonl
      new predictions beside what was measured before: about three minutes, for those who work on
      the simulator

`millrace calibrate` makes the profile."""

DEFAULT_OUTPUT = "results/validation.parquet"
DEFAULT_REPEATS = 3
DEFAULT_DURATION_S = 0.2
PATIENCE_S = 300.0
MAX_REPEATS = 1000
MEASURE_S = 1.25
PREDICT_S = 0.5
"""Approximate time of a run [s]. For estimates only."""

FIGURE_KINDS = (".png", ".svg", ".pdf")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `validate`."""
    add = parser.add_argument
    add(
        "--cells",
        action="append",
        default=[],
        metavar="FILTER",
        help="NAME=VALUE[,...]: only cases that fit; may be repeated",
    )
    add(
        "--repeats",
        type=whole(1, MAX_REPEATS),
        default=DEFAULT_REPEATS,
        metavar="K",
        help="measured runs a case (default: %(default)s)",
    )
    add(
        "--duration",
        type=seconds(0.01),
        default=DEFAULT_DURATION_S,
        metavar="S",
        help="seconds to measure in a run (default: %(default)g)",
    )
    add_seed_argument(parser, "the order of the measured runs", default=1)
    add(
        "--patience",
        type=seconds(0.0),
        default=PATIENCE_S,
        metavar="S",
        help="seconds to wait for the state that the profile describes, in all (default: "
        "%(default)g)",
    )
    add(
        "--resume",
        action="store_true",
        help="keep the measured runs that are there already, and measure the others",
    )
    add(
        "--measured",
        metavar="RECORDS",
        help="take the measured runs from this file of records, and measure nothing",
    )
    add(
        "--only-predicted",
        action="store_true",
        help="measure nothing; without --measured there is nothing to compare with",
    )
    add(
        "--output",
        default=DEFAULT_OUTPUT,
        metavar="FILE",
        help="the table, as Parquet (default: %(default)s)",
    )
    add(
        "--figure",
        metavar="FILE",
        help=f"draw predicted against measured ({', '.join(FIGURE_KINDS)})",
    )
    add("--report", metavar="FILE", help="write the report (Markdown)")
    add_old_spelling(parser, "--markdown", "--report")
    add("--strict", action="store_true", help="exit with 1 if a target is missed")


def run(args: argparse.Namespace) -> int:
    """Measure, predict, compare; return 1 if a target is missed and --strict was given."""
    from harness.validation.baselines import with_baselines
    from harness.validation.cases import PREDICTIONS, cases
    from harness.validation.comparison import compare
    from harness.validation.report import report
    from harness.validation.session import RecordLog, kept, left, read_measured, rounds
    from harness.validation.state import SameStateRunner, constants_beside
    from harness.validation.table import as_frame
    from harness.validation.verdict import judge

    chosen = cases(args.cells)
    _check(args)
    machine = find_place(LOCAL, simulated=True).described()
    state = SameStateRunner(machine, args.patience)
    stem = Path(args.output).with_suffix("")
    log, forecasts = (
        stem.with_name(f"{stem.name}.{kind}.jsonl") for kind in ("measured", "predicted")
    )
    specs = rounds(
        chosen,
        0 if args.only_predicted or args.measured else args.repeats,
        args.duration,
        args.seed,
    )
    before = read_measured(log, "--resume") if args.resume and log.exists() else []
    records = _given(Path(args.measured), chosen) if args.measured else kept(before, specs)
    due = left(specs, records)
    foreseen = PREDICTIONS * len(chosen)
    with Countdown(
        "validate", PREDICT_S * foreseen + MEASURE_S * len(due), foreseen + len(due)
    ) as line:
        if args.resume:
            line.note(f"{len(records)} of {len(specs)} measured runs are there already")
        elif specs and log.exists():
            line.note(f"what was measured before, {log}, will be replaced; --resume would keep it")
        if due:
            _try(chosen[0], line)
        if specs:
            with RecordLog(log, before) as file:
                for record in _measure(due, line, state):
                    records.append(record)
                    file.append(record)
        constants = constants_beside(records)
        predicted = _predict(chosen, constants, forecasts, line)
        if state.unseen_ns is not None:
            line.note(
                f"a cache line takes {state.unseen_ns:.0f} ns from core to core here, and "
                f"{state.expected_ns:.0f} as the "
                "profile has it, which is of another machine or state: calibrate first"
            )
        if state.repeated:
            line.note(
                f"{state.repeated} run(s) were made again, as the machine changed its state "
                "meanwhile"
            )
    cpus = [record["host"].get("cpus_allowed") for record in records]  # a lost run does not say
    comparisons = with_baselines(
        compare(chosen, records, predicted, state.expected_ns),
        machine,
        next(filter(None, cpus), machine.cpus),
    )
    text = report(comparisons, constants)
    _write(args, as_frame(comparisons, records, predicted), text)
    say(text.rstrip())
    return 1 if args.strict and not judge(comparisons).met else 0


def _write(args: argparse.Namespace, frame: pd.DataFrame, text: str) -> None:
    """Write the requested files. Raises RunFailed if one cannot be written."""
    # the writer of Parquet would remove a file that it cannot write, a device too
    buffer = io.BytesIO()
    frame.to_parquet(buffer, index=False)
    write_whole(args.output, buffer.getvalue())
    if args.report:
        write_whole(args.report, text.encode())
    if args.figure:
        from harness.plots import style, validation

        style.save(validation.figure({"validation": frame}), [Path(args.figure)])


def _check(args: argparse.Namespace) -> None:
    """Raise UserError for options that do not go together and outputs that cannot be written."""
    if args.resume and (args.measured or args.only_predicted):
        other = "--measured" if args.measured else "--only-predicted"
        raise UserError(
            f"--resume goes on measuring, and with {other} nothing is measured: leave one of them "
            "out"
        )
    if args.figure and Path(args.figure).suffix not in FIGURE_KINDS:
        raise UserError(
            f"--figure must name a file ending in {', '.join(FIGURE_KINDS)}, not {args.figure!r}"
        )
    need("pandas", "pyarrow", *(["matplotlib"] if args.figure else []))
    if args.output == DEFAULT_OUTPUT:
        Path(DEFAULT_OUTPUT).parent.mkdir(exist_ok=True)
    for option in ("output", "figure", "report"):
        if getattr(args, option) is not None:
            check_writable(f"--{option}", getattr(args, option))


def _given(path: Path, chosen: Sequence[Case]) -> list[dict[str, Any]]:
    """Return the measured runs of the chosen cases in a file. Raises UserError if there is none."""
    from harness.validation.session import read_measured

    wanted = {(case.cell, case.arm) for case in chosen}
    records = [
        record
        for record in read_measured(path, "--measured")
        if (record["cell"], record["arm"]) in wanted
    ]
    if not records:
        raise UserError(f"--measured: {path} holds no measured run of the cases asked for")
    return records


def _predict(
    chosen: Sequence[Case], constants: Mapping[str, float], path: Path, line: Countdown
) -> list[dict[str, Any]]:
    from harness.measurement.records import write_records
    from harness.validation.cases import PREDICTIONS
    from harness.validation.session import predict

    records = []
    specs = [case.predicted(repeat, constants) for case in chosen for repeat in range(PREDICTIONS)]
    for record in predict(specs, lambda run, phase: line.show(_what(run, phase))):
        records.append(record)
        _tell(line, PREDICT_S, "predicted", record)
    write_records(path, records)
    if all(record["error"] is not None for record in records):
        raise RunFailed(f"no case could be predicted: {records[0]['error'].splitlines()[0]}")
    return records


def _try(case: Case, line: Countdown) -> None:
    """Raise RunFailed if a case cannot be predicted: nothing is measured with a profile that is of
    no use.
    """
    from harness.validation.session import predict

    for record in predict([case.predicted(0)], lambda run, phase: line.show(_what(run, phase))):
        if record["error"] is not None:
            raise RunFailed(f"{case} cannot be predicted: {record['error'].splitlines()[0]}")


def _measure(
    due: Sequence[Run], line: Countdown, state: SameStateRunner
) -> Iterator[dict[str, Any]]:
    from harness.validation.session import measure

    for record in measure(due, lambda run, phase: line.show(_what(run, phase)), line.note, state):
        _tell(line, MEASURE_S, f"measured #{record['repeat'] + 1}", record)
        yield record


def _what(run: Run, phase: str) -> str:
    return f"{run.cell} {run.arm}: {phase}"


def _tell(line: Countdown, estimated_s: float, kind: str, record: dict[str, Any]) -> None:
    """Report the end of a run; a failed run gets a line that stays."""
    from harness.validation.report import amount

    name = f"{record['cell']} {record['arm']} {kind}"
    line.finished(estimated_s, f"{name}: {amount(record['sink_tuples_per_s'])} tuples/s")
    if record["error"] is not None or not record["correct"]:
        line.note(f"{name}: run failed: {(record['error'] or 'wrong result').splitlines()[0]}")
