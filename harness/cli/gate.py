"""The command `millrace gate`: compares base with head, gives a verdict on each cell, and an exit
code that a CI can trust."""

from __future__ import annotations

import argparse
import math
import random
import shlex
import traceback
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.cli import ending
from harness.cli.arguments import AUTO, seconds, shown, whole
from harness.cli.parser import add_old_spelling
from harness.errors import RunFailed, UserError
from harness.files.places import CONFIG
from harness.gate.cell import COUNT, TAIL_RULE, USED, WALL_S, tail_of
from harness.gate.errors import Interrupted, NoBase
from harness.gate.verdict import ALPHA, FACTOR, Comparison, Exit, exit_code
from harness.terminal.output import tell

if TYPE_CHECKING:
    from harness.gate.suite import Suite
    from harness.gate.tree import Role

SUMMARY = "compare the speed of two versions of a program, for CI: slower, fine, or cannot tell"

DESCRIPTION = """\
Base is the old version, head the new one. The gate builds both, measures them in turns, and gives
each cell of a suite a verdict: regressed, ok, improved or inconclusive. If head is no slower, at
most one call in a hundred (alpha 0.01) says that it is.

A sample is a fresh process. A block is two samples of each side in a random order, and the
statistics count blocks. Measuring ends when each cell is decided, one is proven slower, or the time
is up. At the same time base is compared with itself. If that finds a difference, the host cannot be
trusted, and the call says so.

A side is a revision (anything that git knows), a directory, or files of results, which may be
packed by gzip: verdicts of the gate, or files of pytest-benchmark, pyperf, hyperfine, Google
Benchmark, JMH, Criterion.rs, asv, Bencher, github-action-benchmark, `go test -bench` or `cargo
bench`.

exit codes:
  0    ok: no cell is worse by more than the factor
  1    regressed: at least one cell is proven slower, whatever became of the others
  2    the call is wrong: an option, the suite, the revision of head, or both sides load one
       tree's code
  3    inconclusive: at least one cell is not decided (--inconclusive pass makes it 0, fail makes
       it 1)
  4    no base: its revision is unknown, it does not build, it has no number for a cell, or its
       results are of another host
  5    not measured: head does not build, or gave no number for a cell
  6    host unstable: base differs from itself, or gave no number beside itself
  7    wrong results: head lost, doubled, reordered or harmed tuples
  70   the gate itself failed, or could not write what was asked for
  130  interrupted by Ctrl-C; what was measured is written
  143  the same by SIGTERM
  129  the same by SIGHUP

examples:
  millrace gate --base main
      the working tree against main, with the default suite, in at most 10 minutes

  millrace gate --base v1.2.0 --head HEAD --factor 1.05 --time-budget 300 \\
          --junitxml gate.xml --report gate.md
      in CI: up to 5 % slower is fine, 5 minutes, reports for the server and for people

  millrace gate --base main --explain -- ./program --size 100
      which functions take longer, if it is slower

  millrace gate --base main --suite my/suite.yaml --pairs 40
      cells of your own, 40 pairs of each, looked at once; docs/how-to/gate-suites.md shows how to
      write a suite

  millrace gate --base main --build make --time-budget 900 -- ./program --size 100
      no suite: compare how long a command takes in both trees, from its start to its end

  millrace gate --base old1.json --base old2.json --head new1.json --head new2.json
      files of pytest-benchmark, measured in turns; a decision at alpha 0.01 takes at least 14 files
      a side

  millrace gate --base main --json verdict.json; millrace gate --base verdict.json --head later.json
      a verdict file holds head's samples, and can be a side later; one file tells the ratio,
      several in turns decide

  millrace gate --bisect v1.2.0..main -- ./program --size 100
      which commit made it slower, and with which chance that is wrong; exit code 0 if it is known,
      1 if there is nothing to find, 125 if it is undecided

  millrace gate history show    verdicts over time, and when they changed"""

TAKES_COMMAND = True
SUBCOMMANDS = {"history": "harness.cli.gate_history"}

DEFAULT_SUITE = CONFIG / "gate" / "default.yaml"
MOST_FACTOR = 100.0

