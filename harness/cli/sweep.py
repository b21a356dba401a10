"""`sweep`: measure the blocks of experiments."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from harness.cli.arguments import add_profile_arguments, profile_of
from harness.cli.place import add_place_arguments, parse_constants
from harness.cli.sweep_progress import SweepProgress
from harness.engine import LOCAL
from harness.errors import UserError
from harness.experiments.up_to_date import why_due
from harness.files.whole import check_folder
from harness.machines.place import Place, check_name, find_place
from harness.terminal.output import say

if TYPE_CHECKING:
    from harness.experiments.config import Config
    from harness.experiments.experiment import Block

SUMMARY = "measure an experiment, or one block of it"
DESCRIPTION = """\
Experiments of a profile are measured block by block. A block is one cell (a topology with its
parameters) under all arms (threading models) with all repeats, in random order, each run in a fresh
process. Its records are one file, which is there when the block is done. Until then they are in
FILE.unfinished, run by run.

Without --cell, the sweep skips blocks that were already measured under the same settings. A block
that was interrupted goes on behind its last finished run, unless settings, program or machine have
changed. A block whose file is damaged, or older than the code that it depends on, is measured
again. Runs that fail are recorded as failed and reported on stderr; they do not end the sweep.

An experiment may name machines; blocks on simulated ones are called MACHINE~CELL. --machine
measures on one machine only, which the experiment need not name. `millrace figures` moves the
records of such a machine away, so give them a folder with -o.

With --as this machine has a name in the records, and they go to a folder of that name: so another
machine can keep them beside its own and draw both. `millrace bundle` prepares that.

With --over constants each simulated arm also runs at 16 points at which all constants of its
machine and software that are no measurements have other values within their ranges. Figures show
the band from the lowest to the highest mean. An arm that no constant reaches has no band.

