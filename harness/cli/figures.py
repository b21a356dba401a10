"""`figures`: the whole workflow."""

from __future__ import annotations

import argparse
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from harness.cli import report
from harness.cli.arguments import add_profile_arguments, profile_of
from harness.cli.ending import ended_by
from harness.cli.parser import add_old_spelling
from harness.errors import UserError
from harness.terminal.output import say, tell

if TYPE_CHECKING:
    from harness.experiments.config import Config
    from harness.experiments.experiment import Block, Experiment

SUMMARY = "make the figures: measure, aggregate and draw what is not up to date"
DESCRIPTION = """\
This measures the experiments of a profile, aggregates the records with Spark, runs the profile's
benches, and draws all figures. You can interrupt it; it resumes and repeats at most one run.

A TARGET is the name of a figure (pldi17_fig9), `claims` (which claims of the papers hold), or any
file that the workflow makes. Without a TARGET it makes all figures and checks the claims, but for
figures that are made on request: applications, elastic_levels, multilevel, peers, and those beside
Storm in the quick size. It calls Snakemake: `snakemake -c2 figures/pldi17_fig9.png` does the same.

Of several figures it makes that of P17's mix, pldi17_fig10, before it measures any other.

At the end it says which points differ by more than both intervals from those of the kept study, the
run whose tables are in results/reference/study/.

examples:
  millrace figures                 all figures of the quick profile, in about 15 minutes on two CPUs
  millrace figures pldi17_fig9     one figure; only its experiment is measured
  millrace figures --size paper    the sizes of the papers, in about 28 hours on two CPUs
  millrace figures --report        the figures with captions as one page, results/report.html
"""


CLAIMS = "claims"
IN_RESULTS = ""
"""Value of --report without a file."""

FIRST = "pldi17_fig10"
"""Figure that is measured, aggregated and drawn before all others: the one of P17's throughput that
takes least time.
"""

DIFFERING = "beside-kept-study.csv"
"""File in the profile's results with the points that differ from those of the kept study."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `figures`."""
    parser.add_argument(
        "target",
        nargs="*",
        metavar="TARGET",
        help="figures or files to make (default: all figures)",
    )
    add_profile_arguments(parser)
    parser.add_argument(
        "--jobs",
        default="all",
        metavar="N",
        help="jobs at a time besides measuring, a core each (default: all cores)",
    )
    add_old_spelling(parser, "--cores", "--jobs")
    parser.add_argument(
        "--dry-run",
        action="store_true",
        help="count what would be done, and say why, and what time, disk and memory it needs",
    )
    parser.add_argument(
        "--report",
        nargs="?",
        const=IN_RESULTS,
        metavar="FILE",
        help="write the page of `millrace report` when the figures are made (without FILE: "
        "report.html in the profile's results)",
    )


