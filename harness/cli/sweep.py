"""`sweep`: measure the blocks of experiments."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.errors import UserError

if TYPE_CHECKING:
    from harness.config import Block, Config

SUMMARY = "measure an experiment, or one block of it"
DESCRIPTION = """\
Measure experiments of a profile, block by block. A block is one cell (a topology with its parameters) under all arms
(threading models) with all repeats, in random order, each run in a fresh process. Its records are one file, written when the
block is done.

Without --cell, blocks whose file is there already, measured under the same settings, are skipped: a sweep that was interrupted
goes on where it was. Runs that fail are recorded as failed and told on stderr; they do not end the sweep.

examples:
  millrace sweep --dry-run                            what the quick profile measures, and how long it takes
  millrace sweep pldi17_fig10                         all blocks of one experiment, into results/raw/pldi17_fig10/
  millrace sweep crossover --cell CELL -o block.jsonl one block
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `sweep`."""
    parser.add_argument("experiment", nargs="*", metavar="EXPERIMENT", help="experiments of the profile (default: all of them)")
    parser.add_argument("--config", default="config/config.yaml", metavar="FILE", help="the profile (default: %(default)s)")
    parser.add_argument("--cell", metavar="CELL", help="measure this cell only, even if it was measured before")
    parser.add_argument("-o", "--output", metavar="PATH", help="file of the block (with --cell) or folder of all (without)")
    parser.add_argument("--dry-run", action="store_true", help="list the blocks, the number of runs and the estimated time")


def run(args: argparse.Namespace) -> int:
    """Measure, or list with --dry-run. Raises UserError for bad input, RunFailed if records cannot be written."""
    from harness.config import load_config

    config = load_config(args.config)
    names = args.experiment or [experiment.name for experiment in config.experiments]
    experiments = [config.experiment(name) for name in dict.fromkeys(names)]
    if args.cell is not None and len(experiments) != 1:
        raise UserError(f"--cell needs exactly one EXPERIMENT, not {len(experiments)}")
    if args.output is not None and len(experiments) != 1 and not args.dry_run:
        raise UserError(f"-o needs exactly one EXPERIMENT, not {len(experiments)}")
    if args.cell is None:
        blocks = [block for experiment in experiments for block in experiment.blocks()]
    else:
        blocks = [experiments[0].block(args.cell)]
    plan = [(block, _file(config, block, args)) for block in blocks]
    if args.dry_run:
        _list(plan, fresh=args.cell is not None)
        return 0
    if find_spec("harness.runtime.engine") is None:
        raise UserError("the runtime is not built; `make build` builds it")
    if args.cell is None:
        plan = list(_missing(plan))
    progress = Progress(plan)
    try:
        for block, path in plan:
            _measure(block, path, progress)
    finally:
        progress.close()
    return 0


def _file(config: Config, block: Block, args: argparse.Namespace) -> Path:
    if args.output is None:
        return Path(config.records(block.experiment, block.cell.name))
    return Path(args.output) if args.cell is not None else Path(args.output) / f"{block.cell.name}.jsonl"


def _list(plan: list[tuple[Block, Path]], fresh: bool) -> None:
    """One line a block, then the sums of what is still to be measured."""
    from harness.config import clock

    due = [block for block, path in plan if fresh or not _is_measured(block, path)]
    for block, _ in plan:
        arms = ", ".join(arm.name for arm in block.arms)
        state = f"about {clock(block.estimated_s)}" if block in due else "measured"
        print(f"{block.name}: {len(block.arms)} arms x {block.repeats} repeats ({arms}); {state}")
    runs = sum(block.runs for block, _ in plan)
    print(
        f"{len(plan)} blocks, {runs} runs; to measure: {len(due)} blocks, {sum(block.runs for block in due)} runs, "
        f"about {clock(sum(block.estimated_s for block in due))}"
    )


def _missing(plan: list[tuple[Block, Path]]) -> Iterator[tuple[Block, Path]]:
    """The blocks that are not there, or were measured under other settings; says which are which."""
    skipped = 0
    for block, path in plan:
        if _is_measured(block, path):
            skipped += 1
            continue
        if path.exists():
            print(f"{path}: replaced, it was measured under other settings", file=sys.stderr)
        yield block, path
    if skipped:
        print(f"{skipped} of {len(plan)} blocks are there already", file=sys.stderr)


def _is_measured(block: Block, path: Path) -> bool:
    """Whether the file holds exactly the block's runs under its settings."""
    from harness.measurement.records import read_records

    if not path.exists():
        return False
    records, problems = read_records(path)
    wanted = {(arm.name, repeat) for arm in block.arms for repeat in range(block.repeats)}
    found = {(record["arm"], record["repeat"]) for record in records}
    return not problems and found == wanted and all(_is_of(block, record) for record in records)


