"""Millrace's own law: a Bayesian search for the level with the highest throughput, at the lowest
cost of the search.

After each period the law knows the odds of every curve of a family (`scaling`, `belief`). Let

  U(n) = log throughput(n) - LEVEL_PRICE log2 n

Because of the price the law prefers fewer threads among levels of equal throughput. The *best*
level is the measured one with the highest E[U]. A *look* is a period at another level, to learn
about it. A look at level n is worth

  gain(n) - cost(n) = E[max(0, U(n) - U(best))] - E[max(0, U(best) - U(n))] / HORIZON

which is the expected improvement of Bayesian optimisation (Mockus 1978; Jones, Schonlau and Welch
1998), curve by curve, less the cost of a period there. While that is more than `tolerance` for some
level the law goes there, else it settles on the best. It looks no higher than `FEW` threads or
twice a level that is almost surely not too high, so that it does not use many threads where few are
enough. Before it settles it may look at twice the best level, if that promises `BOLD`. In one step
it goes no lower than a third of its level.

After it has settled it watches the load. Two periods in a row that differ by more than `change`,
and by more than noise explains, are another load. If the law knows the load by its throughput, it
returns to the level that was best then. Otherwise it searches again, with even odds that the curve
has kept its shape. One period alone is a burst. A period without tuples, or in which other
processes have the CPUs, does not count; but in such a crowd the law leaves a look at many threads.

The real curve need not be one of the family. So before it settles the law checks its measured
levels. It looks above the highest if throughput rose on the way to it. It looks between the best
and a neighbour if the lines from both sides meet `GAP` higher than the measurements. It does not
settle beside a gap towards which throughput rises.

If all sources are paced, the law looks for the fewest threads that keep up, within a bound on
latency if one is set (`pace`). If no level is likely to be enough, it looks for the highest
throughput, as without a pace.

The constants below, those that our laws share, and the odds in `scaling` and `belief` were chosen
on the kinds of curves of the SASO bench that are not held out, with other noise than it is run
with.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from harness.elasticity.cpu_limit import CpuLimit, LeaveToOthers, crowded
from harness.elasticity.law import Decision, Law, Reading, Setting
from harness.elasticity.millrace_constants import (
    HORIZON,
    LEARNING_PERIODS,
    LOAD_CHANGE_SIGMAS,
    MAX_PRINTED_LOG_RATIO,
)
from harness.elasticity.threads.belief import Belief
from harness.elasticity.threads.pace import Pace
from harness.elasticity.threads.scaling import Vector, family

LEVEL_PRICE = 0.016  # price of a doubling of the level, as a share of throughput
# highest level to look at, as a multiple of the level that the best one is surely not below
REACH = 2
DOUBT = 0.003  # odds that the best one is below that level all the same
# Level up to which the law may always look. Threads begin to share with the second one, so it may
# bring nothing while further ones bring much.
FEW = 4
# gain, as a share of throughput, for which the law looks at up to twice the best level before it
# settles
BOLD = 0.02
# gain, as a share of throughput, that a gap between measured levels must promise for a look
GAP = 0.03
# Least ratio of the highest measured level to a lower one by which the law judges if throughput
# still rises.
MIN_LEVEL_RATIO = 1.3
RISE_SIGMAS = 2.0  # standard deviations beyond which the difference of two levels is no noise
# ratio of levels that one step down covers at most; a look at very few threads costs more than it
# shows
STRIDE = 3
LOOKS_UNTIL_THRESHOLD_DOUBLES = 8.0  # looks after which the next one has to promise twice as much
SETTLED_FACTOR = 2.5  # factor by which a look has to promise more once the law has settled
SAME_SHAPE = 0.5  # odds that a curve keeps its shape when the load changes
RECALLS = 16  # number of loads that the law remembers
WIDE = 1.5  # ratio of measured levels whose gap the law looks into before it settles below a target
SAME_TARGET = 0.01  # difference, as a share of a target, up to which a target counts as the same


@dataclass(frozen=True)
class Load:
    """Memory of a load: the belief, the level at which the law settled, and its throughput."""

    belief: Belief
    level: int
    expected: float  # logarithm of throughput
    deviation: float  # its standard deviation from period to period

    def explains(self, level: int, value: float) -> bool:
        """Return True if a logarithm of throughput at a level is as expected under this load."""
        expected = self.expected if level == self.level else self.belief.expected(level)
        return abs(value - expected) < max(math.log(1.05), 2.5 * self.deviation)


class Millrace(Law):
    """Millrace's law of threads, as the module describes it."""

    name = "millrace"
    summary = "Bayesian search over a family of scaling curves, with memory: our own"
    USES = frozenset(("target", "done", "utilisation", "latency_s"))
    SETTINGS = (
        Setting(
            "tolerance",
            0.002,
            0.0001,
            0.5,
            "of throughput",
            "expected gain for which it looks at another level",
        ),
        Setting(
            "change",
            0.15,
            0.01,
            10.0,
            "of throughput",
            "least difference that counts as another load",
        ),
        Setting(
            "cpu_limit",
            0.8,
            0.0,
            1.0,
            "of the CPUs",
            "use above which it does not climb while others need them too",
        ),
        Setting(
            "bound",
            0.0,
            0.0,
            1e6,
            "s",
            "mean latency that tuples of paced sources shall not exceed; 0: any",
        ),
    )

    def begin(self) -> None:
        """Begin with the prior odds of the family."""
        self._family = family(self.bounds.maximum)
        self._levels = np.array(self._family.levels)
        self._allowed = (self._levels >= self.bounds.minimum) | (
            self._levels == self._nearest(self.bounds.minimum)
        )
        self._loads: list[Load] = []
        self._pace: Pace | None = None
        self._begin(Belief(self._family, self._family.prior))

    def cpu_limit(self) -> CpuLimit:
        """Return a limit that leaves the CPUs to other processes."""
        return LeaveToOthers(float(self.set["cpu_limit"]))

    def decide(self, reading: Reading) -> Decision:
        """Return the next level."""
        here = self.bounds.clamp(reading.threads)
        level = self._nearest(here)
        target, reason, state = self._step(level, reading)
        return Decision(here if target == level else self.bounds.clamp(target), reason, state)

    def _step(self, level: int, reading: Reading) -> tuple[int, str, str]:
        """Return the next level, reason and state; levels are those of the family."""
        if reading.throughput <= 0.0 or (reading.target is not None and reading.done == 0.0):
            return level, "no tuples: says nothing → stay", "idle"
        if reading.others_cpu is not None and crowded(
            float(self.set["cpu_limit"]), reading.system_cpu, reading.others_cpu
        ):
            return self._make_room(level, reading.others_cpu)
        self._see_pace(reading)
        value = math.log(
            reading.throughput if self._pace is None else self._pace.can_do(level, reading)
        )
        if self._settled == level:
            doubt = self._watch(level, value)
            if doubt is not None:
                return doubt
        learnt = self._settled == level and self._still > LEARNING_PERIODS
        if learnt and self._pace is None:
            return level, "as expected → stay", "settled"
        if not learnt:
            self._belief.add(level, value)
        return self._choose(level)

    def _see_pace(self, reading: Reading) -> None:
        """Take the target of the sources.

        Another target leaves the belief about the threads as it is. A change between paced and not
        paced sources resets it.
        """
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
        """Return the best measured level up to this one, unless the law has settled, while others
        have the CPUs."""
        reason = f"others have {others_cpu:.0%} of the CPUs: says nothing"
        known = [each for each in self._belief.measured if each <= level]
        if self._settled is None and known:
            best = max(
                known, key=lambda each: self._belief.expected(each) - LEVEL_PRICE * math.log2(each)
            )
            if best < level:
                return best, f"{reason}, and {best} is the best so far → down", "crowded"
        return level, f"{reason} → stay", "crowded"

    def _nearest(self, level: int) -> int:
        """Return the nearest level of the family, which does not have all of the large levels."""
        return int(self._levels[np.argmin(np.abs(self._levels - level))])

    # -- searching ---------------------------------------------------------------------------------

    def _begin(self, belief: Belief) -> None:
        self._belief = belief
        self._settled: int | None = None
        self._looks = 0
        # True while no period has confirmed that the load is the remembered one
        self._recalled = False

    def _choose(self, level: int) -> tuple[int, str, str]:
        """Look at another level, or settle on the best measured one."""
        enough = (
            None
            if self._pace is None
            else self._pace.choose(self._belief, self._levels, self._allowed)
        )
        if enough is not None:
            return self._keep_pace(level, int(self._levels[enough]))
        odds = self._belief.odds
        # level x curve
        utility = self._belief.values - LEVEL_PRICE * np.log2(self._levels)[:, None]
        expected = utility @ odds
        best = max(self._belief.places(), key=lambda place: expected[place])
        gain = np.maximum(utility - utility[best], 0.0) @ odds
        # E[max(0, -x)] = E[max(0, x)] - E[x]
        worth = gain - (gain - (expected - expected[best])) / HORIZON
        best_level = self._belief.focus = int(self._levels[best])
        threshold = float(self.set["tolerance"]) * (
            1.0 + self._looks / LOOKS_UNTIL_THRESHOLD_DOUBLES
        )
        threshold *= SETTLED_FACTOR if self._settled is not None else 1.0
        worth[~self._allowed | (self._levels * STRIDE < level)] = -np.inf
        worth[best] = 0.0
        look = int(
            np.argmax(np.where(self._levels <= self._reach(utility, odds, level), worth, -np.inf))
        )
        if worth[look] <= threshold:  # the law would settle, perhaps only out of caution
            bold = int(np.argmax(np.where(self._levels <= REACH * best_level, worth, -np.inf)))
            look = bold if worth[bold] > BOLD else look
        between = self._gap(best_level, max(GAP, threshold)) if worth[look] <= threshold else None
        untried = (
            self._untried(self._pace.target)
            if worth[look] <= threshold and self._pace is not None
            else None
        )
        if between is not None:
            target, hope = between
            why, state = (
                f"may bring {hope:.1%} over {best_level}, if throughput goes on as it rose",
                "searching",
            )
        elif untried is not None:
            target, why, state = (
                untried,
                "is untried, and no level is known to be enough",
                "searching",
            )
        elif worth[look] > threshold:
            target, why, state = (
                int(self._levels[look]),
                f"may bring {gain[look]:.1%} over {best_level}",
                "searching",
            )
        else:
            target, why, state = (
                best_level,
                f"no other level promises {threshold:.1%} more",
                "settled",
            )
        if target > level and not self.cpu.acceptable():
            return level, f"{target} {why}, but the CPU limit refuses → stay", "refused"
        if target == level and state == "settled":
            self._settle(level)
            return level, f"{why} → stay", state
        self._settled = None
        self._looks += 1
        return (
            target,
            f"{target} {why} → {'up' if target > level else 'down' if target < level else 'once more'}",
            state,
        )

    def _keep_pace(self, level: int, enough: int) -> tuple[int, str, str]:
        """Go to, or stay at, the lowest level that is probably enough."""
        self._belief.focus = enough
        catches_up = self._pace is not None and self._pace.catches_up
        why = f"{enough} threads are likely to {'catch up' if catches_up else 'be enough'}"
        if enough == level:
            self._settle(level)
            return level, f"{why} → stay", "learning" if catches_up else "settled"
        if enough > level and not self.cpu.acceptable():
            return level, f"{why}, but the CPU limit refuses → stay", "refused"
        self._settled = None
        return (
            enough,
            f"{why} → {'up' if enough > level else 'down'}",
            "climbing" if enough > level else "descending",
        )

    def _gap(self, best: int, least: float) -> tuple[int, float] | None:
        """Return a level beside the best one for which two lines promise more than `least`, and the
        promise; None if none is.

        Between two neighbouring measured levels, the curve is extended from both sides, in
        logarithms, until the lines meet. No curve of the family need look like that.
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
        """Return a level in the widest gap between measured levels, or above them, that may bring
        `least`; None if none is.

        A level may bring it if each of its threads need not bring more than any thread has brought.
        """
        seen, top = sorted(self._belief.measured), int(self._levels[-1])
        each = max(
            math.exp(measured.mean) / level for level, measured in self._belief.measured.items()
        )
        gaps = [
            (high / low, self._nearest(round(math.sqrt(low * high))))
            for low, high in pairwise(seen)
        ]
        gaps.append((top / seen[-1], self._nearest(min(REACH * seen[-1], top))))
        wide = [
            (width, middle)
            for width, middle in gaps
            if width > WIDE and middle not in seen and middle * each >= least
        ]
        return max(wide)[1] if wide else None

    def _above(self, seen: list[int]) -> tuple[int, float] | None:
        """Return twice the highest measured level and its promise, if throughput rose towards it by
        more than noise."""
        top, further = seen[-1], self._nearest(min(REACH * seen[-1], int(self._levels[-1])))
        lower = [level for level in seen if level * MIN_LEVEL_RATIO <= top]
        if not lower or further <= top:
            return None
        here, there = self._belief.measured[top], self._belief.measured[lower[-1]]
        rise = here.mean - there.mean
        if rise <= RISE_SIGMAS * self._belief.noise * math.sqrt(
            1.0 / here.count + 1.0 / there.count
        ):
            return None
        return further, math.expm1(
            min(rise * math.log(further / top) / math.log(top / lower[-1]), MAX_PRINTED_LOG_RATIO)
        )

    def _meeting(self, seen: list[int], low: int) -> tuple[int, float] | None:
        """Return the level where the lines from both sides of the gap above the `low`-th measured
        level meet, and its promise."""
        inside = [
            int(each) for each in self._levels[self._allowed] if seen[low] < each < seen[low + 1]
        ]
        if not inside:
            return None
        x, y = (lambda level: math.log(level)), (lambda level: self._belief.measured[level].mean)
        below, above = seen[low], seen[low + 1]
        across = (y(above) - y(below)) / (x(above) - x(below))
        rise = (
            (y(below) - y(seen[low - 1])) / (x(below) - x(seen[low - 1]))
            if low
            else max(across, 0.0)
        )
        fall = (
            (y(seen[low + 2]) - y(above)) / (x(seen[low + 2]) - x(above))
            if low + 2 < len(seen)
            else -rise
        )
        if rise <= 0.0 or fall >= 0.0:
            return None
        meet = (y(above) - y(below) + rise * x(below) - fall * x(above)) / (rise - fall)
        level = min(inside, key=lambda each: abs(x(each) - meet))
        top = min(y(below) + rise * (x(level) - x(below)), y(above) + fall * (x(level) - x(above)))
        return level, math.expm1(min(top - max(y(below), y(above)), MAX_PRINTED_LOG_RATIO))

    def _reach(self, utility: Vector, odds: Vector, level: int) -> int:
        """Return the highest level to look at."""
        tops = np.argmax(np.where(self._allowed[:, None], utility, -np.inf), axis=0)
        below = np.cumsum(np.bincount(tops, weights=odds, minlength=len(self._levels)))
        sure = int(self._levels[min(int(np.searchsorted(below, DOUBT)), len(self._levels) - 1)])
        return max(
            REACH * max(min(sure, max(self._belief.measured)), self.bounds.minimum), FEW, level
        )

    # -- settled -----------------------------------------------------------------------------------

    def _settle(self, level: int) -> None:
        if self._settled == level:
            return
        self._settled = level
        self._still = 0
        self._suspect: float | None = None
        self._expected, self._deviation = self._belief.measured[level].mean, self._belief.noise

    def _watch(self, level: int, value: float) -> tuple[int, str, str] | None:
        """Return the answer to a period that differs; None if it is as expected, which refines the
        expectation."""
        off = value - self._expected
        if abs(off) <= max(
            math.log1p(float(self.set["change"])), LOAD_CHANGE_SIGMAS * self._deviation
        ):
            self._suspect = None
            self._recalled = False
            self._still += 1
            share = max(1.0 / (self._still + 1.0), 0.03)
            self._expected += share * off
            self._deviation = math.sqrt((1.0 - share) * self._deviation**2 + share * off**2)
            return None
        before, self._suspect = self._suspect, value
        if before is None or (before - self._expected) * off < 0.0:
            return (
                level,
                f"{math.expm1(min(off, MAX_PRINTED_LOG_RATIO)):+.0%}: a burst, or another load? → stay",
                "noise",
            )
        return self._changed(level, before, value)

    def _changed(self, level: int, *values: float) -> tuple[int, str, str]:
        """Return the answer to another load, which is a remembered one or a new one."""
        shape = self._belief
        self._loads = [load for load in self._loads if load.belief is not shape][1 - RECALLS :]
        known = [load for load in self._loads if load.explains(level, sum(values) / len(values))]
        self._loads.append(Load(shape, level, self._expected, self._deviation))
        if self._pace is not None:
            known, self._pace = [], Pace(float(self.set["bound"]), self._pace.target)
        if known and not self._recalled:  # a wrong recall must not lead to a chain of recalls
            return self._recall(level, known[-1])
        odds = SAME_SHAPE * shape.odds_of_all() + (1.0 - SAME_SHAPE) * self._family.prior
        self._begin(Belief(self._family, odds))
        for value in values:
            self._belief.add(level, value)
        target, reason, state = self._choose(level)
        return target, f"another load: {reason}", state

    def _recall(self, level: int, load: Load) -> tuple[int, str, str]:
        """Go to the level of a remembered load; after a refusal, ask again in each period that
        shows the load."""
        why = f"load as before, when {load.level} was best"
        if load.level > level and not self.cpu.acceptable():
            return level, f"{why}, but the CPU limit refuses → stay", "refused"
        self._begin(load.belief)
        self._settle(load.level)
        self._still, self._expected, self._deviation, self._recalled = (
            LEARNING_PERIODS,
            load.expected,
            load.deviation,
            True,
        )
        return load.level, f"{why} → there", "settled"


LAW = Millrace