def run(args: argparse.Namespace) -> int:
    """Run the workflow; return 1 if a job failed. Raises UserError for bad input, RunFailed if
    another workflow is running here.
    """
    from harness.experiments.config import left_out, load_config
    from harness.files.places import HARNESS

    profile = profile_of(args)
    config = load_config(profile)
    page = None if args.report is None else report.page_of(config, "--report", args.report)
    targets = [file for word in args.target for file in _files(config, word)]
    for line in left_out(_shown(config, _made(config, targets))):
        print(line, file=sys.stderr)
    # Snakemake does not remake results whose inputs were deleted
    missing = _missing(config, _made(config, targets))
    unusable = _unusable(config, _made(config, targets))
    wanted = [*_made(config, targets), *missing] if missing else targets
    if args.jobs != "all" and not (
        args.jobs.isascii() and args.jobs.isdigit() and int(args.jobs) > 0
    ):
        raise UserError(f"--jobs must be a whole number of 1 or more, or all, not {args.jobs!r}")
    common = [
        "--snakefile",
        str(HARNESS / "workflow" / "Snakefile"),
        "--configfile",
        profile,
        "--cores",
        args.jobs,
    ]
    # profiles/default explains the next two lines
    common += ["--workflow-profile", "none", "--nolock", "--rerun-incomplete"]
    common += ["--max-checksum-file-size", "32MB"]
    if args.dry_run:
        again = _again(config, wanted, unusable)
        code = _snakemake([*common, "--dry-run", "--quiet", "host", "rules", *again, "--", *wanted])
        from harness.experiments.effort import effort_left

        made = _made(config, targets)
        names = [each.name for each in _shown(config, made)]
        names += [each for each in config.benches if set(made) & set(_figure_files(config, each))]
        stages = _stages(config, made, wanted)
        tell(f"needed: {effort_left(config, names, workflows=len(stages))}")
        return code

    from harness.machines.host.cpu import allowed_cpus
    from harness.workflow.lock import hold_lock
    from harness.workflow.progress import NAME, Progress, register

    hold_lock()
    had_work = False
    for stage in _stages(config, _made(config, targets), wanted):
        progress = Progress(
            config,
            _due(config, _made(config, stage)),
            allowed_cpus() if args.jobs == "all" else int(args.jobs),
        )
        register(progress)
        again = _again(config, stage, unusable)
        with progress:
            code = _snakemake([*common, "--logger", NAME, *again, "--", *stage])
        had_work = had_work or progress.had_work
        if progress.interrupted:
            if progress.terminated:
                ended_by(signal.SIGTERM)
            raise KeyboardInterrupt
        if code:
            break
        unusable = [name for name in unusable if name not in again]
    if code == 0 and not had_work:
        print("everything is up to date", file=sys.stderr)
    made = _made(config, targets)
    drawn = [name for name in config.drawable if set(_figure_files(config, name)) & set(made)]
    if code == 0 and page is not None:
        report.write(config, page, drawn)
    if code == 0:
        _compare_with_kept_study(config, drawn)
        say("\n".join(made + ([str(page)] if page is not None else [])))
    return code


def _files(config: Config, word: str) -> list[str]:
    """Return the files that a target means. Raises UserError if the workflow makes no such file."""
    from harness.files.checked_yaml import did_you_mean

    names, experiments = config.drawable, [experiment.name for experiment in config.experiments]
    if word in names:
        return _figure_files(config, word)
    if word == CLAIMS and _claims_files(config):
        return _claims_files(config)
    name = str(Path(word))  # ./figures/x.png is figures/x.png
    files = [file for each in names for file in _figure_files(config, each)] + _claims_files(config)
    files += [f"{config.tables(each)}/throughput.parquet" for each in experiments]
    files += [config.bench(each) for each in config.benches]
    files += [
        config.records(each.name, block.stem)
        for each in config.experiments
        for block in each.blocks()
    ]
    if name not in files:
        config.refuse_other_size(word)
        close = did_you_mean(word, [*names, *files]) or f"; figures are: {', '.join(names)}"
        raise UserError(f"TARGET {word!r}: the workflow makes no such figure or file{close}")
    return [name]


def _figure_files(config: Config, name: str) -> list[str]:
    return [config.figure(name, kind) for kind in ("png", "svg")]


def _claims_files(config: Config) -> list[str]:
    """Return the reports of the papers' claims; none if no claim looks at an experiment of the
    profile.
    """
    from harness.claims.claim import experiments

    looked_at = {experiment.name for experiment in config.by_default} & set(experiments())
    return [config.figure(CLAIMS, kind) for kind in ("md", "html")] if looked_at else []


def _made(config: Config, targets: list[str]) -> list[str]:
    return targets or [
        file for name in config.drawn for file in _figure_files(config, name)
    ] + _claims_files(config)


def _missing(config: Config, targets: list[str]) -> list[str]:
    """Return the records and tables that the targets are made of and that are missing, for example
    because a user deleted them.
    """
    from harness.spark.schemas import TABLES

    needed = [
        [config.records(experiment.name, block.stem) for block in experiment.blocks()]
        + [f"{config.tables(experiment.name)}/{table}.parquet" for table in TABLES]
        for experiment in _shown(config, targets)
    ]
    needed += [
        [config.bench(name)]
        for name in config.benches
        if set(targets) & set(_figure_files(config, name))
    ]
    return [file for files in needed for file in files if not Path(file).exists()]


