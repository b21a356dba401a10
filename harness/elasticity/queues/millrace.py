"""Millrace's own law of queues and threads: a search by measurements along the placements that
divide the work of the graph best.

For each number of queues there is a placement that divides the work most evenly (`cuts`), by the
declared costs of the operators and by the profiler (`work_shares`). So the law searches two
numbers: of queues, and of threads. The *value* of a configuration is the logarithm of its
throughput, less `DOUBLING_PRICE` for each doubling of threads. Its *ideal* is the value that it
would have if queues cost nothing: then only its most loaded region and its threads bound it. A
*look* is a period at a configuration, or a few if the content of the queues takes longer than a
period to pass.

  ladder   Double the number of queues, each with a thread of its own as far as there are CPUs,
           until two doublings in a row bring `TWO_STEP_LOSS` less than the best, or one brings
           `ONE_STEP_LOSS` less. Skip those whose ideal is no better than what the best one has, or
           than the ideal of the best one if that is within `MAX_LAG` of it. Then halve in the same
           way. Then look once at queues everywhere, unless that is to be skipped, too.
  bracket  Look at numbers of queues next to the best one, as long as the lines through what was
           seen promise `MIN_LOOK_GAIN`.
  near     Look at queues wherever regions meet, and then at placements that differ from the best
           one by a single queue, the ones with the best ideal first, until `MAX_MISSES` in a row
           bring nothing.
  threads  At the best placement halve the threads, and bracket again.
  check    Measure again what noise may have put in the wrong order, until its standard error is
           `MAX_STANDARD_ERROR`.
  rest     Stay until two periods in a row differ by `change`, and by more than noise, or the work
           has moved to other operators. Then search anew. Once bursts have passed, a change has to
           last two periods longer than the longest of them.

While queues fill or drain, the tuples that are submitted tell little. If there is one source, the
throughput is that of the operators' work: each operator's tuples over those that it gets in the
long run, weighted by its share of the work. While all threads are busy, this is what the
configuration can do, and it is at most the ideal. Periods in which queues fill or drain, as the
arrivals at the sinks show, or that follow a switch, count only while there are no others.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from itertools import count as counting

import numpy as np

from harness.elasticity.cpu_limit import crowded
from harness.elasticity.law import PROFILE_PERIODS, Decides, Decision, Law, Reading, Setting
from harness.elasticity.queues.cuts import DominatorTree
from harness.elasticity.queues.work_shares import WorkProfile, WorkShares
from harness.elasticity.statistics import RunningStatistics

DOUBLING_PRICE = 0.02  # price of a doubling of the level, in log throughput
TWO_STEP_LOSS = math.log(1.0 / 0.90)  # loss, in log throughput
ONE_STEP_LOSS = math.log(1.0 / 0.74)  # loss, in log throughput
MAX_LAG = 0.2  # distance from the ideal, in log throughput, beyond which more queues may help
MIN_LOOK_GAIN = 0.02  # least gain in log throughput for which a look pays
MIN_SLOPE_RATIO = 1.3  # least ratio of two numbers whose values show a slope rather than noise
MOST_BRACKETS = 10  # looks of a bracket
MAX_MISSES = 2  # looks near the best placement in a row that may bring nothing
# share of the places from which on a look at their queues takes a period more
WIDE_SWITCH_SHARE = 0.2
CONFIRMING_PERIODS = 3  # periods in which the best configuration is measured again
MAX_CHECK_ROUNDS = 3  # rounds in which close configurations are looked at again
MAX_CLOSE_PER_ROUND = 4  # configurations in a round
MAX_STANDARD_ERROR = 0.01  # standard error of a value, in log throughput, that is small enough
NOISE_SIGMAS = 3.0  # standard deviations beyond which a period is more than noise
LONGEST_LOOK = 8  # periods
LONGEST_MEMORY = 30  # periods at rest of which the expectation is about the mean
USUAL_FILL = 0.5  # usual fill of a queue, about
# change of arrivals, in the logarithm, up to which queues neither fill nor drain
STEADY_FILL_CHANGE = 0.1
CALM_PERIODS = 6  # periods without a switch after which arrivals count as the usual ones
MOST_PRINTED = 9.0  # logarithm of the largest ratio that a reason prints exactly

Place = tuple[frozenset[int], int]  # a configuration: where queues stand, and the thread level
Steps = Iterator[tuple[Place, str, str]]  # configurations to go to, with reason and state
# Values by number, the best number, and configurations by numbers that were not tried.
Axis = tuple[Mapping[float, float], float, Mapping[float, Place]]


class MillraceQueues(Law):
    """Millrace's law of queues and threads, as the module describes it."""

    name = "millrace"
    summary = "ladder, bracket, check and rest over placements that divide the work: our own"
    decides = Decides.QUEUES
    NEEDS = frozenset(("layout", "costs", "tuples"))
    SETTINGS = (
        Setting("change", 0.15, 0.01, 10.0, "of throughput", "least difference of another load"),
        Setting("cpu_limit", 0.8, 0.0, 1.0, "of the CPUs", "use that others need to share"),
    )

    def begin(self) -> None:
        """Begin a search at the first reading."""
        self._tree = DominatorTree(self.layout)
        self._shares = WorkShares(self.layout)
        self._tuples = np.array(self.layout.tuples)
        senders = {link.source for link in self.layout.links}
        self._submitted = sum(self.layout.tuples[each] for each in senders)
        self._seen: dict[Place, RunningStatistics] = {}
        self._steps: Steps | None = None
        self._refused: tuple[Place, str] | None = None  # step that the CPU limit has refused
        self._held_back = False  # True if the search was kept from a level by other processes
        self._longest_burst = 0  # periods of a burst that has passed
        self._usual: float | None = None  # usual logarithm of arrived over submitted tuples
        self._last: frozenset[int] = frozenset()  # placement of the period before
        self._still = 0  # periods since queues were switched

    def decide(self, reading: Reading) -> Decision:
        """Return the next configuration of the search, or the best one at rest."""
        level = self.bounds.clamp(reading.threads)
        queued = self._tree.every & reading.queued
        if reading.throughput <= 0.0:
            return Decision(level, "no tuples: says nothing → stay", "idle", queued)
        others = self._see_others(reading)
        if level > self._most:
            self._held_back = True
            return Decision(self._most, f"{others} → down", "crowded", queued)
        self._read(reading, (queued, level))
        if self._steps is None:
            self._refused, self._steps = None, self._run()
        place, why, state = (
            next(self._steps) if self._refused is None else (*self._refused, "searching")
        )
        self._refused = None
        place = place[0], self._within(place[1])
        reason = why
        if others:
            reason, state = f"{others}; {why}", "crowded"
        climbs = place[1] > level or len(place[0]) > len(queued)
        if climbs and not self.cpu.acceptable():
            self._refused = place, why
            reason = f"{reason}, but the CPU limit refuses → stay"
            return Decision(level, reason, "refused", queued)
        arrow = "stay" if place == self._at else "there"
        return Decision(place[1], f"{reason} → {arrow}", state, place[0])

    def _read(self, reading: Reading, place: Place) -> None:
        """Take in a period at a configuration."""
        self._at = queued, level = place
        self._still = self._still + 1 if queued == self._last else 0
        self._last = queued
        threads = len(self.layout.sources) + min(level, len(queued))
        self._profile = WorkProfile(
            reading.costs, self.layout.operators, reading.elapsed_s * threads
        )
        self._unbalanced: float | None = None
        if reading.arrived:
            arrived = math.log(reading.arrived)
            if self._usual is None or self._still >= CALM_PERIODS:
                self._usual = arrived
            self._unbalanced = abs(arrived - self._usual)
        self._value = math.log(self._worked(reading) or reading.throughput)
        backlog = USUAL_FILL * self.layout.queue_capacity * self._submitted
        held = backlog / (reading.throughput * reading.elapsed_s)
        self._looks = max(1, round(min(LONGEST_LOOK, held)))

    def _worked(self, reading: Reading) -> float:
        """Return the throughput by the work that was done, in submitted tuples/s; 0 if unknown.

        Several sources send more or less than each other, and what they send differs in work.
        """
        if len(self.layout.sources) != 1 or len(reading.tuples) != len(self._tuples):
            return 0.0
        known = self._tuples > 0.0
        shares = (np.array(self._divided) if self._seen else self._shares.now)[known]
        passed = np.array(reading.tuples)[known] / self._tuples[known]
        rate = self._submitted * float(shares @ passed) / float(shares.sum()) / reading.elapsed_s
        return rate if rate < math.inf else 0.0

    def _see_others(self, reading: Reading) -> str:
        """Limit the levels to the CPUs that others leave; return the reason, or "" for none.

        A search that was held back begins anew when they leave all of them.
        """
        limit, others = float(self.set["cpu_limit"]), reading.others_cpu
        self._most = self.bounds.maximum
        if others is None or not crowded(limit, reading.system_cpu, others):
            if self._held_back:
                self._held_back, self._steps = False, None
            return ""
        cpus = min(self.layout.cpus, self._most)
        self._most = self.bounds.clamp(int(cpus * (1.0 - min(others, 1.0)) + 1e-9))
        return f"others have {others:.0%} of the CPUs, which leaves {self._most} threads"

    def _within(self, level: int) -> int:
        self._held_back |= self._most < min(level, self.bounds.maximum)
        return max(self.bounds.minimum, min(self._most, level))

    # -- the course --------------------------------------------------------------------------------

    def _run(self) -> Steps:
        """Yield a configuration for each period, for ever."""
        efficiency = None  # value at rest less its ideal
        while True:
            self._shares.add(self._profile)
            self._divided = self._shares.now.tolist()
            self._placements = self._tree.placements(self._divided)
            self._base = self._value  # value of one thread if queues cost nothing
            if efficiency is not None:
                self._base -= efficiency + self._speedup(self._at)
            self._seen = {}
            self._fresh: set[Place] = set()  # seen only while queues filled, or after a switch
            self._add(fresh=False)
            yield from self._ladder(1)
            yield from self._ladder(-1)
            yield from self._everywhere()
            yield from self._bracket(self._of_queues)
            yield from self._near()
            yield from self._levels()
            yield from self._bracket(self._of_threads)
            yield from self._check()
            best = self._best()
            efficiency = self._seen[best].mean - self._base - self._speedup(best)
            yield from self._rest(best)

    def _look(self, place: Place, reason: str) -> Steps:
        """Go to a configuration until it has taken effect, and add what it brings."""
        switched = len(place[0] ^ self._at[0])
        periods = self._looks if switched else 1
        if switched > WIDE_SWITCH_SHARE * len(self._tree.every):
            periods += 1
        for _ in range(periods):
            yield place, reason, "searching"
        self._add(fresh=bool(switched) and periods == 1)

    def _add(self, fresh: bool) -> None:
        """Add the last period."""
        place, value = self._at, self._value
        self._shares.add(self._profile)
        if self._unbalanced is not None:  # throughput is measured by work
            value = min(value, self._base + self._speedup(place))
            fresh |= self._unbalanced > STEADY_FILL_CHANGE
        if place not in self._seen or (place in self._fresh and not fresh):
            self._seen[place] = RunningStatistics()
            (self._fresh.add if fresh else self._fresh.discard)(place)
        if not fresh or place in self._fresh:
            self._seen[place].add(value)

    def _worth(self, place: Place) -> float:
        return self._seen[place].mean - DOUBLING_PRICE * math.log2(place[1])

    def _best(self) -> Place:
        return max(self._seen, key=self._worth)

    def _speedup(self, place: Place) -> float:
        """Return the logarithm of how much faster than one thread a configuration is if queues cost
        nothing."""
        queued, level = place
        threads = max(1, len(self.layout.sources) + min(level, len(queued)))
        if len(self.layout.sources) > 1:  # one may get ahead of the others
            return math.log(threads)
        return math.log(min(threads, 1.0 / self._tree.heaviest(self._divided, queued)))

    def _ideal(self, place: Place) -> float:
        return self._base + self._speedup(place) - DOUBLING_PRICE * math.log2(place[1])

    def _promises(self, place: Place) -> bool:
        """Return True if more queues may bring more than the best configuration."""
        best = self._best()
        bar, ideal = self._worth(best), self._ideal(best)
        return self._ideal(place) > (ideal if ideal - bar < MAX_LAG else bar) + MIN_LOOK_GAIN

    def _rung(self, queues: int) -> Place:
        """Return the placement of some queues, with a thread for each as far as there are CPUs."""
        return self._placements[queues], self._within(max(1, queues))

    def _ladder(self, direction: int) -> Steps:
        """Double or halve the number of queues."""
        queues, failed = len(self._at[0]), 0
        if direction < 0:  # from where the search began
            queues = len(next(iter(self._seen))[0])
        while failed < 2:
            if direction > 0:
                further = [each for each in self._placements if each > queues]
                steps = [each for each in further if each >= 2 * queues] or further[-1:]
                queues = min(steps, default=-1)
            else:
                further = [each for each in self._placements if each < queues]
                steps = [each for each in further if 2 * each <= queues] or further[:1]
                queues = max(steps, default=-1)
            if queues < 0:
                return
            place = self._rung(queues)
            if not self._promises(place):
                continue
            yield from self._look(place, f"{self._named(place)} is the next step")
            if place not in self._seen:  # the engine did not take it
                return
            loss = self._worth(self._best()) - self._worth(place)
            failed = 2 if loss > ONE_STEP_LOSS else failed + 1 if loss > TWO_STEP_LOSS else 0

    def _everywhere(self) -> Steps:
        """Look at queues everywhere: where batches are cut to pieces, or operators lock each other
        out, a few queues do not show what all of them bring."""
        every = self._tree.every
        level = max(2 * self._best()[1], round(math.sqrt(self.layout.cpus)))
        place = every, self._within(max(1, min(level, len(every))))
        if all(queued != every for queued, _ in self._seen) and self._promises(place):
            yield from self._look(place, f"{self._named(place)} is untried")

    def _near(self) -> Steps:
        """Look at placements like the best one."""
        missed, near = -1, [self._tree.met(self._best()[0])]
        while missed < MAX_MISSES:
            best = queued, level = self._best()
            if not queued:  # the first step of the ladder divides the work best
                return
            tried = {each for each, _ in self._seen}
            places = [
                (each, self._within(max(1, min(level + 1, len(each)))))
                for each in near
                if each not in tried
            ]
            place = max(places, key=self._ideal, default=None)
            if place is not None and self._ideal(place) > self._worth(best):
                yield from self._look(place, f"{self._named(place)} is near the best")
            elif missed >= 0:
                return
            missed = 0 if self._best() != best else missed + 1
            near = self._tree.near(self._best()[0])

    def _levels(self) -> Steps:
        """Double, then halve the threads at the best placement while that may pay."""
        while True:
            queued, level = best = self._best()
            place = queued, self._within(max(1, min(2 * level, len(queued))))
            if place in self._seen or self._ideal(place) <= self._worth(best):
                break
            yield from self._look(place, f"{self._named(place)} has twice the threads")
            if self._best() == best:
                break
        queued, level = self._best()
        while level > self.bounds.minimum:
            top, level = self._worth(self._best()), self._within(level // 2)
            place = queued, level
            if self._ideal(place) < top:
                return
            yield from self._look(place, f"{self._named(place)} has half of the threads")
            if place not in self._seen or top - self._worth(place) > TWO_STEP_LOSS:
                return

    def _bracket(self, axis: Callable[[], Axis]) -> Steps:
        """Look where the lines through what was seen along an axis promise most."""
        for _ in range(MOST_BRACKETS):
            values, best, untried = axis()
            gains = {each: _promise(values, best, each) for each in untried}
            number = max(gains, key=gains.__getitem__, default=0.0)
            if gains.get(number, 0.0) <= MIN_LOOK_GAIN:
                return
            gain = math.expm1(min(gains[number], MOST_PRINTED))
            place = untried[number]
            yield from self._look(place, f"{self._named(place)} may bring {gain:.0%} more")
            if place not in self._seen:
                return

    def _of_queues(self) -> Axis:
        """Return the axis of queues, each with a thread as far as there are CPUs; numbers are those
        of queues and one more."""
        values: dict[float, float] = {}
        for place in self._seen:
            number = len(place[0]) + 1.0
            if self._placements.get(len(place[0])) == place[0]:
                values[number] = max(values.get(number, -math.inf), self._worth(place))
        untried = {
            each + 1.0: self._rung(each) for each in self._placements if each + 1.0 not in values
        }
        return values, max(values, key=values.__getitem__, default=0.0), untried

    def _of_threads(self) -> Axis:
        """Return the axis of threads at the best placement. Below those that were tried there,
        other placements stand for it."""
        queued, level = self._best()
        values = {float(each[1]): self._worth(each) for each in self._seen if each[0] == queued}
        least = min(values)
        for place in self._seen:
            if (number := float(place[1])) < least:
                values[number] = max(values.get(number, -math.inf), self._worth(place))
        most = self._within(max(1, len(queued)))
        levels = range(self.bounds.minimum, most + 1)
        untried = {
            float(each): (queued, each) for each in levels if (queued, each) not in self._seen
        }
        return values, float(level), untried

    def _check(self) -> Steps:
        """Look again at what noise may have put in the wrong order."""
        for _ in range(MAX_CHECK_ROUNDS):
            best = self._best()
            for _ in range(CONFIRMING_PERIODS):
                yield from self._look(best, f"{self._named(best)} is the best so far")
            if self._best() != best:
                continue
            repeated = [each for each in self._seen.values() if each.count > 1]
            freedom = sum(each.count - 1 for each in repeated)
            noise = math.sqrt(sum(each.squares for each in repeated) / freedom) if freedom else 0.0
            error = {place: noise / math.sqrt(each.count) for place, each in self._seen.items()}
            again = [
                place
                for place in sorted(self._seen, key=self._worth, reverse=True)[:MAX_CLOSE_PER_ROUND]
                if (error[place] > MAX_STANDARD_ERROR or place in self._fresh)
                and self._worth(best) - self._worth(place)
                <= max(MIN_LOOK_GAIN, 2.0 * math.hypot(error[place], error[best]))
            ]
            if not any(place != best for place in again):
                return
            for place in again:
                for _ in range(2 if place in self._fresh else 1):
                    yield from self._look(place, f"{self._named(place)} may be as good")

    def _rest(self, place: Place) -> Steps:
        """Stay until another load is seen, or the work has moved."""
        for _ in range(self._looks):
            state = "settled" if place == self._at else "searching"
            yield place, f"{self._named(place)} is the best", state
        expected, calm = self._seen[place].mean, RunningStatistics()
        odd = 0  # periods in a row that differ; below 0 if they bring less
        profile: WorkProfile | None = None
        for period in counting(1):
            off = self._value - expected
            spread = NOISE_SIGMAS * calm.deviation() if calm.count > CONFIRMING_PERIODS else 0.0
            if abs(off) <= max(math.log1p(float(self.set["change"])), spread):
                self._longest_burst, odd = max(self._longest_burst, abs(odd)), 0
            else:
                sign = 1 if off > 0.0 else -1
                odd = odd + sign if odd * sign >= 0 else sign
            another = abs(odd) >= 2 + self._longest_burst
            looks = another or (not odd and period % PROFILE_PERIODS == 0)
            if looks and profile is not None and profile.moved(self._profile):
                self._shares.forget()
                yield place, "the work has moved", "searching"
                return
            seen = math.expm1(min(off, MOST_PRINTED))
            if another:
                yield place, f"{seen:+.0%} for {abs(odd)} periods: another load", "searching"
                return
            if odd:
                yield place, f"{seen:+.0%}: a burst, or another load?", "noise"
                continue
            calm.add(self._value)
            expected += off / min(calm.count + 1, LONGEST_MEMORY)
            if period >= PROFILE_PERIODS:
                profile = profile or self._profile
            yield place, "as expected", "settled"

    def _named(self, place: Place) -> str:
        """Return a configuration in words, with the names of up to two queues."""
        queued, level = place
        threads = f"{level} thread{'s' if level > 1 else ''}"
        if not queued:
            return f"no queues with {threads}"
        if len(queued) > 2:
            return f"{len(queued)} queues with {threads}"
        ports = " and ".join(self.layout.ports[each].operator for each in sorted(queued))
        return f"queue{'s' if len(queued) > 1 else ''} before {ports} with {threads}"


def _promise(values: Mapping[float, float], best: float, at: float) -> float:
    """Return the gain over the best that lines through values promise at a number between two."""
    if at > best:
        above = min((each for each in values if each > best), default=0.0)
        if above <= at:
            return 0.0
        return _rise(values, best) * min(math.log(at / best), math.log(above / at))
    below = max((each for each in values if each < best), default=at)
    if below >= at:
        return 0.0
    far = [each for each in values if each >= best * MIN_SLOPE_RATIO]
    fall = min(_slope(values, best, min(far)), 0.0) if far else -1.0
    lost = values[best] - values[below]
    return min(_rise(values, below) * math.log(at / below) - lost, -fall * math.log(best / at))


def _slope(values: Mapping[float, float], low: float, high: float) -> float:
    return (values[high] - values[low]) / math.log(high / low)


def _rise(values: Mapping[float, float], number: float) -> float:
    """Return the slope towards a number from below; proportional if none is known."""
    lower = [each for each in values if each < number]
    far = [each for each in lower if each * MIN_SLOPE_RATIO <= number] or lower
    if not lower:
        return 1.0
    return max(_slope(values, max(far), number), _slope(values, max(lower), number))


LAW = MillraceQueues
