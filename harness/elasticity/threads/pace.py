"""Threads for paced sources: the fewest that keep up with a rate, within a bound on latency.

The *capability* a(n) of n threads is their rate over the share of their time that they worked; it
is their rate if they do less than the target r, or catch up for the whole period. Between tried
levels a(n) is a straight line in logarithms; beyond them each thread brings as much as at the last
one. The waiting time of tuples follows from the *slack* of n threads,

  b(n) = (1 - r / a(n)) sqrt(n)

The same slack means about the same for few threads and for many (square-root staffing: Halfin and
Whitt, Operations Research 29, 1981). A level is enough if it keeps up with slack `FIRST_SLACK` and,
with a bound, if at most half of its last periods were late. Periods with another rate than the
target do not count for latency: the threads catch up, or there are too few of them.

The next level is the lowest one with the wanted slack. That slack is `FIRST_SLACK` at first. After
late levels it is more than each of them had. Once both too little and enough are known it is
half-way between them. If more slack makes tuples no earlier, the bound is out of reach, and the law
stays where they were earliest. It does not try again levels that did not keep up below one that
did.
"""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Callable, Iterator
from statistics import median_low

from harness.elasticity.law import Reading
from harness.elasticity.layout import BATCH
from harness.elasticity.statistics import RunningStatistics

FIRST_SLACK = 0.4  # b, until a period has shown that it is too little or more than enough
MAX_SLACK_FACTOR = 2.0  # most slack to try next, as a multiple of the slack of a late level
LEAST_MORE = 0.05  # least increase of the slack over that of a late level
CATCH_UP = 5.0  # periods within which the backlog is to be caught up
# Difference from the target, as a share of it, within which the sources keep up and have nothing to
# catch up. A difference of a batch, which a source sends at once, is within it, too.
STEADY_WITHIN = 0.01
MIN_LATENCY_GAIN = 0.02  # share by which more slack must reduce latency; else the bound is too low
OUTWEIGHING_PERIODS = 2  # periods with or without the rate that outweigh all before
LATE_LEVEL_PERIODS = 9  # last periods of a level that decide if it is late


def target_of(reading: Reading) -> float | None:
    """Return the target of the sources, if all are paced and it is known how they do."""
    known = reading.done is not None and reading.utilisation is not None
    return reading.target if reading.target and known else None


def differ(target: float | None, before: float | None) -> bool:
    """Return True if the target of the sources has changed by more than a percent."""
    if target is None or before is None:
        return target is not before
    return abs(target - before) > 0.01 * before


