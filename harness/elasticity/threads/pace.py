"""Threads for paced sources: the fewest that keep up with a rate, within a bound on latency.

What n threads *can do*, a(n), is what they have done over the share of their time that they worked; where that is less than
the target r, or something is caught up all the time, it is what they have done. It does not depend on the target. So the law
believes in curves of a(n) as it believes in curves of throughput (`belief`), and a new target makes no new load.

How long tuples wait follows from the *slack* of n threads,

  b(n) = (1 - r / a(n)) sqrt(n)

which says about the same of few threads and of many (square-root staffing: Halfin and Whitt, Operations Research 29, 1981). A
level is enough if it keeps up with slack `SLACK` and, where there is a bound, if at most half of its last periods were late.
Periods in which more or less is done than the target say nothing about latency: what waited is being caught up, or too few
threads run. Meanwhile, where there is a bound, more threads are wanted: as many as catch up within `CATCH_UP` periods.

The next level is the lowest that can probably do with the slack wanted. That is `SLACK` at first; more than every level had
that was late; and half-way between too little and enough where both are known, until no level is between them. If more slack
cannot be had, or makes tuples no earlier, the bound is out of reach, and the law stays where they were earliest. Levels that
did not keep up, below one that did, are not tried again.

The numbers were chosen on the kinds of curves of the paced bench that do not only score.
"""

from __future__ import annotations

import math
from collections import Counter, deque

import numpy as np

from harness.elasticity.law import Reading
from harness.elasticity.threads.belief import Belief
from harness.elasticity.threads.scaling import Vector

SLACK = 0.4  # b, until a period has shown that it is too little or more than enough
MORE = 2.0  # times the slack of a level that was late: the most that it tries next
LEAST_MORE = 0.05  # slack by which the next try must be above one that was late
ODDS = 0.5  # that a level is enough, for which it is tried
CATCH_UP = 5.0  # periods in which what waits shall be caught up
STEADY = 0.01  # of the target: so near to it the sources keep up, and have nothing to catch up
BATCH = 32  # tuples, which a source sends at once: so near is near, too
EARLIER = 0.02  # of latency that more slack must bring, or the bound is out of reach
PERIODS = 9  # of a level, the last of which tell whether it is late


class Pace:
    """What paced sources want, and which levels were seen to be enough."""

    def __init__(self, bound_s: float, target: float) -> None:
        """`bound_s` on mean latency, 0: none; `target` in tuples/s."""
        self.target = target
        self._bound_s = bound_s
        self._wanted = target  # tuples/s: more than the target while there is something to catch up
        self._steady = True
        self._seen: dict[int, deque[float]] = {}  # by level: latency over the bound, of periods that tell it
        self._kept: Counter[int] = Counter()  # by level: periods in which the rate was kept, less those in which it was not

    def can_do(self, level: int, reading: Reading) -> float:
        """What the threads could have done [tuples/s of the sources]; takes note of whether they were enough."""
        done, latency_s = reading.done or 0.0, reading.latency_s or 0.0
        near = max(STEADY * self.target, BATCH / reading.elapsed_s)
        before, self._steady = self._steady, abs(done - self.target) <= near
        self._kept[level] += 1 if done >= self.target - near else -1
        self._wanted = self.target
        if self._steady and before:
            ratio = latency_s / self._bound_s if self._bound_s > 0.0 else 0.0
            self._seen.setdefault(level, deque(maxlen=PERIODS)).append(ratio)
        if not self._steady and self._bound_s > 0.0:
            self._wanted *= 1.0 + latency_s / (CATCH_UP * reading.elapsed_s)
        idled = self._steady or latency_s * done <= (done - self.target) * reading.elapsed_s  # at the period's end at least
        return done / min(reading.utilisation or 1.0, 1.0) if idled else done

    @property
    def catches_up(self) -> bool:
        """Whether there is something to catch up, for which more threads are wanted than later."""
        return self._wanted > self.target

    def choose(self, belief: Belief, levels: Vector, allowed: Vector) -> int | None:
        """The place among `levels` of the lowest one that is enough, as far as is known; None if none is likely to be."""
        least = self._least(belief, levels, allowed)
        if least is None or not self.catches_up:
            return least
        more = np.flatnonzero(allowed & ((belief.values >= math.log(self._wanted)) @ belief.odds >= ODDS))
        able = np.where(allowed & (levels <= 2 * max(belief.measured)), belief.values @ belief.odds, -np.inf)
        return max(least, int(more[0]) if len(more) else int(np.argmax(able)))

    def _least(self, belief: Belief, levels: Vector, allowed: Vector) -> int | None:
        slack = (1.0 - self.target * np.exp(-belief.values)) * np.sqrt(levels)[:, None]
        place = {int(level): index for index, level in enumerate(levels)}
        late = {level: _median(seen) for level, seen in self._seen.items() if _median(seen) > 1.0}
        had = {level: float(slack[place[level]] @ belief.odds) for level in self._kept}
        enough = min((level for level in self._seen if level not in late), default=None)
        kept = min((level for level in self._kept if self._kept[level] > 0), default=0)
        short = [level for level in self._kept if self._kept[level] <= 0 and level < kept]
        too_few = max([*short, *(level for level in late if enough is not None and level < enough)], default=0)

        def lowest(wanted: float) -> int | None:
            likely = np.flatnonzero(allowed & (levels > too_few) & ((slack >= wanted) @ belief.odds >= ODDS))
            return int(likely[0]) if len(likely) else None

        if enough is not None:
            between = lowest(SLACK if self._bound_s == 0.0 else (max(had.get(too_few, 0.0), 0.0) + had[enough]) / 2.0)
            return between if between is not None and levels[between] < enough else place[enough]
        tried = sorted((level for level in late if had[level] > 0.0), key=lambda level: had[level])
        if not tried:
            return lowest(SLACK)
        most, latest = tried[-1], late[tried[-1]]
        in_vain = len(tried) > 1 and latest > (1.0 - EARLIER) * min(late[level] for level in tried[:-1])
        more = None if in_vain else lowest(max(had[most] * min(MORE, latest), had[most] + LEAST_MORE))
        return place[min(tried, key=lambda level: (late[level], level))] if more is None else more


def _median(values: deque[float]) -> float:
    """The lower one of two in the middle: a tie is no lateness."""
    return sorted(values)[(len(values) - 1) // 2]
