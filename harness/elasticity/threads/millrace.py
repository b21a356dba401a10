"""Millrace's own law of threads: a search by measurements alone, without a model of curves.

The *value* of a level is the logarithm of its throughput, less `DOUBLING_PRICE` for each doubling.
A *look* at a level is a period there that counts. A search has four steps.

  ladder   Climb by the factor by which the last step raised throughput, from `MIN_LADDER_FACTOR` to
           2, but to at most twice the threads that have work, until a step loses `ONE_STEP_LOSS`.
           Then halve the best level likewise: lower levels may have been seen before the program
           was warm.
  bracket  Lines through the tried levels say what a level beside the best one, or in the gaps to
           its neighbours, may bring. Look at the most promising one while that is `MIN_LOOK_GAIN`.
  check    Stay for `CONFIRMING_PERIODS` periods. If they differ from what the search saw, levels
           take effect late, or the program warms up: look for a period longer, and search again.
           Then look again at levels that noise may have put in the wrong order.
  rest     Stay until two periods in a row differ by `change` and by more than noise, or until a
           neighbour, at which it looks every `NEIGHBOUR_PAUSE` periods, is better. Then search
           again.

While others need the CPUs, it keeps to those that they leave. Beside paced sources it looks for the
fewest threads that keep up (`pace`), and searches only if no level does.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Iterator
from itertools import count, pairwise

from harness.elasticity.cpu_limit import left_by_others
from harness.elasticity.law import Decision, Law, Reading, Setting
from harness.elasticity.statistics import RunningStatistics
from harness.elasticity.threads.pace import Pace, differ, target_of

DOUBLING_PRICE = 0.012  # price of a doubling of the level, in log throughput
MIN_LADDER_FACTOR = math.sqrt(2.0)  # least factor by which the ladder climbs
ONE_STEP_LOSS = 0.3  # loss in log throughput that ends the ladder
MIN_LOOK_GAIN = 0.02  # least gain in log throughput for which a look pays
CONFIRMING_PERIODS = 4  # periods in which the best level has to bring what the search saw
MAX_CHECK_ROUNDS = 3  # rounds in which close levels are looked at again
MAX_LEVELS_PER_ROUND = 4  # levels in a round
NOISE_SIGMAS = 3.0  # standard deviations beyond which a difference is more than noise
LONGEST_LOOK = 4  # periods
NEIGHBOUR_PAUSE = 32  # periods between two looks at neighbours
NEIGHBOUR_RATIO = 1.15  # ratio of the levels of neighbours
EXPECTATION_SHARE = 0.1  # share of a period at rest in the expectation

Step = tuple[int, str, str]  # level to go to, reason and state
Steps = Generator[Step, None, bool]


class MillraceThreads(Law):
    """Millrace's law of threads, as the module describes it."""

    name = "millrace"
    summary = "ladder, bracket, check and rest: a search by measurements alone: our own"
    USES = frozenset(("target", "done", "utilisation", "latency_s"))
    SETTINGS = (
        Setting("change", 0.12, 0.01, 10.0, "of throughput", "least difference of another load"),
        Setting("cpu_limit", 0.8, 0.0, 1.0, "of the CPUs", "use that others need to share"),
        Setting("bound", 0.0, 0.0, 1e6, "s", "longest mean latency of paced tuples; 0: any"),
    )

    def begin(self) -> None:
        """Begin a search at the first reading."""
        self._looks, self._change = 1, math.log1p(float(self.set["change"]))
        self._target: float | None = None
        self._steps: Steps | None = None
        self._refused: Step | None = None  # by the CPU limit
        self._held_back = False  # True if the search was kept from a level by other processes

    def decide(self, reading: Reading) -> Decision:
        """Return the next level of the search, or the best one at rest."""
        level, target = self.bounds.clamp(reading.threads), target_of(reading)
        rate = reading.throughput if target is None else reading.done
        if not rate:
            return Decision(level, "no tuples: says nothing → stay", "idle")
        most = self.bounds.maximum
        cpus = min(self.layout.cpus, most) if self.layout.operators else most
        limit, others = float(self.set["cpu_limit"]), reading.others_cpu
        left, crowd = left_by_others(limit, cpus, reading.system_cpu, others)
        self._most = self.bounds.clamp(left) if crowd else most
        if level > self._most:
            self._held_back = True
            return Decision(self._most, f"{crowd} → down", "crowded")
        self._level, self._value = level, math.log(rate)
        self._busy = level * (1.0 if reading.utilisation is None else reading.utilisation)
        freed = self._held_back and not crowd
        if self._steps is None or freed or differ(target, self._target):
            self._target, self._refused, self._held_back = target, None, False
            self._pace = None if target is None else Pace(target, float(self.set["bound"]))
            self._steps = self._run()
        if self._pace is not None:
            self._pace.see(level, reading)
        wanted, reason, state = self._refused or next(self._steps)
        self._refused, wanted = None, self._within(wanted)
        if wanted > level and not self.cpu.acceptable():
            self._refused = (wanted, reason, "searching")
            return Decision(level, f"{reason}, but the CPU limit refuses → stay", "refused")
        if crowd:
            reason, state = f"{crowd}; {reason}", "crowded"
        arrow = "stay" if wanted == level else "up" if wanted > level else "down"
        return Decision(wanted, f"{reason} → {arrow}", state)

    def _within(self, level: int) -> int:
        self._held_back |= self._most < min(level, self.bounds.maximum)
        return max(self.bounds.minimum, min(self._most, level))

    def _run(self) -> Steps:
        """Yield a level for each period, for ever."""
        while True:
            if self._pace is not None:
                yield from self._pace.steps(self._levels)
            self._seen = {}
            self._note()
            yield from self._ladder(self._level, up=True)
            best = self._best()
            near = [self._worth(each) for each in self._seen if each < best <= 2 * each]
            if min(near, default=math.inf) > self._worth(best) - ONE_STEP_LOSS:
                yield from self._ladder(best, up=False)
            yield from self._bracket()
            if (yield from self._is_late()):
                self._looks += 1
                continue
            yield from self._check()
            yield from self._bracket()
            yield from self._check()
            if self._pace is None or self._pace.enough(self._levels()) is None:
                yield from self._rest()

    def _levels(self) -> range:
        return range(self.bounds.minimum, self._most + 1)

    def _note(self) -> None:
        self._seen.setdefault(self._level, RunningStatistics()).add(self._value)

    def _look(self, level: int, reason: str) -> Steps:
        """Go to a level until it has taken effect; return True if the engine took it."""
        for _ in range(1 if level == self._level else self._looks):
            yield level, reason, "searching"
        self._note()
        return self._level == level

    def _worth(self, level: int) -> float:
        return self._seen[level].mean - DOUBLING_PRICE * math.log2(level)

    def _best(self) -> int:
        return max(self._seen, key=self._worth)

    def _slope(self, low: int, high: int) -> float:
        return (self._worth(high) - self._worth(low)) / math.log(high / low)

    def _ladder(self, level: int, up: bool) -> Steps:
        factor = 2.0
        while True:
            before = level
            for _ in range(CONFIRMING_PERIODS):  # threads may idle briefly, as while queues fill
                if not up or 2.0 * self._busy > before or before >= self._most:
                    break
                yield from self._look(before, f"do threads of {before} stay idle?")
            wanted = min(before * factor, 2.0 * self._busy) if up else before // 2
            level = self._within(math.ceil(wanted))
            if level != before:
                self._seen.pop(level, None)
            ends = level <= before if up else level >= before
            if ends or not (yield from self._look(level, f"{level} follows {before}")):
                return False
            factor = max(MIN_LADDER_FACTOR, 2.0 ** min(1.0, self._slope(before, level)))
            if self._worth(self._best()) - self._worth(level) > ONE_STEP_LOSS:
                return True

    def _bracket(self) -> Steps:
        while (hope := max(self._hopes(), default=(0.0, 0)))[0] > MIN_LOOK_GAIN:
            reason = f"{hope[1]} may bring {hope[0]:.0%} over {self._best()}"
            if not (yield from self._look(hope[1], reason)):
                return False
        return True

    def _hopes(self) -> Iterator[tuple[float, int]]:
        """Yield the gain over the best level that lines promise in the gaps beside it, and where:
        where two lines meet, and beside the best one."""
        tried, best = sorted(self._seen), self._best()
        for at, (low, high) in enumerate(pairwise(tried)):
            if best not in (low, high) or high - low < 2:
                continue
            rise = self._slope(tried[at - 1], low) if at else 1.0
            fall = -1.0 if best == high else -math.inf  # unless it is known
            if high < tried[-1]:
                fall = self._slope(high, tried[at + 2])
            width, higher = math.log(high / low), self._worth(high) - self._worth(low)
            meet = width / 2.0  # from `low` on, in logarithms
            if rise > fall > -math.inf:
                meet = min(max((higher - fall * width) / (rise - fall), 0.0), width)
            level = min(max(round(low * math.exp(meet)), low + 1), high - 1)
            away = math.log(level / low)
            lines = min(rise * away, higher + fall * (away - width))
            yield lines - (higher if best == high else 0.0), level
            beside = low + 1 if best == low else high - 1
            yield (rise if best == low else fall) * math.log(beside / best), beside

    def _noise(self) -> float:
        """Return the standard deviation of a period, by levels seen more than once."""
        freedom = sum(each.count - 1 for each in self._seen.values())
        squares = sum(each.squares for each in self._seen.values())
        return math.sqrt(squares / freedom) if freedom else 0.0

    def _is_late(self) -> Steps:
        best, off = self._best(), 0.0
        before = self._seen[best].mean
        for _ in range(2):  # what differs once may be noise, or still on its way
            del self._seen[best]
            for _ in range(CONFIRMING_PERIODS):
                yield from self._look(best, f"{best} is the best")
            if best not in self._seen:
                return False
            off = abs(self._seen[best].mean - before)
            if off <= self._change:
                return False
        return off > NOISE_SIGMAS * self._noise() and self._looks < LONGEST_LOOK

    def _check(self) -> Steps:
        for looks in range(1, MAX_CHECK_ROUNDS + 1):
            best, unsure = self._best(), NOISE_SIGMAS * self._noise() / math.sqrt(looks)
            close = [each for each in self._seen if self._worth(best) - self._worth(each) < unsure]
            if unsure < MIN_LOOK_GAIN or len(close) < 2:
                return True
            for level in sorted(close, key=self._worth)[-MAX_LEVELS_PER_ROUND:]:
                yield from self._look(level, f"{level} may be as good as {best}")
        return False

    def _rest(self) -> Steps:
        level, odd, way, noise = self._best(), 0.0, 1, self._noise()
        yield from self._look(level, f"{level} is the best")
        expected = self._seen[level].mean
        for period in count(1):
            off, before = self._value - expected, odd
            odd = off if abs(off) > max(self._change, NOISE_SIGMAS * noise) else 0.0
            if odd:
                twice, change = odd * before > 0.0, f"{math.expm1(min(off, 9.0)):+.0%}"
                why = "twice: another load" if twice else "once: a burst, or another load?"
                yield level, f"{change} {why}", "searching" if twice else "noise"
                if twice:
                    return True
                continue
            expected += EXPECTATION_SHARE * off
            far = round(level * NEIGHBOUR_RATIO**way)
            there = self._within(max(level + 1, far) if way > 0 else min(level - 1, far))
            if period % NEIGHBOUR_PAUSE or there == level:
                yield level, "as expected", "settled"
                continue
            taken = yield from self._look(there, f"is {there} better by now?")
            better = self._value - DOUBLING_PRICE * math.log2(there / level) - expected
            if taken and better > max(MIN_LOOK_GAIN, 2.0 * noise):
                return True
            way = -way
            yield from self._look(level, f"{there} is not better than {level}")
        return False


LAW = MillraceThreads