examples:
  millrace sweep --dry-run                            what the quick profile measures, and how long
                                                      it takes
  millrace sweep pldi17_fig10                         all blocks of one experiment, into
                                                      results/raw/pldi17_fig10/
  millrace sweep my.yaml                              an experiment of your own, into
                                                      results/raw/my/; millrace plot my.yaml draws
                                                      it, millrace init experiment writes one
  millrace sweep crossover --cell CELL -o block.jsonl one block
  millrace sweep pldi17_fig10 --machine xeon --software streams-4.2 --over constants
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `sweep`."""
    parser.add_argument(
        "experiment",
        nargs="*",
        metavar="EXPERIMENT",
        help="experiments of the profile (default: all but those on request), or a file of your "
        "own, my.yaml, which has the profile's size",
    )
    add_profile_arguments(parser)
    parser.add_argument(
        "--cell", metavar="CELL", help="measure this block only, even if it was measured before"
    )
    add_place_arguments(parser, default=None)
    parser.add_argument(
        "--as",
        dest="named",
        metavar="NAME",
        help="measure here, under this name of the machine in place of local; records go to "
        "results/raw/EXPERIMENT/NAME/",
    )
    parser.add_argument(
        "--over",
        choices=["constants"],
        help="vary the uncertain constants of machine and software together, of simulated blocks",
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="PATH",
        help="file of the block (with --cell) or folder of all (without)",
    )
    parser.add_argument(
        "--dry-run",
        action="store_true",
        help="list the blocks, the number of runs and the estimated time",
    )


def run(args: argparse.Namespace) -> int:
    """Measure, or list with --dry-run. Raises UserError for bad input, RunFailed if records cannot
    be written.
    """
    from harness.experiments.config import left_out, load_config, own_files

    if args.named is not None:
        check_name(args.named)
    place = _place(args)
    files = own_files(args.experiment)
    asked = [] if files else args.experiment
    config = load_config(profile_of(args), place, args.over is not None, files, asked)
    if files:
        args.experiment = [file.stem for file in files]
    names = args.experiment or [experiment.name for experiment in config.by_default]
    experiments = [config.experiment(name) for name in dict.fromkeys(names)]
    for line in left_out(experiments):
        print(line, file=sys.stderr)
    if args.cell is not None and len(experiments) != 1:
        raise UserError(f"--cell needs exactly one EXPERIMENT, not {len(experiments)}")
    if args.output is not None and len(experiments) != 1 and not args.dry_run:
        raise UserError(f"-o needs exactly one EXPERIMENT, not {len(experiments)}")
    if args.cell is None:
        blocks = [block for experiment in experiments for block in experiment.blocks()]
    else:
        blocks = [experiments[0].block(args.cell)]
    if args.over is not None and not any(block.variants for block in blocks):
        raise UserError(
            "--over constants needs a simulated block; --machine names a machine to simulate"
        )
    if args.set_constant and args.output is None:
        raise UserError(
            "--set-constant needs -o: what the workflow works with has the constants of the "
            "profiles"
        )
    constants = [parse_constants(block.place, args.set_constant) for block in blocks]
    plan = [(block, _file(config, block, args)) for block in blocks]
    if args.dry_run:
        _list(plan, fresh=args.cell is not None)
        return 0
    if find_spec("harness.runtime.engine") is None:
        raise UserError("the runtime is not built; `make build` builds it")
    if args.cell is None and not args.set_constant:
        plan = list(_missing(plan))
    for folder in dict.fromkeys(path.parent for _, path in plan):
        check_folder(folder)
    with SweepProgress([block for block, _ in plan]) as progress:
        for block, path in plan:
            _measure(block, path, constants[0] if constants else {}, progress, args.named)
    return 0


def _place(args: argparse.Namespace) -> Place | None:
    """Return the place to measure at, if one is asked for. Raises UserError for one that cannot
    be.
    """
    if args.named is not None and (args.simulated or args.machine not in (None, LOCAL)):
        raise UserError(f"--as is for measured runs, not for simulated ones: {args.named}")
    if (
        args.named is None
        and args.machine is None
        and args.cpus is None
        and not args.simulated
        and not args.software
    ):
        return None
    return find_place(args.machine or LOCAL, args.simulated, args.software, args.cpus)


def _file(config: Config, block: Block, args: argparse.Namespace) -> Path:
    if args.output is None:
        return Path(config.records(block.experiment, block.stem, args.named or ""))
    return Path(args.output) if args.cell is not None else Path(args.output) / f"{block.stem}.jsonl"


def _list(plan: list[tuple[Block, Path]], fresh: bool) -> None:
    """Print one line for each block, then the sums of what is still to be measured."""
    from harness.experiments.config import clock

    due = [block for block, path in plan if fresh or why_due(block, path)]
    for block, _ in plan:
        arms = ", ".join(arm.name for arm in block.arms)
        state = f"about {clock(block.estimated_s)}" if block in due else "measured"
        variants = f" and {len(block.variants)} variants" if block.variants else ""
        finals = f" and {block.finals.repeats} of the best" if block.finals else ""
        times = f"{len(block.arms)} arms x {block.repeats} repeats{finals}{variants}"
        say(f"{block.name}: {times} ({arms}); {state}")
    runs = sum(block.runs for block, _ in plan)
    say(
        f"{len(plan)} blocks, {runs} runs; to measure: {len(due)} blocks, "
        f"{sum(block.runs for block in due)} runs, "
        f"about {clock(sum(block.estimated_s for block in due))}"
    )


def _missing(plan: list[tuple[Block, Path]]) -> Iterator[tuple[Block, Path]]:
    """Yield the blocks that have to be measured; say why what is there of them is replaced."""
    skipped = 0
    for block, path in plan:
        why = why_due(block, path)
        if why is None:
            skipped += 1
            continue
        if path.exists():
            print(f"{path}: replaced, it {why}", file=sys.stderr)
        yield block, path
    if skipped:
        print(f"{skipped} of {len(plan)} blocks are there already", file=sys.stderr)


def _measure(
    block: Block,
    path: Path,
    constants: Mapping[str, float],
    progress: SweepProgress,
    named: str | None,
) -> None:
    from harness.measurement.block import block_order, final_order, run_block
    from harness.measurement.records import write_records
    from harness.measurement.unfinished import Unfinished

    asked = {arm: replace(run, constants=constants) for arm, run in block.runs_by_arm().items()}
    order = block_order(asked, block.repeats, block.order_seed, block.variants)
    finals = block.finals
    later = finals and partial(final_order, asked, block.repeats, block.order_seed, finals)
    unfinished = Unfinished(path, order, block.place.digests, later)
    finished = unfinished.records()
    if finished:
        print(f"{path}: goes on behind {len(finished)} of {block.runs} runs", file=sys.stderr)
    records = []
    for record in run_block(
        asked,
        block.repeats,
        block.order_seed,
        progress.phase,
        progress.note,
        block.variants,
        finished=finished,
        finals=finals,
    ):
        if named is not None:
            record["machine"] = named
        if len(records) >= len(finished):
            unfinished.add(record)
        records.append(record)
        progress.finished(block, record)
    write_records(path, records)
    unfinished.remove()
