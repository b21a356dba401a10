"""Millrace's own law of threads: a search by measurements alone, without a model of curves.

The *value* of a level is the logarithm of its throughput, less `DOUBLING_PRICE` for each doubling.
A *look* at a level is a period there that counts. A search has four steps.

  ladder   From the start, double the level until two doublings in a row bring `TWO_STEP_LOSS` less
           than the best level, or one brings `ONE_STEP_LOSS` less. Then halve it in the same way.
  bracket  Above the best level, look half-way to the next tried one, as long as the rise towards
           the best would bring `MIN_LOOK_GAIN` there. Below it, look where the lines from both
           sides meet, if they promise `MIN_LOOK_GAIN`.
  check    Stay at the best level for `CONFIRMING_PERIODS`. If two in a row differ by
           `CHANGE` from what the search saw, levels take effect late, or the program warms up: from
           now on a look takes a period more, and the search begins anew. Then look again at levels
           that noise may have put in the wrong order, until their standard error is
           `MAX_STANDARD_ERROR`; bracket again.
  rest     Stay until two periods in a row differ by `CHANGE`, and by more than noise: this is
           another load, and a search begins. After 16, 32, ... 128 periods, look at a neighbour,
           up and down in turn; if it is better, search from there.

While other processes need the CPUs too, the law keeps to the CPUs that they leave. For paced
sources it looks for the fewest threads that keep up (`pace`), and searches only if no level does.

No step needs an exact constant: half or twice of any of them costs little (`studies.ablation`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import count

from harness.elasticity.cpu_limit import Answers, CpuLimit, crowded
from harness.elasticity.law import NO_LAYOUT, Decision, Law, Reading, Setting
from harness.elasticity.statistics import RunningStatistics
from harness.elasticity.threads.pace import Pace

DOUBLING_PRICE = 0.012  # price of a doubling of the level, in log throughput
TWO_STEP_LOSS = math.log(1.0 / 0.90)  # in log throughput
ONE_STEP_LOSS = math.log(1.0 / 0.74)  # in log throughput
MIN_LOOK_GAIN = 0.02  # least gain in log throughput for which a look between tried levels pays
MIN_SLOPE_RATIO = 1.3  # least ratio of two levels whose values show a slope rather than noise
CONFIRMING_PERIODS = 4  # periods in which the best level has to bring what the search saw
MAX_CHECK_ROUNDS, MAX_LEVELS_PER_ROUND = 6, 4  # of looks at close levels again
MAX_STANDARD_ERROR = 0.006  # standard error of a value, in log throughput, that is small enough
NOISE_SIGMAS = 3.0  # standard deviations beyond which a period is more than noise
LONGEST_LOOK = 4  # periods
FIRST_PAUSE, LONGEST_PAUSE = 16, 128  # periods between two looks at neighbours
NEIGHBOUR_RATIO = 1.15  # ratio of levels
LONGEST_MEMORY = 30  # periods at rest of which the expectation is about the mean

Steps = Iterator[tuple[int, str, str]]  # levels to go to, with reason and state


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
        self._looks = 1  # periods of a look
        self._target: float | None = None
        self._steps: Steps | None = None
        self._refused: tuple[int, str] | None = None  # step that the CPU limit has refused
        self._held_back = False  # True if the search was kept from a level by other processes

    def cpu_limit(self) -> CpuLimit:
        """Return a limit that grants all requests: the law keeps to the CPUs that others leave."""
        return Answers(())

    def decide(self, reading: Reading) -> Decision:
        """Return the next level of the search, or the best one at rest."""
        level, target = self.bounds.clamp(reading.threads), self._paced(reading)
        rate = reading.throughput if target is None else reading.done
        if not rate:
            return Decision(level, "no tuples: says nothing → stay", "idle")
        others = self._see_others(reading)
        if level > self._most:
            self._held_back = True
            return Decision(self._most, f"{others} → down", "crowded")
        self._level, self._value = level, math.log(rate)
        if self._steps is None or _differ(target, self._target):
            self._target, self._refused = target, None
            self._pace = None if target is None else Pace(target, float(self.set["bound"]))
            self._steps = self._run()
        if self._pace is not None:
            self._pace.see(level, reading)
        step = next(self._steps) if self._refused is None else (*self._refused, "searching")
        wanted, reason, state = self._within(step[0]), step[1], step[2]
        if others:
            reason, state = f"{others}; {reason}", "crowded"
        self._refused = None
        if wanted > level and not self.cpu.acceptable():
            self._refused = (wanted, reason)
            return Decision(level, f"{reason}, but the CPU limit refuses → stay", "refused")
        arrow = "stay" if wanted == level else "up" if wanted > level else "down"
        return Decision(wanted, f"{reason} → {arrow}", state)

    def _paced(self, reading: Reading) -> float | None:
        """Return the target of the sources, if all are paced and it is known how they do."""
        known = reading.done is not None and reading.utilisation is not None
        return reading.target if reading.target and known else None

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
        cpus = self._most if self.layout is NO_LAYOUT else min(self.layout.cpus, self._most)
        self._most = self.bounds.clamp(int(cpus * (1.0 - min(others, 1.0)) + 1e-9))
        return f"others have {others:.0%} of the CPUs, which leaves {self._most} threads"

    def _within(self, level: int) -> int:
        self._held_back |= self._most < min(level, self.bounds.maximum)
        return max(self.bounds.minimum, min(self._most, level))

    # -- the course --------------------------------------------------------------------------------

    def _run(self) -> Steps:
        """Yield a level for each period, for ever."""
        while True:
            if self._pace is not None:
                yield from self._pace.steps(lambda: range(self.bounds.minimum, self._most + 1))
            self._seen = {self._level: RunningStatistics()}
            self._seen[self._level].add(self._value)
            yield from self._ladder(self._level, 2.0)
            yield from self._ladder(next(iter(self._seen)), 0.5)
            yield from self._bracket()
            if (yield from self._is_late()) or (yield from self._check()):
                self._looks = min(self._looks + 1, LONGEST_LOOK)
                continue
            yield from self._bracket()
            yield from self._check()
            if (
                self._pace is None
                or self._pace.enough(range(self.bounds.minimum, self._most + 1)) is None
            ):
                yield from self._rest()

    def _look(self, level: int, reason: str) -> Steps:
        """Go to a level until it has taken effect, and add what it brings."""
        for _ in range(1 if level == self._level else self._looks):
            yield level, reason, "searching"
        self._seen.setdefault(self._level, RunningStatistics()).add(self._value)

    def _worth(self, level: int) -> float:
        return self._seen[level].mean - DOUBLING_PRICE * math.log2(level)

    def _best(self) -> int:
        return max(self._seen, key=self._worth)

    def _ladder(self, start: int, factor: float) -> Steps:
        level, failed = start, 0
        while failed < 2:
            level, before = self._within(round(level * factor)), level
            if level == before:
                return
            yield from self._look(level, f"{level} is {'twice' if factor > 1 else 'half'} {before}")
            if level not in self._seen:  # the engine did not take the level
                return
            loss = self._worth(self._best()) - self._worth(level)
            failed = 2 if loss > ONE_STEP_LOSS else failed + 1 if loss > TWO_STEP_LOSS else 0

    def _bracket(self) -> Steps:
        while (hope := max(self._above(), self._below())) > (MIN_LOOK_GAIN, 0):
            gain, level = hope
            yield from self._look(level, f"{level} may bring {gain:.0%} over {self._best()}")
            if level not in self._seen:
                return

    def _slope(self, low: int, high: int) -> float:
        return (self._worth(high) - self._worth(low)) / math.log(high / low)

    def _rise(self, level: int) -> float:
        """Return the slope towards a tried level from below; proportional if none is known."""
        lower = [each for each in self._seen if each < level]
        far = [each for each in lower if each * MIN_SLOPE_RATIO <= level] or lower
        return max(self._slope(max(far), level), self._slope(max(lower), level)) if lower else 1.0

    def _above(self) -> tuple[float, int]:
        """Return the gain that a level between the best and the next higher one promises."""
        best = self._best()
        above = min((each for each in self._seen if each > best), default=best)
        if above - best < 2:
            return 0.0, 0
        level = min(max(round(math.sqrt(best * above)), best + 1), above - 1)
        return self._rise(best) * math.log(level / best), level

    def _below(self) -> tuple[float, int]:
        """Return the gain that a level between the best and the next lower one promises."""
        best = self._best()
        below = max((each for each in self._seen if each < best), default=best)
        far = [each for each in self._seen if each >= best * MIN_SLOPE_RATIO]
        rise, fall = self._rise(below), min(self._slope(best, min(far)), 0.0) if far else -1.0
        if best - below < 2 or rise <= fall:
            return 0.0, 0
        width, higher = math.log(best / below), self._worth(best) - self._worth(below)
        meet = min(max((higher - fall * width) / (rise - fall), 0.0), width)  # from `below` on
        level = min(max(round(below * math.exp(meet)), below + 1), best - 1)
        away = math.log(level / below)
        return min(rise * away - higher, fall * (away - width)), level

    def _is_late(self) -> Steps:
        """Stay at the best level; return True if it does not bring what the search saw."""
        best, odd = self._best(), 0.0
        seen = self._seen[best].mean
        for _ in range(CONFIRMING_PERIODS if self._looks < LONGEST_LOOK else 0):
            yield from self._look(best, f"{best} is the best")
            off, before = self._value - seen, odd
            odd = off if abs(off) > math.log1p(float(self.set["change"])) else 0.0
            if odd * before > 0.0:
                return True
        return False

    def _check(self) -> Steps:
        """Look again at levels that noise may have put in the wrong order; return True if one of
        them brings something else than before."""
        for _ in range(MAX_CHECK_ROUNDS):
            repeated = [each for each in self._seen.values() if each.count > 1]
            freedom = sum(each.count - 1 for each in repeated)
            noise = math.sqrt(sum(each.squares for each in repeated) / freedom) if freedom else 0.0
            error = {level: noise / math.sqrt(self._seen[level].count) for level in self._seen}
            best = self._best()
            close = [
                level
                for level in sorted(self._seen, key=self._worth, reverse=True)[
                    :MAX_LEVELS_PER_ROUND
                ]
                if self._worth(best) - self._worth(level)
                <= max(MIN_LOOK_GAIN, 2.0 * math.hypot(error[level], error[best]))
            ]
            again = [level for level in close if error[level] > MAX_STANDARD_ERROR]
            if len(close) < 2 or not again:
                return False
            for level in again:
                before = self._seen[level].mean
                yield from self._look(level, f"{level} may be as good as {best}")
                if abs(self._value - before) > ONE_STEP_LOSS and self._looks < LONGEST_LOOK:
                    return True
        return False

    def _rest(self) -> Steps:
        """Stay at the best level until another load, or a better neighbour, is seen."""
        level, odd, pause, direction = self._best(), 0.0, FIRST_PAUSE, 1
        for _ in range(self._looks):
            yield level, f"{level} is the best", "settled" if level == self._level else "searching"
        expected, calm, look_at = self._seen[level].mean, RunningStatistics(), pause
        for period in count(1):
            off, before = self._value - expected, odd
            spread = NOISE_SIGMAS * calm.deviation() if calm.count > CONFIRMING_PERIODS else 0.0
            odd = off if abs(off) > max(math.log1p(float(self.set["change"])), spread) else 0.0
            if odd * before > 0.0:
                yield level, f"{math.expm1(min(off, 9.0)):+.0%} twice: another load", "searching"
                return
            if odd:
                yield level, f"{math.expm1(min(off, 9.0)):+.0%}: a burst, or another load?", "noise"
                continue
            calm.add(self._value)
            expected += off / min(calm.count + 1, LONGEST_MEMORY)
            if period < look_at:
                yield level, "as expected", "settled"
                continue
            far = round(level * NEIGHBOUR_RATIO**direction)
            there = self._within(max(level + 1, far) if direction > 0 else min(level - 1, far))
            pause, direction = min(2 * pause, LONGEST_PAUSE), -direction
            look_at = period + pause
            if there == level:
                yield level, "as expected", "settled"
                continue
            yield from self._look(there, f"is {there} better by now?")
            better = self._value - DOUBLING_PRICE * math.log2(there / level) - expected
            if better > max(MIN_LOOK_GAIN, 2.0 * calm.deviation()) and self._level == there:
                return
            for _ in range(self._looks):
                yield level, f"{there} is not better than {level}", "searching"


def _differ(target: float | None, before: float | None) -> bool:
    """Return True if the target of the sources has changed by more than a percent."""
    if target is None or before is None:
        return target is not before
    return abs(target - before) > 0.01 * before


LAW = MillraceThreads
