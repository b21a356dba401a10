"""Help for a comparison that could not decide: a longer budget, or arms to leave out.

Estimates only. Before the first look, as many blocks are needed as that takes. After it, the
interval of the nearest rival must become as narrow as the distance of its estimate from 1. It
narrows about as the square root of the blocks (the law of large numbers), and the test is made at
looks alone.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Sequence

from harness.compare.contest import ESTIMATED_RUN_S, Contender, Contest, ContestEnd
from harness.experiments.arms import option_of
from harness.experiments.config import clock
from harness.gate.order import PAIRS

MARGIN = 1.2  # of an estimated time; a guess, not tuned
CLEARLY = 0.8  # of the best: an arm below it in each of its runs is clearly out; a guess
CLOSE = 0.01  # of arms that differ by less, it does not matter which one is taken; a guess
MOST_S = 86_400.0  # of a budget that is worth a proposal, and that --budget takes


def help_of(contests: Sequence[Contest], budget_s: float) -> list[str]:
    """Return what would help comparisons that ended without knowing the best, one line each; none
    if all know it. `budget_s`: of the whole call.
    """
    undecided = [each for each in contests if is_open(each)]
    if not undecided:
        return []
    more_s = [more_of(each) for each in undecided if not are_close(each)]
    helped_s = [each for each in more_s if each <= MOST_S]
    lines = []
    # comparisons share a budget in equal parts, so each gets what the longest one needs
    whole_s = budget_s + len(contests) * max(helped_s, default=0.0)
    if helped_s and whole_s <= MOST_S:
        lines.append(
            f"about {clock(whole_s - budget_s)} more of budget: --budget {budget_text(whole_s)}"
        )
    elif more_s:
        lines.append("no budget of a day or less: the arms differ by too little")
    for each in undecided:
        where = _where(contests, each)
        if are_close(each):
            names = ", ".join(arm.name for arm in each.leaders)
            lines.append(f"{where}{names} seem to differ by less than 1 %: take any of them")
        else:
            lines += [f"{where}{line}" for line in _fewer_arms(each)]
    return lines


def are_close(contest: Contest) -> bool:
    """Return True if all arms that may be the best seem about equally good, after a first look."""
    if contest.blocks < contest.standing.looks.first:
        return False
    best, *others = contest.leaders
    return all(
        abs(math.log(contest.standing.ratio(best.name, arm.name).estimate)) < CLOSE
        for arm in others
    )


def _where(contests: Sequence[Contest], contest: Contest) -> str:
    """Return the parameters in which a comparison differs from the others, as the beginning of a
    line.
    """
    varied = [
        f"{name}={value}"
        for name, value in contest.parameters.items()
        if any(each.parameters[name] != value for each in contests)
    ]
    return f"{' '.join(varied)}: " if varied else ""


def budget_text(seconds: float) -> str:
    """Return a time as `--budget` takes it, rounded up: `90s`, `4m`."""
    if seconds <= 120.0:
        return f"{10 * math.ceil(seconds / 10)}s"
    return f"{math.ceil(seconds / 60)}m"


def options_of(arms: Sequence[Contender]) -> str:
    """Return arms as options of the command line."""
    return shlex.join(word for arm in arms for word in option_of(arm.name, arm.run.model))


def is_open(contest: Contest) -> bool:
    """Return True if a comparison ended before the best was known."""
    ended = contest.ended in (ContestEnd.BUDGET, ContestEnd.INTERRUPTED)
    return ended and len(contest.leaders) > 1


def more_of(contest: Contest) -> float:
    """Return about how much longer a comparison takes [s]; inf for ever."""
    arms, blocks = contest.leaders, contest.blocks
    kinds = 2 if contest.paced else 1
    if blocks:
        block_s = contest.elapsed_s / blocks
    else:
        block_s = sum(kinds * PAIRS * (arm.longest_s or ESTIMATED_RUN_S) for arm in arms)
    needed = contest.standing.looks.first
    if blocks >= needed:
        factor = max(_factor(contest, arm) for arm in arms[1:])
        if not math.isfinite(factor) or factor * blocks * block_s > MOST_S:
            return math.inf
        needed = contest.standing.looks.next(max(blocks, math.ceil(factor * blocks) - 1)) or 0
    return MARGIN * (needed - blocks) * block_s


def _factor(contest: Contest, rival: Contender) -> float:
    """Return how many times as many blocks tell the best arm and a rival apart, about."""
    estimate, low, high = contest.standing.ratio(contest.leaders[0].name, rival.name)
    if not estimate > 0.0 or low <= 0.0 or math.isinf(high):
        return 1.0  # nothing is known of the interval: the next look
    distance = abs(math.log(estimate))
    width = math.log(estimate / low) if estimate > 1.0 else math.log(high / estimate)
    return (width / distance) ** 2 if distance > 0.0 else math.inf


def _fewer_arms(contest: Contest) -> list[str]:
    """Return the arms that are clearly out, and the options that compare the others alone."""
    out = clearly_out(contest)
    rest = [arm for arm in contest.leaders if arm not in out]
    if not out:
        return []
    names = ", ".join(arm.name for arm in out)
    verb = "is" if len(out) == 1 else "are"
    found = f"fewer arms: {names} {verb} far behind in every run"
    if len(rest) < 2:
        return [f"{found}, so {rest[0].name} seems the best"] if rest else []
    return [f"{found}; compare {options_of(rest)}"]


def clearly_out(contest: Contest) -> list[Contender]:
    """Return the arms that may still be the best by the test, but of which every run is far worse
    than every run of the one that seems best.
    """
    sign = -1.0 if contest.standing.lower_is_better else 1.0
    values = {
        arm.name: [sign * value for value in map(contest.value_of, arm.records) if value]
        for arm in contest.leaders
    }
    known = [arm for arm in contest.leaders if len(values[arm.name]) >= PAIRS]
    if len(known) < 2:
        return []
    best = max(known, key=lambda arm: math.fsum(values[arm.name]) / len(values[arm.name]))
    least = min(values[best.name])
    # of latencies, whose signs are turned, the worse one is the greater
    limit = least * CLEARLY if sign > 0.0 else least / CLEARLY
    return [arm for arm in known if arm is not best and max(values[arm.name]) < limit]
