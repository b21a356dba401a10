"""`millrace gate --bisect GOOD..BAD`: names the commit that made a program slower."""

from __future__ import annotations

import argparse
import math
import random
from contextlib import nullcontext
from pathlib import Path

from harness.cli.arguments import AUTO
from harness.errors import RunFailed, UserError
from harness.gate.bisect import BisectionResult, code_of, commits_between, search
from harness.gate.compare import compare
from harness.gate.explain.explain import check_folder, explain
from harness.gate.explain.words import explanation_lines
from harness.gate.git import asked
from harness.gate.precheck import precheck
from harness.gate.pytest_names import with_names
from harness.gate.report.words import conclusion
from harness.gate.suite import Suite
from harness.gate.tree import Role, prepare
from harness.gate.verdict import Comparison
from harness.measurement.lock import measuring_lock
from harness.terminal.output import say

REFUSED_OPTIONS = {
    "base": "--base",
    "head": "--head",
    "json": "--json",
    "markdown": "--report",
    "csv": "--csv",
    "junitxml": "--junitxml",
    "sarif": "--sarif",
    "inconclusive": "--inconclusive",
}


def run_bisect(args: argparse.Namespace, suite: Suite) -> int:
    """Search, and say what was found. Returns the exit code."""
    from harness.cli.gate_progress import GateProgress

    given = [option for name, option in REFUSED_OPTIONS.items() if getattr(args, name)]
    if given:
        raise UserError(f"{given[0]} and --bisect do not go together")
    folder = None if args.explain is None else check_folder(args.explain)
    commits = commits_between(Path.cwd(), args.bisect)
    ends_of_search: dict[Role, str] = {"base": commits[0], "head": commits[-1]}
    is_default = args.suite is None and args.command is None
    precheck(ends_of_search, suite, Path.cwd(), is_default)
    seed = random.SystemRandom().randrange(2**32) if args.seed is None else args.seed
    draw = random.Random(seed)
    count = None if args.pairs == AUTO else args.pairs
    budget_s = args.time_budget or (suite.time_budget_s if count is None else math.inf)
    # The measuring lock is held for the whole search, so that no other call waits for one of our
    # trees while we wait for the lock of the cache: see `tree_cache`.
    with GateProgress() as progress, measuring_lock(progress.notify):

        def compared(commit: str, of: Suite, factor: float, alpha: float) -> Comparison | None:
            words = {"base": commits[0], "head": commit}
            try:
                trees = prepare(words, of, Path.cwd(), progress.notify)
            except RunFailed as error:
                progress.notify(str(error))
                return None
            return compare(
                trees["base"],
                trees["head"],
                of,
                factor=factor,
                alpha=alpha,
                pairs=count,
                time_budget_s=budget_s,
                seed=draw.randrange(2**32),
                progress=progress,
                lock=lambda notify: nullcontext(),  # the lock is held already
            )

        ends = prepare(ends_of_search, suite, Path.cwd(), progress.notify)
        suite = with_names(suite, ends)
        factor, alpha = args.factor or suite.factor, args.alpha or suite.alpha
        found = search(commits, suite, compared, factor, alpha, progress.notify)
        lines = list(_result_lines(found))
        if folder is not None and isinstance(found, BisectionResult):
            words = {"base": found.before, "head": found.suspects[-1]}
            trees = prepare(words, found.suite, Path.cwd(), progress.notify)
            lines += explanation_lines(
                explain(trees, found.suite.programs, folder, progress.notify, seed)
            )
    say("\n".join(lines))
    return code_of(found)


def _result_lines(found: BisectionResult | Comparison | None) -> list[str]:
    """Return what was found, in lines."""
    if not isinstance(found, BisectionResult):
        why = "it cannot be measured" if found is None else conclusion(found)
        return [f"the bad commit is not proven slower than the good one: {why}"]
    sure = f"the chance that this is wrong is at most {100 * found.chance:.2g} %"
    slower = f"slower by more than {100 * (found.limit - 1):.3g} % in {found.cell}"
    if found.is_one:
        return [f"{_named(found.suspects[0])}", f"is the commit that is {slower}; {sure}"]
    lines = [f"UNDECIDED: one of these {len(found.suspects)} commits is {slower}; {sure}:"]
    return [*lines, *(f"  {_named(commit)}" for commit in found.suspects)]


def _named(commit: str) -> str:
    """Return `1234abcd5678 Subject (author, date)`."""
    form = "--format=%h %s (%an, %as)"
    return asked(Path.cwd(), "log", "-1", "--abbrev=12", form, commit) or commit