class Pace:
    """Target of paced sources, and the levels that were enough for it."""

    def __init__(self, target: float, bound_s: float) -> None:
        """Take the target [tuples/s], and the bound on mean latency [s], 0 for none."""
        self._target = target
        self._bound_s = bound_s
        self._wanted = target  # tuples/s: more than the target while there is something to catch up
        self._steady = True
        self._able: dict[int, RunningStatistics] = {}  # by level: logarithm of the capability
        # by level: latency over the bound, in periods that show it
        self._lateness: dict[int, deque[float]] = {}
        # by level: periods in which the rate was kept, less those in which it was not
        self._kept: Counter[int] = Counter()

    def see(self, level: int, reading: Reading) -> None:
        """Record a period with tuples: what the threads could do, and if they were enough."""
        done, latency_s = reading.done or 0.0, reading.latency_s or 0.0
        near = max(STEADY_WITHIN * self._target, BATCH / reading.elapsed_s)
        before, self._steady = self._steady, abs(done - self._target) <= near
        kept, was_kept = done >= self._target - near, self._kept[level] > 0
        self._kept[level] = max(
            -OUTWEIGHING_PERIODS, min(OUTWEIGHING_PERIODS, self._kept[level] + (1 if kept else -1))
        )
        if was_kept and self._kept[level] <= 0:  # tuples cost more than before
            self._able, self._lateness = {}, {}
            self._kept = Counter({level: -1})
        self._wanted = self._target
        if self._steady and before:
            lateness = latency_s / self._bound_s if self._bound_s > 0.0 else 0.0
            self._lateness.setdefault(level, deque(maxlen=LATE_LEVEL_PERIODS)).append(lateness)
        if not self._steady and self._bound_s > 0.0:
            self._wanted *= 1.0 + latency_s / (CATCH_UP * reading.elapsed_s)
        # at the period's end at least
        idled = self._steady or latency_s * done <= (done - self._target) * reading.elapsed_s
        able = done / min(reading.utilisation or 1.0, 1.0) if idled else done
        self._able.setdefault(level, RunningStatistics()).add(math.log(able))
        self._level = level

    def steps(self, levels: Callable[[], range]) -> Iterator[tuple[int, str, str]]:
        """Yield a level for each period, with reason and state, until none is likely to be enough.

        `levels`: those that may be chosen now.
        """
        while (enough := self.enough(levels())) is not None:
            catches_up = self._wanted > self._target
            why = f"{enough} threads are likely to {'catch up' if catches_up else 'be enough'}"
            rests = enough == self._level and not catches_up
            yield enough, why, "settled" if rests else "learning"

    def enough(self, levels: range) -> int | None:
        """Return the lowest level that is likely to be enough; None if none is."""
        least = self._least(levels)
        if least is None or self._wanted <= self._target:
            return least
        more = (n for n in levels if self._capability(n) >= self._wanted)
        return max(least, next(more, max(self._able, key=lambda n: self._able[n].mean)))

    def _capability(self, level: int) -> float:
        """Return the rate that so many threads can do [tuples/s]."""
        low = max((n for n in self._able if n <= level), default=None)
        high = min((n for n in self._able if n >= level), default=None)
        near = high if low is None else low
        if low is None or high is None or low == high:
            return math.exp(self._able[near].mean) * level / near
        part = math.log(level / low) / math.log(high / low)
        return math.exp((1.0 - part) * self._able[low].mean + part * self._able[high].mean)

    def _slack(self, level: int) -> float:
        return (1.0 - self._target / self._capability(level)) * math.sqrt(level)

    def _least(self, levels: range) -> int | None:
        late = {n: m for n, seen in self._lateness.items() if (m := median_low(seen)) > 1.0}
        enough = min((n for n in self._lateness if n not in late), default=None)
        kept = min((n for n in self._kept if self._kept[n] > 0), default=levels.stop)
        short = [n for n in self._kept if self._kept[n] <= 0 and n < kept]
        short += [n for n in late if enough is not None and n < enough]
        too_few = max(short, default=0)

        def lowest(wanted: float) -> int | None:
            return next((n for n in levels if n > too_few and self._slack(n) >= wanted), None)

        if enough is not None:
            least = FIRST_SLACK
            if self._bound_s > 0.0:
                had = self._slack(too_few) if too_few else 0.0
                least = (max(had, 0.0) + self._slack(enough)) / 2.0
            between = lowest(least)
            if between is None or between >= enough:
                next_lower = enough - 1 if self._bound_s > 0.0 else 0
                likely = (
                    next_lower in levels and next_lower > too_few and self._slack(next_lower) > 0.0
                )
                return next_lower if likely else enough
            return between
        tried = sorted((n for n in late if self._slack(n) > 0.0), key=self._slack)
        if not tried:
            return lowest(FIRST_SLACK)
        most, latest = self._slack(tried[-1]), late[tried[-1]]
        before = min((late[n] for n in tried[:-1]), default=math.inf)
        more = None
        if latest <= (1.0 - MIN_LATENCY_GAIN) * before:
            more = lowest(max(most * min(MAX_SLACK_FACTOR, latest), most + LEAST_MORE))
        return min(tried, key=lambda n: (late[n], n)) if more is None else more
