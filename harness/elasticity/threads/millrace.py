"""Millrace's own law: a Bayesian search for the level that brings the most, which costs as little as it can.

After each period the law knows the odds of every curve of a family (`scaling`, `belief`). With

  U(n) = log throughput(n) - PRICE log2 n

where the price makes it prefer fewer threads among levels that bring the same, the *best* level is the one of highest E[U]
among those that it has been at. Another level n is worth a look by

  gain(n) - cost(n) = E[max(0, U(n) - U(best))] - E[max(0, U(best) - U(n))] / HORIZON

the expected improvement of Bayesian optimisation (Mockus 1978; Jones, Schonlau and Welch 1998), curve by curve, less what a
period there costs. While that is more than `tolerance` for some level the law goes there, else it settles on the best. It does
not look further up than `FEW` threads or twice a level that is almost surely not too high already, so it does not use many
threads where few do; only before it settles, and for much, does twice the best level do. Nor does it look further down at once
than a third of where it is.

Settled, it watches the load. Two periods in a row that are off by more than `change`, and by more than the noise explains,
are another load: one that it knows by its throughput, and it goes back to the level that was best then; or a new one, and it
searches again, with even odds that the curve has kept its shape. One period alone is a burst. A period without tuples, or in
which others have the CPUs, says nothing; but such others do not keep it at a look at many threads.

No real curve need be one of the family. So before it settles it looks once more at the levels that it has measured: above the
highest, if throughput rose on the way to it; and between two of them that are beside the best, if the lines from both sides
meet `GAP` higher than what was measured. It does not settle beside a gap towards which throughput rises.

Where all sources are paced, it looks for the fewest threads that keep up, within a bound on latency if one is set (`pace`).
Only where no level is likely to be enough does it look for the most that threads can do, as without a pace.

PRICE, HORIZON and the other numbers below, and the odds in `scaling` and `belief`, were chosen on those kinds of the SASO
bench's curves that do not only score, with other noise than it is run with; FEW, BOLD and GAP with the same.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from harness.elasticity.cpu_limit import CpuLimit, LeaveToOthers, crowded
from harness.elasticity.law import Decision, Law, Reading, Setting
from harness.elasticity.threads.belief import Belief
from harness.elasticity.threads.pace import Pace
from harness.elasticity.threads.scaling import Vector, family

PRICE = 0.016  # of a doubling of the level, as a share of throughput
HORIZON = 50.0  # periods over which a look has to pay
REACH = 2  # times the level that the best one is surely not below: how far up it looks
DOUBT = 0.003  # odds that it is below all the same
FEW = 4  # threads that it may look at always: with the second one they begin to share, so it may bring nothing, and more much
BOLD = 0.02  # of throughput: for so much it looks twice as far up as the best level, sure or not, before it settles
GAP = 0.03  # of throughput: what a gap between measured levels must promise to be looked into
APART = 1.3  # times lower: how far below the highest level another one must be to tell whether throughput rises towards it
SURELY = 2.0  # standard deviations of the difference of two levels that are no noise
STRIDE = 3  # times lower: how far down it looks at once; a look at very few threads costs more than it tells
TIRES = 8.0  # looks after which the next one has to promise twice as much
HOLDS = 2.5  # times as much it has to promise once the law has settled
LEARNS = 9  # settled periods that still count as measurements; from then on only a change of load moves the law
SAME_SHAPE = 0.5  # odds that a curve keeps its shape when the load changes
DISTINCT = 4.0  # standard deviations that are more than noise
RECALLS = 16  # loads
WIDE = 1.5  # times: a gap between measured levels that it looks into before it is content with less than a target
SAME_TARGET = 0.01  # of a target: differences that make no other one
UNTOLD = 12.0  # logarithm of a ratio beyond which nobody wants to read it exactly


@dataclass(frozen=True)
class Load:
    """What the law remembers of a load: what it believed, where it settled, and what that brought."""

    belief: Belief
    level: int
    expected: float  # logarithm of throughput
    deviation: float  # its standard deviation from period to period

    def explains(self, level: int, value: float) -> bool:
        """Whether a logarithm of throughput at a level is what it would be under this load."""
        expected = self.expected if level == self.level else self.belief.expected(level)
        return abs(value - expected) < max(math.log(1.05), 2.5 * self.deviation)


class Millrace(Law):
    """See the module."""

    name = "millrace"
    summary = "Bayesian search over a family of scaling curves, with memory: our own"
    USES = frozenset(("target", "done", "utilisation", "latency_s"))
    SETTINGS = (
        Setting("tolerance", 0.002, 0.0001, 0.5, "of throughput", "expected gain for which it looks at another level"),
        Setting("change", 0.15, 0.01, 10.0, "of throughput", "least difference that counts as another load"),
        Setting("cpu_limit", 0.8, 0.0, 1.0, "of the CPUs", "use above which it does not climb while others need them too"),
        Setting("bound", 0.0, 0.0, 1e6, "s", "mean latency that tuples of paced sources shall not exceed; 0: any"),
    )

    def begin(self) -> None:
        """As every law."""
        self._family = family(self.bounds.maximum)
        self._levels = np.array(self._family.levels)
        self._allowed = (self._levels >= self.bounds.minimum) | (self._levels == self._nearest(self.bounds.minimum))
        self._loads: list[Load] = []
        self._pace: Pace | None = None
        self._begin(Belief(self._family, self._family.prior))

    def cpu_limit(self) -> CpuLimit:
        """Others come first."""
        return LeaveToOthers(float(self.set["cpu_limit"]))

    def decide(self, reading: Reading) -> Decision:
        """What to do after a period."""
        here = self.bounds.clamp(reading.threads)
        level = self._nearest(here)
        target, reason, state = self._step(level, reading)
        return Decision(here if target == level else self.bounds.clamp(target), reason, state)

    def _step(self, level: int, reading: Reading) -> tuple[int, str, str]:
        """Level, reason, state; levels are those of the family."""
        if reading.throughput <= 0.0 or (reading.target is not None and reading.done == 0.0):
            return level, "no tuples: says nothing → stay", "idle"
        if reading.others_cpu is not None and crowded(float(self.set["cpu_limit"]), reading.system_cpu, reading.others_cpu):
            return self._make_room(level, reading.others_cpu)
        self._see_pace(reading)
        value = math.log(reading.throughput if self._pace is None else self._pace.can_do(level, reading))
        if self._settled == level:
            doubt = self._watch(level, value)
            if doubt is not None:
                return doubt
        learnt = self._settled == level and self._still > LEARNS
        if learnt and self._pace is None:
            return level, "as expected → stay", "settled"
        if not learnt:
            self._belief.add(level, value)
        return self._choose(level)

    def _see_pace(self, reading: Reading) -> None:
        """What the sources are to send. Another target does not change what threads can do; to have none does."""
        paced = bool(reading.target and reading.done) and reading.utilisation is not None
        before = self._pace.target if self._pace is not None else None
        if not paced and before is None:
            return
        if paced and before is not None and abs(reading.target - before) <= SAME_TARGET * before:
            return
        if paced != (before is not None):
            self._begin(Belief(self._family, self._family.prior))
        self._settled = None
        self._pace = Pace(float(self.set["bound"]), reading.target) if paced else None

    def _make_room(self, level: int, others_cpu: float) -> tuple[int, str, str]:
        """While others have the CPUs it does not stay at a look, but at the best known level that is no higher."""
        reason = f"others have {others_cpu:.0%} of the CPUs: says nothing"
        known = [each for each in self._belief.measured if each <= level]
        if self._settled is None and known:
            best = max(known, key=lambda each: self._belief.expected(each) - PRICE * math.log2(each))
            if best < level:
                return best, f"{reason}, and {best} is the best so far → down", "crowded"
        return level, f"{reason} → stay", "crowded"

    def _nearest(self, level: int) -> int:
        """The level of the family next to one: it does not have all of the large ones."""
        return int(self._levels[np.argmin(np.abs(self._levels - level))])

    # -- searching ----------------------------------------------------------------------------------------------------------

    def _begin(self, belief: Belief) -> None:
        self._belief = belief
        self._settled: int | None = None
        self._looks = 0
        self._recalled = False  # the load is one that was known, and no period has shown yet that it is that one

    def _choose(self, level: int) -> tuple[int, str, str]:
        """Look at another level, or settle on the best of those that it has been at."""
        enough = None if self._pace is None else self._pace.choose(self._belief, self._levels, self._allowed)
        if enough is not None:
            return self._keep_pace(level, int(self._levels[enough]))
        odds = self._belief.odds
        utility = self._belief.values - PRICE * np.log2(self._levels)[:, None]  # level x curve
        expected = utility @ odds
        best = max(self._belief.places(), key=lambda place: expected[place])
        gain = np.maximum(utility - utility[best], 0.0) @ odds
        worth = gain - (gain - (expected - expected[best])) / HORIZON  # E[max(0, -x)] = E[max(0, x)] - E[x]
        best_level = self._belief.focus = int(self._levels[best])
        threshold = float(self.set["tolerance"]) * (1.0 + self._looks / TIRES) * (HOLDS if self._settled is not None else 1.0)
        worth[~self._allowed | (self._levels * STRIDE < level)] = -np.inf
        worth[best] = 0.0
        look = int(np.argmax(np.where(self._levels <= self._reach(utility, odds, level), worth, -np.inf)))
        if worth[look] <= threshold:  # it would settle: by caution, or because there is nothing further up?
            bold = int(np.argmax(np.where(self._levels <= REACH * best_level, worth, -np.inf)))
            look = bold if worth[bold] > BOLD else look
        between = self._gap(best_level, max(GAP, threshold)) if worth[look] <= threshold else None
        untried = self._untried(self._pace.target) if worth[look] <= threshold and self._pace is not None else None
        if between is not None:
            target, hope = between
            why, state = f"may bring {hope:.1%} over {best_level}, if throughput goes on as it rose", "searching"
        elif untried is not None:
            target, why, state = untried, "is untried, and no level is known to be enough", "searching"
        elif worth[look] > threshold:
            target, why, state = int(self._levels[look]), f"may bring {gain[look]:.1%} over {best_level}", "searching"
        else:
            target, why, state = best_level, f"no other level promises {threshold:.1%} more", "settled"
        if target > level and not self.cpu.acceptable():
            return level, f"{target} {why}, but the CPU limit refuses → stay", "refused"
        if target == level and state == "settled":
            self._settle(level)
            return level, f"{why} → stay", state
        self._settled = None
        self._looks += 1
        return target, f"{target} {why} → {'up' if target > level else 'down' if target < level else 'once more'}", state

    def _keep_pace(self, level: int, enough: int) -> tuple[int, str, str]:
        """Where there are probably enough threads, and as few as can be."""
        self._belief.focus = enough
        catches_up = self._pace is not None and self._pace.catches_up
        why = f"{enough} threads are likely to {'catch up' if catches_up else 'be enough'}"
        if enough == level:
            self._settle(level)
            return level, f"{why} → stay", "learning" if catches_up else "settled"
        if enough > level and not self.cpu.acceptable():
            return level, f"{why}, but the CPU limit refuses → stay", "refused"
        self._settled = None
        return enough, f"{why} → {'up' if enough > level else 'down'}", "climbing" if enough > level else "descending"

    def _gap(self, best: int, least: float) -> tuple[int, float] | None:
        """A level that was not measured, beside the best one, which two lines promise to bring more than `least`; and how much.

        Between two measured levels without one between them, the curve is taken to go on as it did outside of them, in
        logarithms: it rises from the lower one and from the higher one, and the lines meet. No curve of the family need be so.
        """
        seen = sorted(self._belief.measured)
        if best not in seen:
            return None
        at = seen.index(best)
        found = [self._meeting(seen, low) for low in (at - 1, at) if 0 <= low < len(seen) - 1]
        if at == len(seen) - 1:
            found.append(self._above(seen))
        hopes = [each for each in found if each is not None and each[1] > least]
        return max(hopes, key=lambda each: each[1], default=None)

    def _untried(self, least: float) -> int | None:
        """A level in the widest gap between those that were measured, or above them, that may bring `least`.

        It may unless each of its threads had to bring more than any thread has brought.
        """
        seen, top = sorted(self._belief.measured), int(self._levels[-1])
        each = max(math.exp(measured.mean) / level for level, measured in self._belief.measured.items())
        gaps = [(high / low, self._nearest(round(math.sqrt(low * high)))) for low, high in pairwise(seen)]
        gaps.append((top / seen[-1], self._nearest(min(REACH * seen[-1], top))))
        wide = [(width, middle) for width, middle in gaps if width > WIDE and middle not in seen and middle * each >= least]
        return max(wide)[1] if wide else None

    def _above(self, seen: list[int]) -> tuple[int, float] | None:
        """Twice the highest measured level, if throughput rose on the way to it by more than noise; what that promises."""
        top, further = seen[-1], self._nearest(min(REACH * seen[-1], int(self._levels[-1])))
        lower = [level for level in seen if level * APART <= top]
        if not lower or further <= top:
            return None
        here, there = self._belief.measured[top], self._belief.measured[lower[-1]]
        rise = here.mean - there.mean
        if rise <= SURELY * self._belief.noise * math.sqrt(1.0 / here.count + 1.0 / there.count):
            return None
        return further, math.expm1(min(rise * math.log(further / top) / math.log(top / lower[-1]), UNTOLD))

    def _meeting(self, seen: list[int], low: int) -> tuple[int, float] | None:
        """Where the lines from both sides of the gap behind the `low`-th measured level meet; and what that promises."""
        inside = [int(each) for each in self._levels[self._allowed] if seen[low] < each < seen[low + 1]]
        if not inside:
            return None
        x, y = (lambda level: math.log(level)), (lambda level: self._belief.measured[level].mean)
        below, above = seen[low], seen[low + 1]
        across = (y(above) - y(below)) / (x(above) - x(below))
        rise = (y(below) - y(seen[low - 1])) / (x(below) - x(seen[low - 1])) if low else max(across, 0.0)
        fall = (y(seen[low + 2]) - y(above)) / (x(seen[low + 2]) - x(above)) if low + 2 < len(seen) else -rise
        if rise <= 0.0 or fall >= 0.0:
            return None
        meet = (y(above) - y(below) + rise * x(below) - fall * x(above)) / (rise - fall)
        level = min(inside, key=lambda each: abs(x(each) - meet))
        top = min(y(below) + rise * (x(level) - x(below)), y(above) + fall * (x(level) - x(above)))
        return level, math.expm1(min(top - max(y(below), y(above)), UNTOLD))

    def _reach(self, utility: Vector, odds: Vector, level: int) -> int:
        """The highest level to look at."""
        tops = np.argmax(np.where(self._allowed[:, None], utility, -np.inf), axis=0)
        below = np.cumsum(np.bincount(tops, weights=odds, minlength=len(self._levels)))
        sure = int(self._levels[min(int(np.searchsorted(below, DOUBT)), len(self._levels) - 1)])
        return max(REACH * max(min(sure, max(self._belief.measured)), self.bounds.minimum), FEW, level)

    # -- settled ------------------------------------------------------------------------------------------------------------

    def _settle(self, level: int) -> None:
        if self._settled == level:
            return
        self._settled = level
        self._still = 0
        self._suspect: float | None = None
        self._expected, self._deviation = self._belief.measured[level].mean, self._belief.noise

    def _watch(self, level: int, value: float) -> tuple[int, str, str] | None:
        """Whether it is another load; if not, what to expect becomes clearer with each period."""
        off = value - self._expected
        if abs(off) <= max(math.log1p(float(self.set["change"])), DISTINCT * self._deviation):
            self._suspect = None
            self._recalled = False
            self._still += 1
            share = max(1.0 / (self._still + 1.0), 0.03)
            self._expected += share * off
            self._deviation = math.sqrt((1.0 - share) * self._deviation**2 + share * off**2)
            return None
        before, self._suspect = self._suspect, value
        if before is None or (before - self._expected) * off < 0.0:
            return level, f"{math.expm1(min(off, UNTOLD)):+.0%}: a burst, or another load? → stay", "noise"
        return self._changed(level, before, value)

    def _changed(self, level: int, *values: float) -> tuple[int, str, str]:
        """Another load: one that it knows, or a new one."""
        shape = self._belief
        self._loads = [load for load in self._loads if load.belief is not shape][1 - RECALLS :]
        known = [load for load in self._loads if load.explains(level, sum(values) / len(values))]
        self._loads.append(Load(shape, level, self._expected, self._deviation))
        if self._pace is not None:
            known, self._pace = [], Pace(float(self.set["bound"]), self._pace.target)
        if known and not self._recalled:  # a load taken for a known one that it is not must not lead from one to the next
            return self._recall(level, known[-1])
        odds = SAME_SHAPE * shape.odds_of_all() + (1.0 - SAME_SHAPE) * self._family.prior
        self._begin(Belief(self._family, odds))
        for value in values:
            self._belief.add(level, value)
        target, reason, state = self._choose(level)
        return target, f"another load: {reason}", state

    def _recall(self, level: int, load: Load) -> tuple[int, str, str]:
        """To the level of a load that is known; refused, it is asked for again in each period that shows the load."""
        why = f"load as before, when {load.level} was best"
        if load.level > level and not self.cpu.acceptable():
            return level, f"{why}, but the CPU limit refuses → stay", "refused"
        self._begin(load.belief)
        self._settle(load.level)
        self._still, self._expected, self._deviation, self._recalled = LEARNS, load.expected, load.deviation, True
        return load.level, f"{why} → there", "settled"


LAW = Millrace
