"""Successive halving: many arms get few runs, and those that seem best get more.

Each round runs all arms that are left in blocks, as `compare` does, and leaves out the half that
seems worse by the paired estimates; an arm that is proven worse than all that may be the best is
out at once. The next round has twice as many blocks. So each round takes about the same time.

Bounds choose the arms of the first halving, and bounds are rough. So the best arm's neighbours,
which differ from it in one option, are then halved with it, as long as one of them is better: a
climb (steepest ascent; Russell and Norvig, Artificial Intelligence, section 4.1).

The last arms are then compared by runs of their own, which chose nothing. So what the final
comparison proves holds at its level, however the arms came to be chosen (`compare.standing`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from harness.compare.contest import Audience, By, Contender, Contest, Execute
from harness.gate.order import PAIRS

FINALISTS = 2
SCREENING = 1 / 3  # share of the budget that is left, for halving at most: a guess, not tuned


@dataclass
class Screening:
    """Halving of the arms of a contest; `left_out`: arms with the round in which they were; `last`:
    the best two, the best first.
    """

    contest: Contest
    left_out: dict[str, int] = field(default_factory=dict)
    rounds: int = 0
    last: list[Contender] = field(default_factory=list)

    def halve(self, execute: Execute, audience: Audience) -> list[Contender]:
        """Run rounds until two arms are left, or the budget is used up; return these."""
        try:
            self._run_rounds(execute, audience)
        finally:  # also of an adviser that is interrupted
            self.last = _ranked(self.contest)[:FINALISTS]
        return self.last

    def _run_rounds(self, execute: Execute, audience: Audience) -> None:
        contest = self.contest
        with contest.timed():
            while len(contest.leaders) > FINALISTS and contest.ended is None:
                before = contest.leaders
                self.rounds += 1
                for _ in range(2 ** (self.rounds - 1)):
                    if contest.ended is None and len(contest.leaders) > FINALISTS:
                        contest.run_block(execute, audience)
                if contest.blocks:
                    contest.narrow(max(FINALISTS, math.ceil(len(before) / 2)))
                names = {arm.name for arm in contest.leaders}
                self.left_out |= {arm.name: self.rounds for arm in before if arm.name not in names}


def arms_for(budget_s: float, run_s: float, known: int) -> int:
    """Return the number of arms that halving has time for, of so many that are known."""
    count = min(4, known)
    while count < known and runs_of(count + 1) * run_s <= SCREENING * budget_s:
        count += 1
    return count


def runs_of(arms: int) -> int:
    """Return the runs that halving takes for so many arms."""
    runs, blocks = 0, 1
    while arms > FINALISTS:
        runs += PAIRS * arms * blocks
        arms, blocks = max(FINALISTS, math.ceil(arms / 2)), 2 * blocks
    return runs


def _ranked(contest: Contest) -> list[Contender]:
    """Return the arms that can be compared, the best first: those that are left, and then the
    others. Before the first whole block they are ranked by what there is.
    """
    known = [arm for arm in contest.contenders if not arm.is_out]
    if not contest.blocks:
        sign = 1.0 if contest.by is By.LATENCY else -1.0
        return sorted(known, key=lambda arm: sign * (arm.mean(contest.value_of) or sign * math.inf))
    out = [arm for arm in known if arm not in contest.leaders]
    return [*contest.leaders, *sorted(out, key=lambda arm: -contest.to_best(arm).estimate)]
