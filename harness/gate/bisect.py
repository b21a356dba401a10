"""Search for the commit that made a program slower, among those between a good and a bad one.

The bad commit is compared with the good one first. Of its cells that have regressed, the one with
the highest lower bound is searched for. The limit is the square root of its ratio, in the middle
between no change and the whole of it, but within what is proven of the bad commit. Then a commit in
the middle of those left is compared with the good one, until a commit that is proven slower by more
than the limit follows one that is proven not to be. This needs no assumption about the commits
between: the program gets slower than the limit in that commit.

Test j has the level alpha / (j (j + 1)). These levels add up to less than alpha, so the chance that
any verdict of the search is wrong, and so the commit, is below alpha. A commit that does not build
or stays undecided is left out, as by `git bisect skip`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from harness.errors import UserError
from harness.gate.git import GitRefused, git
from harness.gate.suite import Suite
from harness.gate.verdict import CellResult, Comparison, Exit, Verdict, exit_code

Compare = Callable[[str, Suite, float, float], Comparison | None]
"""Function that compares a commit with the good one over a suite, at a factor and a level; None if
the commit cannot be measured."""

SLOWER, NOT_SLOWER = (Verdict.REGRESSED,), (Verdict.OK, Verdict.IMPROVED)


@dataclass(frozen=True)
class BisectionResult:
    """Result of a search. `suspects` are the commits of which one made the program slower, the
    oldest first; `before` is the commit before them."""

    cell: str
    limit: float  # the first of them that is slower than the good commit by more than this
    before: str
    suspects: tuple[str, ...]
    chance: float  # of the result being wrong, at most
    suite: Suite  # of the cell alone

    @property
    def is_one(self) -> bool:
        """True if the commit is known."""
        return len(self.suspects) == 1


def commits_between(repository: Path, words: str) -> list[str]:
    """Return the commits of `GOOD..BAD`, the good one first, along first parents of the bad one.

    Raises UserError for a text that means no such commits.
    """
    good, dots, bad = words.partition("..")
    if not (good and dots and bad) or bad.startswith("."):
        raise UserError(f"--bisect must be GOOD..BAD, two revisions, not {words!r}")
    try:
        first, last = (
            git(repository, "rev-parse", "--verify", f"{each}^{{commit}}") for each in (good, bad)
        )
        git(repository, "merge-base", "--is-ancestor", first, last)
        listed = git(repository, "rev-list", "--reverse", "--first-parent", f"{first}..{last}")
    except GitRefused as refusal:
        reason = f"{good} is no ancestor of {bad}" if refusal.silent else str(refusal)
        raise UserError(f"--bisect {words}: {reason}") from refusal
    if not listed:
        raise UserError(f"--bisect {words}: must have a commit after {good}")
    return [first, *listed.split()]


def search(
    commits: Sequence[str],
    suite: Suite,
    compare: Compare,
    factor: float,
    alpha: float,
    notify: Callable[[str], None],
) -> BisectionResult | Comparison | None:
    """Search for the commit that made the program slower than at the first of the commits.

    Return the comparison of the last commit if no cell of it has regressed, or None if it cannot be
    measured.
    """
    tests = 0

    def tested(commit: str, of: Suite, at: float) -> Comparison | None:
        nonlocal tests
        tests += 1
        notify(f"test {tests}: {commit[:12]} against {commits[0][:12]}")
        return compare(commit, of, at, alpha / (tests * (tests + 1)))

    whole = tested(commits[-1], suite, factor)
    slower = [each for each in whole.cells if each.verdict in SLOWER] if whole else []
    if whole is None or not slower or whole.control_failed:
        return whole
    worst = max(slower, key=lambda each: each.decision.low)
    limit = _limit(worst, factor)
    alone = _only(suite, worst)
    notify(f"{worst.cell.name} is slower: {worst.decision.ratio:.3f}; the limit is {limit:.3f}")
    good, bad, skipped = 0, len(commits) - 1, set[int]()
    while candidates := [each for each in range(good + 1, bad) if each not in skipped]:
        place = min(candidates, key=lambda each: abs(2 * each - good - bad))
        seen = tested(commits[place], alone, limit)
        if verdict := _verdict_if(seen, SLOWER):
            bad = place
        elif verdict := _verdict_if(seen, NOT_SLOWER):
            good = place
        else:
            skipped.add(place)
        notify(f"{commits[place][:12]}: {verdict or 'undecided'}; {bad - good} commits are left")
    suspects = tuple(commits[good + 1 : bad + 1])
    spent = alpha * (1.0 - 1.0 / (tests + 1.0))
    return BisectionResult(worst.cell.name, limit, commits[good], suspects, spent, alone)


def _verdict_if(comparison: Comparison | None, verdicts: Sequence[Verdict]) -> str:
    """Return the verdict on the only cell if it is one of these and can be trusted; else ""."""
    if comparison is None or comparison.control_failed or len(comparison.cells) != 1:
        return ""
    (result,) = comparison.cells
    return str(result.verdict) if result.verdict in verdicts else ""


def _limit(worst: CellResult, factor: float) -> float:
    """Return the factor that tells the commits before the change from those after it."""
    least = worst.cell.metric.factor or factor
    if worst.cell.metric.may_be_zero:
        return least
    return max(least, min(worst.decision.low, math.sqrt(worst.decision.ratio)))


def _only(suite: Suite, worst: CellResult) -> Suite:
    """Return a suite of one cell, whose factor is that of the call."""
    cell = replace(worst.cell, metric=replace(worst.cell.metric, factor=None))
    program = replace(suite.program_of(cell.name), cells=(cell,))
    return replace(suite, programs=(program,), control=cell.name)


def code_of(found: BisectionResult | Comparison | None) -> int:
    """Return the exit code: 0 if the commit is known, 1 if there is nothing to find, 125 if it is
    undecided, which `git bisect run` takes for "skip"."""
    if isinstance(found, BisectionResult):
        return 0 if found.is_one else UNDECIDED
    return 1 if found is not None and exit_code(found) is Exit.OK else UNDECIDED


UNDECIDED = 125
