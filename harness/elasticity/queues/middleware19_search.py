"""The search for the operators that get queues, at one thread level (M19 §3.1): rules R1 to R5, a
step a period.

T is the throughput of the period; "x beats y" means x - y > SENS · y. A search goes *up*, adding
queues group by group from the heaviest, or *down*, removing them from the lightest (M19 §3.3: the
same in reverse). To *switch* an operator is to add or remove its queues, by the direction. A search
begins with T as its baseline, and with all of the first group switched:

  all of a group are switched, T beats the baseline    they are kept, baseline := T; all of the next
                                                       group (Figure 4, line 6)

Otherwise it goes on within the group. n operators are switched; a and b are the nearest measured
counts above and below n:

  T of a beats T                   n := half-way to a    (R2)
  b is not measured                n := n / 2            (R4)
  T of b beats T                   n := half-way to b    (R3)
  otherwise, or nothing between    evaluate              (R5)

  Evaluate   of the measured counts, ascending, each whose T beats the best so far (at first the
             baseline) is the best; so many are kept, or none. The search is over, and has changed
             something if any operator of any group was kept.

M19 leaves some points open. This search fills them so:

  * The baseline is no measured count in the rules, or R4's "not explored with fewer" could never
    hold; it decides in the end.
  * R1 (T beats that of fewer, and more are not measured) never applies: all of the group are
    measured first.
  * Without a trend, and with nothing fewer measured, n is halved as by R4: of two counts that bring
    the same, fewer is better.
  * "An arbitrary set of N": a group is shuffled once, from a seed, and the first N are it, so a
    larger set holds a smaller one.
  * The groups are cut at halves of the highest cost, nine of them, by the costs when the search
    begins.
  * A group of which a part is kept ends the search, as Figure 4 has it; so does one of which
    nothing is.

Source: Ni, Schneider, Pavuluri, Kaus and Wu, Middleware 2019, §3.1, Figures 3 and 4.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence

from harness.elasticity.queues.groups import by_halves
from harness.elasticity.threads.trends import beats


class Search:
    """Search from its baseline to its end."""

    def __init__(
        self,
        operators: Iterable[int],
        costs: Sequence[float],
        up: bool,
        baseline: float,
        margin: float,
        dice: random.Random,
    ) -> None:
        """Begin a search.

        `operators`: those that can be switched. `baseline` [tuples/s]: throughput before. `margin`:
        SENS. `dice`: chooses arbitrary sets.
        """
        groups = [group for group in by_halves(operators, costs) if group]
        for group in groups:
            dice.shuffle(group)
        self.up = up
        self._waiting = groups if up else groups[::-1]  # the next one is the last
        self.throughput, self._margin = baseline, margin  # of what is kept [tuples/s]
        self._kept: set[int] = set()
        self.reason = ""
        self.over = False
        self._next_group("")

    @property
    def switched(self) -> set[int]:
        """Operators whose queues it has switched on, or off if it goes down."""
        return self._kept | set(self._group[: self._count])

    @property
    def changed(self) -> bool:
        """True if the search keeps any operator switched."""
        return bool(self._kept)

    def step(self, throughput: float) -> None:
        """Take the throughput [tuples/s] of the period with the operators that are switched."""
        self._measured[self._count] = throughput
        size, before = len(self._group), self._count
        if before == size and beats(throughput, self.throughput, self._margin):
            self.throughput = throughput
            self._kept |= set(self._group)
            self._next_group(f"all {size} bring more; ")
            return
        rule, count = self._rule(throughput)
        if 0 < count < size and count not in self._measured:
            self._count, self.reason = count, f"{rule}: {before} of {size} → {count}"
            return
        self._count, self.throughput = self._best()
        self._kept |= set(self._group[: self._count])
        self._end(f"{self._count} of {size} kept" if self._count else f"none of {size} bring more")

    def _rule(self, throughput: float) -> tuple[str, int]:
        """Return the rule that applies and its count, which is a measured one if there is no count
        between."""
        here = self._count
        above = min((count for count in self._measured if count > here), default=None)
        below = max((count for count in self._measured if count < here), default=None)
        if above is not None and beats(self._measured[above], throughput, self._margin):
            return "R2", (here + above) // 2
        if below is None:
            return "R4", here // 2
        if beats(self._measured[below], throughput, self._margin):
            return "R3", (below + here) // 2
        return "R5", here

    def _best(self) -> tuple[int, float]:
        best, throughput = 0, self.throughput
        for count, measured in sorted(self._measured.items()):
            if beats(measured, throughput, self._margin):
                best, throughput = count, measured
        return best, throughput

    def _next_group(self, reason: str) -> None:
        self._group = self._waiting.pop() if self._waiting else []
        self._count = len(self._group)
        self._measured: dict[int, float] = {}
        if self._group:
            which = "heaviest" if self.up else "lightest"
            self.reason = (
                f"{reason}all {self._count} of the {which} group{' left' if self._kept else ''}"
            )
        else:
            self._end(f"{reason}no operator is left")

    def _end(self, reason: str) -> None:
        self.over, self.reason = True, reason
