"""The search of IBM Streams for the operators that get queues, at one thread level: a step a
period, faults included.

T is the throughput of the period; "x beats y" means x - y > 5 % of y. A *round* has a direction: UP
adds queues, group by group from the heaviest of the operators without; DOWN removes them, from the
lightest of those with. To *switch* an operator is to turn its queues on in a round UP, off in a
round DOWN. A round begins with T as its baseline:

  Start      operators are grouped by their present costs; the heaviest group (DOWN: the lightest)
             becomes the list, all of it is switched. No operator left: the round is over, says
             "no change" (!) and a throughput of 0 (!)

Then, with T at the first n of a list of s operators, within bounds lb .. ub (at first 0 .. s), the
upper and lower neighbour of n being the nearest counts within the bounds that were measured (the
bound itself where none was; 0 never is measured):

  s at most a tenth of all operators             evaluate
  T of the upper neighbour beats T               n := (ub + n) / 2, lb := the old n
    | T beats the lower, the upper unmeasured
  n = s | the lower neighbour unmeasured         n := (lb + n) / 2, ub := n's upper neighbour
    | T does not beat it
  otherwise                                      evaluate

A step of at most 2, or one that ends at most 2 from a neighbour, counts as none: evaluate. So a
list of 5 is never split. The first move always goes from the whole list to its half, even if the
whole list brought more.

  Evaluate   measured counts ascending: each whose T beats the best so far (at first the baseline)
             is the best
    found               switch so many; they are confirmed; baseline := their T; Start, in the same
                        period
    none, a small list  the next group (UP: lighter, DOWN: heavier) joins the list, all of it is
                        switched, nothing is measured
    none                the list is switched back; the round is over with its baseline, and says
                        whether any were confirmed

Faults: the baseline is no neighbour; a queue that brings nothing is not removed, for a round DOWN
wants 5 % more too; a round in which all operators were confirmed says that nothing has changed.

Source: IBM Streams as opened (github.com/IBMStreams/OSStreams), ElasticPortAdapter; the search is
M19 §3.1.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from harness.elasticity.queues.groups import (
    Groups,
    by_doubles_of_the_lightest,
    by_parts_of_the_heaviest,
)
from harness.elasticity.threads.trends import beats

SENSITIVITY = 0.05
SMALL_SHARE = 0.1  # of all operators with places: lists up to this are not split
SMALLEST_STEP = 2  # operators: a step of so many, or fewer, counts as none


@dataclass(frozen=True, slots=True)
class Finish:
    """Result of a round."""

    changed: bool
    throughput: float  # tuples/s with the queues that it leaves; 0 if no operator was left


class SplitList:
    """Search for the number of operators of a list to switch; the first `count` of `operators` are
    switched."""

    def __init__(self, operators: Sequence[int], group: int, baseline: float) -> None:
        """Begin with the whole list.

        `group`: its last group; `baseline` [tuples/s]: throughput with none switched.
        """
        self.operators = list(operators)
        self.best: int | None = None  # count that beats the baseline; known when evaluated
        self.best_throughput = baseline
        self._all(group)

    def _all(self, group: int) -> None:
        self.group = group
        self.count = len(self.operators)
        self._lower, self._upper = 0, self.count
        self._below, self._above = 0, self.count
        self._measured: dict[int, float] = {}

    def extend(self, operators: Iterable[int], group: int) -> None:
        """Add operators of another group, switch all, and forget all measurements."""
        self.operators += operators
        self._all(group)

    def step(self, throughput: float, split: bool) -> bool:
        """Take the throughput of `count`. Return True if `count` has changed, False if the list was
        evaluated.

        `split`: True if the list may be split.
        """
        self._measured[self.count] = throughput
        if split and self._move(throughput):
            return True
        for count, measured in sorted(self._measured.items()):
            if beats(measured, self.best_throughput, SENSITIVITY):
                self.best, self.best_throughput = count, measured
        return False

    def _move(self, throughput: float) -> bool:
        above, below = self._measured.get(self._above), self._measured.get(self._below)
        trend_above = above is not None and beats(above, throughput, SENSITIVITY)
        trend_below = below is not None and beats(throughput, below, SENSITIVITY)
        here = self.count
        if trend_above or (trend_below and above is None):
            return self._go(
                (self._upper + here) // 2, between=(here, self._upper), bounds=(here, self._upper)
            )
        if here == len(self.operators) or not trend_below:
            return self._go(
                (self._lower + here) // 2,
                between=(self._lower, here),
                bounds=(self._lower, self._above),
            )
        return False

    def _go(self, count: int, between: tuple[int, int], bounds: tuple[int, int]) -> bool:
        low, high = between
        below = max((known for known in self._measured if low < known < count), default=low)
        above = min((known for known in self._measured if count < known < high), default=high)
        if min(abs(count - self.count), above - count, count - below) <= SMALLEST_STEP:
            return False
        self.count, self._below, self._above = count, below, above
        self._lower, self._upper = bounds
        return True


class PortSearch:
    """Rounds over the operators that have places; `confirmed`: those with queues outside a
    round.
    """

    def __init__(self, operators: Iterable[int]) -> None:
        """Begin a first round up, without any queue."""
        self._operators = frozenset(operators)
        self.confirmed: set[int] = set()
        self.begin(up=True)

    def begin(self, up: bool) -> None:
        """Begin another round with the next step."""
        self.up = up
        self.removed = False  # True if the last step removed a queue
        self.reason = ""  # of the last step
        self._list: SplitList | None = None
        self._groups: Groups = []
        self._affected: set[int] = set()

    @property
    def queued(self) -> set[int]:
        """Operators that are to have queues now."""
        switched = set() if self._list is None else set(self._list.operators[: self._list.count])
        return self.confirmed ^ switched

    def step(self, throughput: float, costs: Sequence[float]) -> Finish | None:
        """Take the throughput of the last request and the present costs.

        Return the result if the round is over.
        """
        self.removed = False
        if self._list is None:
            return self._start(throughput, costs)
        tried, before = self._list, self._list.count
        small = len(tried.operators) <= SMALL_SHARE * len(self._operators)
        if tried.step(throughput, split=not small):
            return self._switch(
                tried.count - before, f"{before} of {len(tried.operators)} measured → {tried.count}"
            )
        if tried.best is not None:
            self._switch(
                tried.best - before, f"{tried.best} of {len(tried.operators)} bring more → kept; "
            )
            self._confirm(tried.operators[: tried.best])
            return self._start(tried.best_throughput, costs, self.reason)
        following = self._next_group(tried.group)
        if small and following is not None:
            tried.extend(self._groups[following], following)
            return self._switch(
                tried.count - before, f"{before} bring nothing → {tried.count}, with the next group"
            )
        self._switch(-before, f"none of {len(tried.operators)} bring more → as before")
        self._list = None
        return Finish(bool(self._affected), tried.best_throughput)

    def undo(self) -> None:
        """Undo all that the round has confirmed."""
        self.removed |= self.up and bool(self._affected)
        self.confirmed ^= self._affected
        self._affected = set()

    def clear(self) -> None:
        """Remove all queues, and begin a new round up."""
        confirmed, self.confirmed = self.confirmed, set()
        self.begin(up=True)
        self.removed = bool(confirmed)

    def _start(self, baseline: float, costs: Sequence[float], reason: str = "") -> Finish | None:
        if self.up:
            self._groups = by_parts_of_the_heaviest(self._operators - self.confirmed, costs)
        else:
            self._groups = by_doubles_of_the_lightest(self.confirmed, costs)
        filled = [number for number, group in enumerate(self._groups) if group]
        if not filled:
            self._list, self.reason = None, f"{reason}no operator is left"
            return Finish(changed=False, throughput=0.0)
        first = filled[-1] if self.up else filled[0]
        self._list = SplitList(self._groups[first], first, baseline)
        which = f"all {self._list.count} of the {'heaviest' if self.up else 'lightest'} group"
        return self._switch(self._list.count, f"{reason}{which}")

    def _next_group(self, number: int) -> int | None:
        others = range(number - 1, -1, -1) if self.up else range(number + 1, len(self._groups))
        return next((other for other in others if self._groups[other]), None)

    def _confirm(self, operators: Iterable[int]) -> None:
        self._affected |= set(operators)
        self.confirmed ^= set(operators)
        self._list = None

    def _switch(self, more: int, reason: str) -> None:
        """Record that `more` operators are switched, or fewer if it is negative, and the reason."""
        self.removed |= more < 0 if self.up else more > 0
        self.reason = reason