MOST_PAIRS = 10_000
MOST_SEED = 2**63 - 1
SHORTEST_S = 1.0
# a missing file with such an ending is reported as missing, not as an unknown revision
FILES = (".json", ".json.gz", ".txt", ".txt.gz")
POLICIES = {
    None: Exit.INCONCLUSIVE,
    "pass": Exit.OK,
    "fail": Exit.REGRESSED,
    "skip": Exit.INCONCLUSIVE,
}
SKIP, ABORT = 125, 128  # exit codes for which `git bisect run` skips a commit, or stops
FOR_GIT = {
    Exit.INCONCLUSIVE: SKIP,
    Exit.NO_BASE: SKIP,
    Exit.NOTHING_MEASURED: SKIP,
    Exit.HOST_UNSTABLE: SKIP,
    Exit.USAGE: ABORT,
}
"""Exit codes with `--inconclusive skip`. All others below 128 mean a bad commit for git."""
GATE_FAILED_STATUS = 70  # EX_SOFTWARE of sysexits.h; not 1, which means "regressed"
OF_MEASURING = {
    "build": "--build",
    "metric": "--metric",
    "explain": "--explain",
    "pairs": "--pairs",
    "time_budget": "--time-budget",
    "seed": "--seed",
    "command": "-- COMMAND",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the options of `millrace gate`."""
    sides = parser.add_argument_group("what to compare")
    sides.add_argument(
        "--base",
        action="append",
        metavar="REV|DIR|RESULTS",
        help="what to compare with: a revision, a directory, or a file of results; may be repeated "
        "for files",
    )
    sides.add_argument(
        "--head",
        action="append",
        metavar="REV|DIR|RESULTS",
        help="what is in question (default: the current directory); files if --base is files, and "
        "may be repeated then",
    )
    sides.add_argument(
        "--bisect",
        metavar="GOOD..BAD",
        help="in place of --base: name the commit between these two that made the program slower",
    )
    sides.add_argument(
        "--suite",
        metavar="FILE",
        help="what to measure (default: the project's config/gate/default.yaml); with files of "
        "results, terms for their cells",
    )
    sides.add_argument(
        "--build",
        action="append",
        metavar="COMMAND",
        help="before -- COMMAND, which is then timed in place of a suite: how to build a tree; may "
        "be repeated (default: not)",
    )
    sides.add_argument(
        "--metric",
        action="append",
        choices=USED,
        metavar="NAME",
        help=f"before -- COMMAND: what to compare, one of {', '.join(USED)}; may be repeated "
        "(default: wall_s)",
    )
    sides.add_argument(
        "--allow-other-host",
        action="store_true",
        help="compare files of different hosts; a note says how they differ",
    )
    sides.add_argument(
        "--in-turns",
        action="store_true",
        help="files of results without times were measured in turns, in this order (default: each "
        "side at one time, which decides nothing)",
    )
    sides.add_argument(
        "--allow-shared-code",
        action="store_true",
        help="measure although both sides load code of one tree, as by an editable install; a note "
        "says which",
    )
    terms = parser.add_argument_group("when a cell has regressed")
    terms.add_argument(
        "--factor",
        type=factor,
        metavar="X|auto",
        help="the ratio, head over base, up to which head is fine; above 1 (default: the suite's, "
        f"else {FACTOR:g}). auto: the least that can be decided in time, but not below that. "
        "A slowdown that equals it cannot be told from one below it: to find 5 %% for certain, "
        "take 1.02 or 1.03",
    )
    terms.add_argument(
        "--alpha",
        type=alpha,
        metavar="P",
        help="chance of any false alarm in a call, at most; above 0, below 0.5 (default: the "
        f"suite's, else {ALPHA:g})",
    )
    terms.add_argument(
        "--tail",
        type=tail,
        metavar="pN",
        help="a percentile of the processes, as p95, of cells that name none: ok also needs a "
        "proof that it is not 10 %% worse (default: only the mean)",
    )
    terms.add_argument(
        "--inconclusive",
        choices=[policy for policy in POLICIES if policy],
        help="what cells that cannot be told amount to: exit code 0, 1, or 125 for git bisect run "
        "(default: 3). pass "
        "keeps 3 if there were too few blocks to say anything of any cell",
    )
    effort = parser.add_argument_group("how long")
    effort.add_argument(
        "--pairs",
        type=pairs,
        default=AUTO,
        metavar="N|auto",
        help="pairs of each cell, an even number, looked at once at their end; auto (the default): "
        "until decided",
    )
    effort.add_argument(
        "--time-budget",
        type=seconds(SHORTEST_S),
        metavar="S",
        help="seconds to measure, builds not counted (default: the suite's; with --pairs N: as "
        "long as it takes)",
    )
    effort.add_argument(
        "--seed",
        type=whole(0, MOST_SEED),
        metavar="N",
        help="seed of the order of processes (default: drawn anew; reports tell it)",
    )
    outputs = parser.add_argument_group("reports (- is stdout, in place of the table)")
    outputs.add_argument(
        "--only-changed", action="store_true", help="tables without the cells that are ok"
    )
    outputs.add_argument(
        "--json",
        metavar="FILE|-",
        help="all samples and decisions; pytest-benchmark can read it too",
    )
    outputs.add_argument(
        "--report",
        dest="markdown",
        metavar="FILE|-",
        help="for a comment; also goes to $GITHUB_STEP_SUMMARY if that is set",
    )
    add_old_spelling(outputs, "--markdown", "--report")
    outputs.add_argument(
        "--explain",
        nargs="?",
        const="gate-explain",
        metavar="FOLDER",
        help="profile the programs whose cells have regressed, or else the most doubtful one, on "
        "both sides: the functions that "
        "grew most, and a flame graph in FOLDER (default: gate-explain)",
    )
    outputs.add_argument("--csv", metavar="FILE|-", help="raw numbers, one row a cell")
    outputs.add_argument(
        "--junitxml", metavar="FILE|-", help="a test case a cell; a regression is a failure"
    )
    outputs.add_argument(
        "--sarif",
        metavar="FILE|-",
        help="a result for each cell that needs attention, for code hosts; with --explain at the "
        "function that grew most",
    )


def factor(text: str) -> float | str:
    """Parse `auto` or a ratio above 1."""
    if text == AUTO:
        return text
    return _number(text, 1.0, MOST_FACTOR, "auto, or a number above 1, at most 100")


def alpha(text: str) -> float:
    """Parse a chance above 0 and below a half."""
    return _number(text, 0.0, math.nextafter(0.5, 0.0), "a number above 0 and below 0.5")


def tail(text: str) -> float:
    """Parse a percentile, `p95`."""
    found = tail_of(text)
    if found is None:
        raise argparse.ArgumentTypeError(f"must be {TAIL_RULE}, not {shown(text)}")
    return found


def pairs(text: str) -> int | str:
    """Parse `auto` or an even number."""
    if text == AUTO:
        return text
    if (
        text.isascii()
        and text.isdigit()
        and len(text) <= 9
        and 2 <= int(text) <= MOST_PAIRS
        and int(text) % 2 == 0
    ):
        return int(text)
    raise argparse.ArgumentTypeError(
        f"must be auto, or an even number from 2 to {MOST_PAIRS}, not {shown(text)}"
    )


def _number(text: str, above: float, most: float, rule: str) -> float:
    try:
        value = float(text) if text.isascii() and "_" not in text else math.nan
    except ValueError:
        value = math.nan
    if not above < value <= most:  # False for nan too
        raise argparse.ArgumentTypeError(f"must be {rule}, not {shown(text)}")
    return value


def run(args: argparse.Namespace) -> int:
    """Compare and report, or search. The exit code is the verdict; it is never 1 if the gate itself
    has failed."""
    if args.inconclusive != "skip":
        return _guarded(args)
    try:
        code = _guarded(args)
    except (UserError, RunFailed) as error:
        tell(f"millrace gate: {error}")
        code = Exit.USAGE if isinstance(error, UserError) else error.exit_code
    return ABORT if code == GATE_FAILED_STATUS else FOR_GIT.get(code, code)


def _guarded(args: argparse.Namespace) -> int:
    try:
        return _run(args)
    except RunFailed as error:
        if error.exit_code == RunFailed.exit_code:
            error.exit_code = GATE_FAILED_STATUS
        raise
    except UserError:
        raise
    except Exception:
        tell(traceback.format_exc().rstrip())
        return GATE_FAILED_STATUS


def _run(args: argparse.Namespace) -> int:
    from harness.cli.gate_outputs import check_outputs, write_outputs

    if args.bisect is not None:
        if args.factor == AUTO:
            raise UserError("--factor auto and --bisect do not go together: give a number")
        from harness.cli.gate_bisect import run_bisect

        return run_bisect(args, _suite(args))
    if not args.base:
        raise UserError("--base must be given: a revision, a directory or files of results")
    check_outputs(args)
    inconclusive = POLICIES[args.inconclusive]
    options: dict[str, Any] = {
        "inconclusive": args.inconclusive,
        "allow_other_host": args.allow_other_host,
        "in_turns": args.in_turns,
    }
    explained: list[str] = []
    try:
        comparison = (
            _compare_files(args) if _are_files(args) else _measure(args, options, explained)
        )
    except Interrupted as stopped:
        write_outputs(
            args, stopped.comparison, ending.exit_code(), inconclusive, options, finished=False
        )
        raise
    code = exit_code(comparison, _policy(inconclusive, comparison))
    is_written = write_outputs(
        args, comparison, code, inconclusive, options, finished=True, explained=explained
    )
    return int(code) or (0 if is_written else GATE_FAILED_STATUS)


def _policy(inconclusive: Exit, comparison: Comparison) -> Exit:
    """Return the exit code for inconclusive cells. They do not pass if nothing is known of any
    cell, because it has too few blocks: a head of any speed would pass."""
    if inconclusive is Exit.OK and not comparison.is_known:
        return Exit.INCONCLUSIVE
    return inconclusive


def _are_files(args: argparse.Namespace) -> bool:
    """Return True if both sides are files of results. Raises UserError for a mixture, NoBase for a
    base file that is missing."""
    sides = {"--base": args.base, "--head": args.head or ["."]}
    kinds = {
        option: {_holds(Path.is_file, text) for text in texts} for option, texts in sides.items()
    }
    for option, texts in sides.items():
        for text in texts:
            if text.endswith(FILES) and not _holds(Path.exists, text):
                kind = NoBase if option == "--base" else UserError
                raise kind(f"{option} {shown(text)}: there is no such file")
        if kinds[option] == {True, False}:
            raise UserError(
                f"{option} must be files of results only, or one revision or directory, not both: "
                f"{', '.join(texts)}"
            )
        if kinds[option] == {False} and len(texts) > 1:
            raise UserError(
                f"{option} must be one revision or directory, not {len(texts)}: {', '.join(texts)}"
            )
    if kinds["--base"] != kinds["--head"]:
        files, other = ("--base", "--head") if True in kinds["--base"] else ("--head", "--base")
        raise UserError(
            f"{other} must be files of results too, since {files} is: not {shown(sides[other][0])}"
        )
    return True in kinds["--base"]


def _holds(question: Callable[[Path], bool], text: str) -> bool:
    """Return a path's answer to a question; False if it has none, because a name is too long or a
    folder is not readable."""
    try:
        return question(Path(text))
    except OSError:
        return False


def _compare_files(args: argparse.Namespace) -> Comparison:
    from harness.gate.results.compare_files import compare_files
    from harness.gate.results.terms import FileSuite, load_file_suite

    if args.factor == AUTO:
        raise UserError("--factor auto is for measuring, not for files of results: give a number")
    given = [
        option for name, option in OF_MEASURING.items() if getattr(args, name) not in (None, AUTO)
    ]
    if given:
        raise UserError(
            f"{given[0]} is for measuring, and files of results are measured already: leave it out"
        )
    suite = load_file_suite(Path(args.suite)) if args.suite else FileSuite()
    return compare_files(
        args.base,
        args.head,
        factor=args.factor or suite.factor or FACTOR,
        alpha=args.alpha or suite.alpha or ALPHA,
        allow_other_host=args.allow_other_host,
        terms=suite.cells,
        in_turns=args.in_turns,
        tail=args.tail,
        title=suite.title,
    )


def _suite(args: argparse.Namespace) -> Suite:
    """Return the suite of the call, under the tail of the call."""
    return _without_tail(args).with_tail(args.tail)


def _without_tail(args: argparse.Namespace) -> Suite:
    from harness.gate.suite import load_suite, suite_of_command

    if args.command is None:
        if args.build:
            raise UserError(
                "--build is for -- COMMAND: a suite says itself how to build (key build)"
            )
        if args.metric:
            raise UserError("--metric is for -- COMMAND: a suite has metrics itself (key metrics)")
        return load_suite(Path(args.suite) if args.suite else DEFAULT_SUITE)
    if args.suite:
        raise UserError(
            "--suite and -- COMMAND do not go together: a suite can time a command (key time)"
        )
    if not args.command or not args.command[0]:
        raise UserError("-- must be followed by a command")
    metrics = list(dict.fromkeys(args.metric or [WALL_S]))
    return suite_of_command(args.command, [_split(text) for text in args.build or ()], metrics)


def _split(text: str) -> list[str]:
    try:
        words = shlex.split(text)
    except ValueError as error:  # a quotation that does not end
        raise UserError(
            f"--build must be words as a shell would read them ({error}), not {shown(text)}"
        ) from error
    if not words:
        raise UserError("--build must not be empty")
    return words


def _measure(args: argparse.Namespace, options: dict[str, Any], explained: list[str]) -> Comparison:
    """Build both sides and measure them. The chosen terms are added to `options`, and the lines of
    explanations to `explained`."""
    from harness.cli.gate_progress import GateProgress
    from harness.gate.compare import compare
    from harness.gate.explain.explain import check_folder, explain, to_explain
    from harness.gate.explain.words import explanation_lines
    from harness.gate.instructions import counter
    from harness.gate.loaded import rehearsed
    from harness.gate.precheck import precheck
    from harness.gate.pytest_names import with_names
    from harness.gate.sequential import declare
    from harness.gate.tree import prepare
    from harness.measurement.lock import measuring_lock

    suite = _suite(args)
    folder = Path() if args.explain is None else check_folder(args.explain)
    if any(program.answers == COUNT for program in suite.programs) and counter() is None:
        raise UserError("instructions cannot be counted here: needs counters of perf, or valgrind")
    count = None if args.pairs == AUTO else args.pairs
    budget_s = args.time_budget or (suite.time_budget_s if count is None else math.inf)
    seed = random.SystemRandom().randrange(2**32) if args.seed is None else args.seed
    level = args.alpha or suite.alpha
    # raises UserError for too few pairs, before anything is built
    declare(len(suite.cells), level, count)
    options |= {"pairs": args.pairs, "time_budget_s": budget_s if math.isfinite(budget_s) else None}
    words: dict[Role, str] = {"base": args.base[0], "head": (args.head or ["."])[0]}
    # before minutes go into building base
    precheck(words, suite, Path.cwd(), is_default=args.suite is None and args.command is None)
    # The lock covers the builds too, because they would disturb another call's measurement. There
    # is no deadlock: this command and the selftest take their locks in the order measuring, cache,
    # tree, and other users of the measuring lock take none of the others. A build or a program of
    # the suite that measures would wait for us until its time is up.
    with GateProgress() as progress, measuring_lock(progress.notify):
        trees = prepare(words, suite, Path.cwd(), progress.notify)
        suite = with_names(suite, trees)
        trees, options["loaded"] = rehearsed(trees, suite, args.allow_shared_code, progress.notify)
        comparison = compare(
            trees["base"],
            trees["head"],
            suite,
            factor=suite.factor if args.factor in (None, AUTO) else args.factor,
            auto=args.factor == AUTO,
            alpha=level,
            pairs=count,
            time_budget_s=budget_s,
            seed=seed,
            progress=progress,
            notify=progress.notify,
            lock=lambda notify: nullcontext(),  # the lock is held already
        )
        if args.explain is not None:
            try:
                programs = to_explain(comparison, suite)
                found = explain(trees, programs, folder, progress.notify, seed)
            except KeyboardInterrupt:
                raise Interrupted(comparison) from None
            options["explained"] = [asdict(each) for each in found]
            explained += explanation_lines(found)
    return comparison