def _shown(config: Config, targets: list[str]) -> list[Experiment]:
    """Return the experiments that the targets show."""
    from harness.claims.claim import experiments

    claims = set(experiments()) if set(targets) & set(_claims_files(config)) else set()
    made = set(targets)
    return [
        each
        for each in config.experiments
        if (each.name in claims and not each.on_request)
        or made & set(_figure_files(config, each.name))
    ]


def _stages(config: Config, made: list[str], wanted: list[str]) -> list[list[str]]:
    """Return the targets of the workflows that make what is wanted, one after the other: first the
    figure `FIRST`, if others are made too and any of its runs is out of date.

    One workflow makes all tables after all runs, since Spark disturbs runs and takes longer to
    start than to make them. A reader would see the first figure at the end only.
    """
    first = _figure_files(config, FIRST) if FIRST in config.drawn else []
    if not set(first) <= set(made) or set(first) == set(made) or not _due(config, first):
        return [wanted]
    return [[*first, *_missing(config, first)], wanted]


def _again(config: Config, targets: list[str], unusable: list[str]) -> list[str]:
    """Return the words with which Snakemake makes the unusable records behind the targets again. It
    would make those of other targets, too.
    """
    behind = {name for _, name in _records(config, _made(config, targets))}
    asked = [name for name in unusable if name in behind]
    return ["--forcerun", *asked] if asked else []


def _records(config: Config, targets: list[str]) -> list[tuple[Block, str]]:
    """Return the blocks behind the targets, each with the file of its records."""
    shown = {each.name for each in _shown(config, targets)}
    files = (
        (block, config.records(block.experiment, block.stem))
        for each in config.experiments
        for block in each.blocks()
    )
    return [(block, name) for block, name in files if block.experiment in shown or name in targets]


def _due(config: Config, targets: list[str]) -> list[Block]:
    """Return the blocks behind the targets that are out of date."""
    from harness.experiments.up_to_date import why_due

    return [block for block, name in _records(config, targets) if why_due(block, Path(name))]


def _unusable(config: Config, targets: list[str]) -> list[str]:
    """Return the records behind the targets that do not match the settings of their block, as for
    `sweep`.

    Snakemake compares times and digests, and does not read files. Prints the damaged files, and the
    number of files with other settings.
    """
    from harness.experiments.up_to_date import DAMAGED, problem_of

    unusable: list[str] = []
    damaged = 0
    for block, name in _records(config, targets):
        if Path(name).exists():
            problem = problem_of(block, Path(name))
            if problem is not None:
                unusable.append(name)
            if problem is not None and problem.startswith(DAMAGED):
                damaged += 1
                print(f"{name}: measured again, it {problem}", file=sys.stderr)
    if len(unusable) > damaged:
        print(
            "to measure again, since they were measured under other settings: "
            f"{len(unusable) - damaged} blocks",
            file=sys.stderr,
        )
    return unusable


def _compare_with_kept_study(config: Config, names: list[str]) -> None:
    """Print how many points of the figures agree with those of the kept study, and write the others
    to a file. An installed package has no kept study.
    """
    from harness.report.kept_study import STUDY, beside_kept_study, lines, write_differing

    if not (STUDY / config.profile).is_dir():
        return
    found = beside_kept_study(config, names)
    for line in lines(found):
        print(line, file=sys.stderr)
    if any(len(each.differing) for each in found):
        path = Path(config.results) / DIFFERING
        write_differing(found, path)
        print(f"  all of them: {path}", file=sys.stderr)


def _snakemake(words: list[str]) -> int:
    """Run Snakemake's command line, in this process: the end of this process ends it too, and
    nothing is left running unseen.

    Without a limit of jobs a second, Snakemake sleeps until a job ends. With one, which is for
    clusters and which its command line always sets, it looks for jobs each second, and once more a
    second for each job that has ended: a third of a CPU after sixty jobs. That disturbs runs.
    """
    from snakemake.cli import args_to_api, parse_args
    from snakemake.exceptions import print_exception

    try:
        parser, options = parse_args(words)
        options.max_jobs_per_timespan = None
        return 0 if args_to_api(options, parser) else 1
    except SystemExit as end:
        return int(end.code or 0)
    except Exception as error:  # as Snakemake's own main does
        print_exception(error)
        return 1