def _is_of(block: Block, record: dict[str, Any]) -> bool:
    """Whether the record answers the block's question. What a failed run never got to say is not held against it."""
    asked = (block.experiment, block.cell.name, block.machine, block.seed)
    window_s = next((block.window_s(arm) for arm in block.arms if arm.name == record["arm"]), block.duration_s)
    return (record["experiment"], record["cell"], record["machine"], record["seed"]) == asked and (
        record["error"] is not None
        or (abs(record["duration_s"] - window_s) < 0.5 * window_s and _is_controlled_as_in(block, record))
    )


def _is_controlled_as_in(block: Block, record: dict[str, Any]) -> bool:
    """Whether the law of an elastic run had the block's period, and the highest level of its arm if that names one."""
    terms = record.get("elastic")
    arm = next((arm for arm in block.arms if arm.name == record["arm"]), None)
    if terms is None or arm is None or not arm.elastic:
        return True
    return terms["period_s"] == block.period_s and arm.maximum in (None, terms["maximum"])


def _measure(block: Block, path: Path, progress: Progress) -> None:
    from harness.measurement.block import run_block
    from harness.measurement.records import write_records

    records = []
    measuring = run_block(block.specs(), block.repeats, block.order_seed, progress=progress.phase, notify=progress.note)
    for record in measuring:
        records.append(record)
        progress.finished(block, record)
    write_records(path, records)


class Progress:
    """Tells a person how far the sweep is: one line that is overwritten on a terminal, else a line a run."""

    def __init__(self, plan: list[tuple[Block, Path]]) -> None:
        self._total = sum(block.runs for block, _ in plan)
        self._left_s = sum(block.estimated_s for block, _ in plan)
        self._estimated_s = self._left_s
        self._started = time.monotonic()
        self._done = 0
        self._last = ""
        self._is_terminal = sys.stderr.isatty()

    def phase(self, done: int, total: int, text: str) -> None:
        """What the run in flight is doing; terminals only."""
        if self._is_terminal and text != "done":
            self._overwrite(f"{self._head()} {self._remaining()} left; {text}{self._last}")

    def note(self, text: str) -> None:
        """A line that stays."""
        self._overwrite("")
        print(text, file=sys.stderr, flush=True)

    def finished(self, block: Block, record: dict[str, Any]) -> None:
        """A run has ended."""
        self._done += 1
        self._left_s -= block.estimated_s / block.runs
        name = f"{block.name} {record['arm']} #{record['repeat'] + 1}"
        if record["error"] is not None or not record["correct"]:
            self.note(f"{name}: run failed: {(record['error'] or 'wrong result').splitlines()[0]}")
        elif self._is_terminal:
            self._last = f" (last: {record['arm']} {_rate(record)})"
        else:
            print(f"{self._head()} {name}: {_rate(record)}, {self._remaining()} left", file=sys.stderr, flush=True)

    def close(self) -> None:
        """Clear the line."""
        self._overwrite("")

    def _head(self) -> str:
        return f"[{self._done}/{self._total}]"

    def _remaining(self) -> str:
        """The estimate of what is left, stretched by how wrong it was so far."""
        from harness.config import clock

        past = self._estimated_s - self._left_s
        stretch = (time.monotonic() - self._started) / past if past > 0 else 1.0
        return clock(self._left_s * stretch)

    def _overwrite(self, text: str) -> None:
        if self._is_terminal:
            width = os.get_terminal_size(sys.stderr.fileno()).columns or 80  # some terminals do not say
            print(f"\r\033[K{text[: width - 1]}", end="", file=sys.stderr, flush=True)


def _rate(record: dict[str, Any]) -> str:
    rate = record["sink_tuples_per_s"]
    settled = "" if record["settled"] else ", unsettled"
    return f"{rate:,.0f} tuples/s{settled}" if rate is not None else f"no rate{settled}"
