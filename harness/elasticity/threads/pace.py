"""Threads for paced sources: the fewest that keep up with a rate, within a bound on latency.

The *capability* a(n) of n threads is their rate over the share of their time that they worked. If
they do less than the target r, or catch up for the whole period, it is their rate. It does not
depend on the target. So the law infers curves of a(n) as it infers curves of throughput (`belief`),
and a new target is no new load.

The waiting time of tuples follows from the *slack* of n threads,

  b(n) = (1 - r / a(n)) sqrt(n)

The same slack means about the same for few threads and for many (square-root staffing: Halfin and
Whitt, Operations Research 29, 1981). A level is enough if it keeps up with slack `SLACK` and, with
a bound, if at most half of its last periods were late. Periods with a rate above or below the
target do not count for latency: the threads catch up, or there are too few of them. In such
periods, with a bound, the law asks for as many threads as catch up within `CATCH_UP` periods.

The next level is the lowest one that probably has the wanted slack. That slack is `SLACK` at first.
After late levels it is more than each of them had. Once both too little and enough are known it is
half-way between them, until no level is between them. If there is no level with more slack, or more
slack makes tuples no earlier, the bound is out of reach, and the law stays where they were
earliest. It does not try again levels that did not keep up below one that did.

The numbers were chosen on the kinds of curves of the paced bench that are not held out.
"""

from __future__ import annotations

import math
from collections import Counter, deque

import numpy as np

from harness.elasticity.law import Reading
from harness.elasticity.layout import BATCH
from harness.elasticity.threads.belief import Belief
from harness.elasticity.threads.scaling import Vector

SLACK = 0.4  # b, until a period has shown that it is too little or more than enough
MORE = 2.0  # most slack to try next, as a multiple of the slack of a late level
LEAST_MORE = 0.05  # least increase of the slack over that of a late level
ODDS = 0.5  # least odds that a level is enough for the law to try it
CATCH_UP = 5.0  # periods within which the backlog is to be caught up
# Difference from the target, as a share of it, within which the sources keep up and have nothing to
# catch up. A difference of a batch, which a source sends at once, is within it, too.
STEADY = 0.01
EARLIER = 0.02  # share by which more slack must reduce latency, or the bound is out of reach
PERIODS = 9  # last periods of a level that decide if it is late


class Pace:
    """Target of paced sources, and the levels that were enough for it."""

    def __init__(self, bound_s: float, target: float) -> None:
        """Take the bound on mean latency [s], 0 for none, and the target [tuples/s]."""
        self.target = target
        self._bound_s = bound_s
        self._wanted = target  # tuples/s: more than the target while there is something to catch up
        self._steady = True
        # by level: latency over the bound, in periods that show it
        self._seen: dict[int, deque[float]] = {}
        # by level: periods in which the rate was kept, less those in which it was not
        self._kept: Counter[int] = Counter()

    def can_do(self, level: int, reading: Reading) -> float:
        """Return the rate that the threads could have done [tuples/s of the sources]; record if
        they were enough."""
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
        # at the period's end at least
        idled = self._steady or latency_s * done <= (done - self.target) * reading.elapsed_s
        return done / min(reading.utilisation or 1.0, 1.0) if idled else done

    @property
    def catches_up(self) -> bool:
        """True while there is a backlog, for which the law wants more threads than later."""
        return self._wanted > self.target

    def choose(self, belief: Belief, levels: Vector, allowed: Vector) -> int | None:
        """Return the index in `levels` of the lowest one that is probably enough; None if none is."""
        least = self._least(belief, levels, allowed)
        if least is None or not self.catches_up:
            return least
        more = np.flatnonzero(
            allowed & ((belief.values >= math.log(self._wanted)) @ belief.odds >= ODDS)
        )
        able = np.where(
            allowed & (levels <= 2 * max(belief.measured)), belief.values @ belief.odds, -np.inf
        )
        return max(least, int(more[0]) if len(more) else int(np.argmax(able)))

    def _least(self, belief: Belief, levels: Vector, allowed: Vector) -> int | None:
        slack = (1.0 - self.target * np.exp(-belief.values)) * np.sqrt(levels)[:, None]
        place = {int(level): index for index, level in enumerate(levels)}
        late = {level: _median(seen) for level, seen in self._seen.items() if _median(seen) > 1.0}
        had = {level: float(slack[place[level]] @ belief.odds) for level in self._kept}
        enough = min((level for level in self._seen if level not in late), default=None)
        kept = min((level for level in self._kept if self._kept[level] > 0), default=0)
        short = [level for level in self._kept if self._kept[level] <= 0 and level < kept]
        too_few = max(
            [*short, *(level for level in late if enough is not None and level < enough)], default=0
        )

        def lowest(wanted: float) -> int | None:
            likely = np.flatnonzero(
                allowed & (levels > too_few) & ((slack >= wanted) @ belief.odds >= ODDS)
            )
            return int(likely[0]) if len(likely) else None

        if enough is not None:
            between = lowest(
                SLACK
                if self._bound_s == 0.0
                else (max(had.get(too_few, 0.0), 0.0) + had[enough]) / 2.0
            )
            return between if between is not None and levels[between] < enough else place[enough]
        tried = sorted((level for level in late if had[level] > 0.0), key=lambda level: had[level])
        if not tried:
            return lowest(SLACK)
        most, latest = tried[-1], late[tried[-1]]
        in_vain = len(tried) > 1 and latest > (1.0 - EARLIER) * min(
            late[level] for level in tried[:-1]
        )
        more = (
            None if in_vain else lowest(max(had[most] * min(MORE, latest), had[most] + LEAST_MORE))
        )
        return place[min(tried, key=lambda level: (late[level], level))] if more is None else more


def _median(values: deque[float]) -> float:
    """Return the median, or the lower one of two in the middle, so that a tie does not count as
    late."""
    return sorted(values)[(len(values) - 1) // 2]
