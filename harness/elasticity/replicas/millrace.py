"""Our own law of threads and replicas: it computes both at once from true rates, then checks what
they bring.

Each period gives the work w_i of each operator (`rates`): the threads that it needs for each
tuple/s of the sources. Then

  goal       the highest rate within all limits: the target with `headroom`; of an operator without
             replicas, 1 / w_i; of one with the most replicas, `able_i(most)`; of all threads,
             maximum / sum of w
  replicas   of each operator the fewest with able_i(r) at least the goal
  threads    the fewest with n / sum of w at least the goal

able_i(r) = r / (w_i (1 + s_i (r - 1))) is the rate that r replicas can do. s_i is the serial share
of their work, which follows from the growth of an operator's work since it had fewer replicas
(Amdahl 1967). So the law reaches its plan in one step, up or down, while C-Stream adds one replica
a period and removes none. The rates hold only if a change of configuration changes nothing else. So
the law then takes three further steps, each only if a measurement asks for it:

  *Again.* It measures work in the new configuration and plans again. It keeps counts that are right
  within `RATE_BAND`. *More.* If the rate stays below the goal, there is a limit that useful time
  does not show. The busiest part, an operator or the threads, gets one more. If that brings
  nothing, the law takes it back and settles. *Fewer.* If work has grown with the threads, they may
  wait for cores or memory. The law tries as few threads as the work would need without that growth,
  then half-way up. It keeps them if they bring as much.

After it has settled it watches work and rate. Two periods that differ from the expectation by
`change` are another load.

The constants were chosen on those kinds of graphs of the bench that may be used for it
(`harness.bench.replicas`).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from harness.elasticity.cpu_limit import CpuLimit, LeaveToOthers, crowded
from harness.elasticity.law import Decides, Decision, Law, Reading, Setting
from harness.elasticity.replicas.rates import ObservedFlow, Rates, Vector, replicas_of

Counts = NDArray[np.int64]

# Multiples of the goal: counts that can do less than the first are raised to the second, those that
# can do more than the third are cut to it.
RATE_BAND = (0.99, 1.0, 1.04)
# Share of the rate of the most replicas that the plan asks for: the rest would take too many
# replicas that hinder each other.
PLANNED_RATE_SHARE = 0.985
MAX_SHORTFALL = 0.03  # of the rate, as a share of the goal, beyond which the law tries more
MIN_GAIN = 0.01  # gain of the rate that one more must bring to be kept
GROWN_WORK = 1.2  # growth of the work from which fewer threads are worth a look
LOAD_CHANGE_SIGMAS = 4.0  # standard deviations beyond which a difference is more than noise
BISECTION_STEPS = 16  # bisection steps for the goal: to 0.002 % of the range
SERIAL_GROWTH = 0.05  # growth of an operator's work with its replicas that may be noise
# Least share of all work from which the growth of single operators counts for the others. The cost
# of cheaper ones may grow alone, as that of a source whose cache lines move between cores.
MIN_TELLING_SHARE = 0.01


class MillraceReplicas(Law):
    """Law of threads and replicas together, by true rates."""

    name = "millrace"
    summary = (
        "threads and replicas computed together from true rates (tuples over useful time), "
        "then checked: our own"
    )
    decides = Decides.REPLICAS
    NEEDS = frozenset(("layout", "useful_s", "tuples", "replicas", "target"))
    SETTINGS = (
        Setting(
            "headroom",
            0.03,
            0.0,
            10.0,
            "",
            "share by which threads and replicas can do more than the target of paced sources",
        ),
        Setting(
            "change",
            0.15,
            0.01,
            10.0,
            "",
            "least share by which work or rate must differ to be another load",
        ),
        Setting(
            "cpu_limit",
            0.8,
            0.0,
            1.0,
            "of the CPUs",
            "use above which it does not climb while others need them too",
        ),
    )

    def begin(self) -> None:
        """Begin without measurements."""
        self._may = np.zeros(self.layout.operators, dtype=bool)
        self._may[list(self.layout.replicable)] = True
        # replicas of an operator, at most one for each thread
        self._most = min(self.bounds.maximum, self.layout.most_replicas)
        self._serial: Vector = np.zeros(self.layout.operators)
        self._forget()

    def cpu_limit(self) -> CpuLimit:
        """Return a limit that leaves the CPUs to other processes."""
        return LeaveToOthers(float(self.set["cpu_limit"]))

    def _forget(self) -> None:
        """Forget all measurements, because the load is another one; keep the serial shares of the
        operators."""
        self._flow = ObservedFlow(self.layout)
        self._place: tuple[int, tuple[int, ...]] | None = None  # configuration of the means
        # threads, replicas and work when the load was new
        self._first: tuple[int, Counts, Vector] | None = None
        self._ceiling = self.bounds.maximum  # most threads that bring anything
        self._looks: list[int] = []  # levels below the present one that were tried
        self._odd = 0  # periods in a row that were not as expected
        self._forget_trials(None)

    def _forget_trials(self, target: float | None) -> None:
        """Forget what was tried for another target, and what that brought."""
        self._target = target
        self._more_threads = 0  # threads beyond those that useful time asks for
        self._more: Counts = np.zeros(self.layout.operators, dtype=np.int64)
        # kind of the trial; rate, work, threads, replicas before
        self._trial: tuple[str, float, float, int, Counts] | None = None
        self._content = False  # True if there is nothing to try
        self._in_vain = False  # True if one more of the busiest has brought nothing
        self._brought: dict[tuple[int, tuple[int, ...]], float] = {}  # mean rate by configuration

    # -- a period ----------------------------------------------------------------------------------

    def decide(self, reading: Reading) -> Decision:
        """Return the configuration for the next period."""
        level, replicas = self.bounds.clamp(reading.threads), replicas_of(reading, self.layout)
        if (
            crowded(float(self.set["cpu_limit"]), reading.system_cpu, reading.others_cpu)
            and reading.others_cpu is not None
        ):
            return self._stay(
                level,
                replicas,
                f"others have {reading.others_cpu:.0%} of the CPUs: says nothing",
                "crowded",
            )
        rates = self._flow.see(reading)
        if rates is None or rates.rate == 0.0:
            return self._stay(level, replicas, "no tuples everywhere yet: says nothing", "idle")
        if self._is_odd(rates, level, replicas, reading):
            self._odd += 1
            if self._odd < 2:
                return self._stay(level, replicas, "a burst, or another load?", "noise")
            self._forget()
            rates = self._flow.see(reading) or rates
        self._odd = 0
        self._see(rates, level, replicas)
        if _differ(reading.target, self._target):
            self._forget_trials(reading.target)
        self._brought[level, tuple(replicas.tolist())] = self._rate
        if self._trial is not None:
            ended = self._end_of_trial(level, replicas, reading.target)
            if ended is not None:
                return ended
        return self._choose(level, replicas, reading.target)

    def _is_odd(self, rates: Rates, level: int, replicas: Counts, reading: Reading) -> bool:
        """Return True if the work, or the rate of sources that are not paced, differs from the
        means of this configuration."""
        if (
            not self._content
            or self._place != (level, tuple(replicas.tolist()))
            or self._periods < 2
        ):
            return False
        total = float(self._work.sum())
        moved = float(np.abs(rates.work - self._work).sum()) / total
        off = abs(math.log(rates.rate / self._rate))
        least = max(math.log1p(float(self.set["change"])), LOAD_CHANGE_SIGMAS * self._deviation)
        return moved > math.expm1(least) or (reading.target is None and off > least)

    def _see(self, rates: Rates, level: int, replicas: Counts) -> None:
        """Update the means of the measurements in this configuration."""
        place = (level, tuple(replicas.tolist()))
        if place != self._place:
            self._place, self._periods, self._deviation = place, 0, 0.0
            self._rate, self._work = rates.rate, rates.work
        self._periods += 1
        share = 1.0 / min(self._periods, 30)
        self._deviation = math.sqrt(
            (1.0 - share) * self._deviation**2 + share * math.log(rates.rate / self._rate) ** 2
        )
        self._rate += share * (rates.rate - self._rate)
        self._work = self._work + share * (rates.work - self._work)
        if self._first is None:
            self._first = (
                level,
                replicas.copy(),
                self._work / (1.0 + self._serial * (replicas - 1)),
            )
        self._learn_serial(replicas)

    def _learn_serial(self, replicas: Counts) -> None:
        """Update the serial shares from the growth of work with replicas.

        The growth with threads is left out: it is that of operators with one replica.
        """
        _, _, alone = self._first
        many = self._may & (replicas > 1) & (alone > 0.0)
        if many.any():
            grown = self._work[many] / (alone[many] * self._growth(replicas)) - 1.0
            self._serial[many] = np.where(
                grown > SERIAL_GROWTH, np.minimum(grown / (replicas[many] - 1), 1.0), 0.0
            )

    def _growth(self, replicas: Counts) -> float:
        """Return the work of operators with one replica over their work when the load was new; 1 if
        they are too cheap."""
        _, _, alone = self._first
        single = replicas == 1
        before = float(alone[single].sum())
        return (
            float(self._work[single].sum()) / before
            if before >= MIN_TELLING_SHARE * float(alone.sum())
            else 1.0
        )

    # -- the plan ----------------------------------------------------------------------------------

    def _choose(self, level: int, replicas: Counts, target: float | None) -> Decision:
        """Return the decision to follow the plan, or to try something if the plan is done."""
        goal = self._goal(replicas, target)
        threads, wanted = self._plan(goal, level, replicas)
        known = self._brought.get((threads, tuple(wanted.tolist())), math.inf)
        if (threads != level or (wanted != replicas).any()) and known > self._rate * (
            1.0 - MIN_GAIN
        ):
            self._content = False
            why = f"{goal:.6g} tuples/s need {threads} threads and {int(wanted.sum())} replicas"
            return self._go(level, replicas, threads, wanted, why)
        aim = min(goal, goal if target is None else target)
        short = 1.0 - self._rate / aim if aim > 0.0 else 0.0  # sources that are to send nothing
        if short > max(MAX_SHORTFALL, 2.0 * self._deviation / math.sqrt(self._periods)):
            tried = self._try_more(level, replicas, short)
            if tried is not None:
                return tried
        fewer = self._fewer(level, replicas)
        if fewer is not None:
            self._trial = ("fewer", self._rate, float(self._work.sum()), level, replicas.copy())
            return self._go(
                level,
                replicas,
                fewer,
                replicas,
                f"work has grown: {fewer} threads may bring as much",
                "searching",
            )
        self._content = True
        return self._stay(level, replicas, f"{self._rate:.6g} of {goal:.6g} tuples/s", "settled")

    def _base(self, replicas: Counts) -> Vector:
        """Return the work of each operator with one replica, at the present threads."""
        return self._work / (1.0 + self._serial * (replicas - 1))

    def _goal(self, replicas: Counts, target: float | None) -> float:
        """Return the highest rate of all sources together within all limits."""
        goal = 1.0 / float((self._base(replicas) / np.where(self._may, self._able(), 1.0)).max())
        goal = self._rate_of_threads(goal, replicas)
        return goal if target is None else min(goal, target * (1.0 + float(self.set["headroom"])))

    def _rate_of_threads(self, goal: float, replicas: Counts) -> float:
        """Return the highest rate up to the goal that the most threads can do with the replicas it
        needs, by bisection."""
        low, high = 0.0, goal
        for _ in range(BISECTION_STEPS):
            if self._threads_for(high, replicas) <= self._ceiling:
                return high
            middle = (low + high) / 2.0
            if self._threads_for(middle, replicas) <= self._ceiling:
                low = middle
            else:
                high = middle
        return low

    def _threads_for(self, rate: float, replicas: Counts) -> float:
        base = self._base(replicas)
        counts = np.where(self._may, self._fewest(base, rate), 1)
        return rate * float((base * (1.0 + self._serial * (counts - 1))).sum())

    def _plan(self, goal: float, level: int, replicas: Counts) -> tuple[int, Counts]:
        """Return the fewest threads and replicas that reach the goal; keep present counts that are
        right within `RATE_BAND`."""
        base = self._base(replicas)
        least, wanted, most = (
            np.where(self._may, self._fewest(base, share * goal), 1) + self._more
            for share in RATE_BAND
        )
        chosen = np.where((least <= replicas) & (replicas <= most), replicas, wanted)
        chosen = np.where(self._may, np.clip(chosen, 1, self._most), replicas)
        work = float((base * (1.0 + self._serial * (chosen - 1))).sum())
        low, fair, high = (
            self._cut(math.ceil(share * goal * work - 1e-9) + self._more_threads)
            for share in RATE_BAND
        )
        return (level if low <= level <= high else fair), chosen

    def _able(self) -> Vector:
        """Return the rate of the most replicas of each operator over the rate of one."""
        most = self._most
        return most / (1.0 + self._serial * (most - 1))

    def _fewest(self, base: Vector, goal: float) -> Counts:
        """Return the fewest replicas with able_i(r) >= goal, that is r >= goal w (1 + s (r - 1)).

        The goal of an operator is at most `PLANNED_RATE_SHARE` of the rate that its most replicas
        can do.
        """
        need = np.minimum(goal * base, PLANNED_RATE_SHARE * self._able())
        count = np.ceil(need * (1.0 - self._serial) / (1.0 - need * self._serial) - 1e-9)
        return np.clip(count, 1, self._most).astype(np.int64)

    def _cut(self, threads: int) -> int:
        return self.bounds.clamp(min(threads, self._ceiling))

    # -- what is tried -----------------------------------------------------------------------------

    def _try_more(self, level: int, replicas: Counts, short: float) -> Decision | None:
        """Return the decision to add one to the busiest operators or the threads; None if nothing
        is left to try."""
        if self._content or self._in_vain:
            return None
        loads = self._rate * self._work / replicas
        together = self._rate * float(self._work.sum()) / level
        busiest = max(float(loads.max()), together)
        more = self._may & (loads >= busiest) & (replicas < self._most)
        threads = self._cut(level + (together >= busiest))
        if threads == level and not more.any():
            return None
        self._trial = ("more", self._rate, float(self._work.sum()), level, replicas.copy())
        self._more_threads += threads - level
        self._more = self._more + more
        why = f"{short:.1%} less than useful time allows: more of what is busiest"
        return self._go(level, replicas, threads, replicas + more, why, "searching")

    def _fewer(self, level: int, replicas: Counts) -> int | None:
        """Return a lower level that may bring as much; None if there is none."""
        first, _, _ = self._first
        growth = self._growth(replicas)
        if self._content or growth < GROWN_WORK or level <= first or len(self._looks) >= 2:
            return None
        lowest = max([self.bounds.minimum, *(look + 1 for look in self._looks if look < level)])
        fewer = (
            round(level / growth) if not self._looks else math.ceil((self._looks[-1] + level) / 2)
        )
        return fewer if lowest <= fewer < level else None

    def _end_of_trial(self, level: int, replicas: Counts, target: float | None) -> Decision | None:
        """Return the decision to undo a trial or to go on with it; None if the trial is kept and
        the plan goes on from here."""
        what, before, work, threads, counts = self._trial
        self._trial = None
        gained = self._rate / before - 1.0
        if what == "fewer":
            # a paced rate is constant: compare the rates that the threads could do
            if target is not None:
                gained = level * work / (threads * float(self._work.sum())) - 1.0
            if gained >= -2.0 * MIN_GAIN:
                self._ceiling, self._looks = level, []
                return None
            self._looks.append(level)
            return self._go(
                level,
                replicas,
                threads,
                counts,
                f"{level} threads bring {-gained:.1%} less",
                "searching",
            )
        if gained >= MIN_GAIN:
            return None
        self._more_threads -= level - threads
        self._more = self._more - (replicas - counts)
        self._in_vain = True
        return self._go(level, replicas, threads, counts, f"one more has brought {gained:+.1%}")

    # -- decisions ---------------------------------------------------------------------------------

    def _go(
        self, level: int, replicas: Counts, threads: int, wanted: Counts, why: str, state: str = ""
    ) -> Decision:
        """Return the decision to go to a configuration; more threads only if the CPU limit grants
        them."""
        if threads > level and not self.cpu.acceptable():
            self._trial = None
            return self._stay(level, replicas, f"{why}, but the CPU limit refuses", "refused")
        grows = threads > level or (threads == level and int(wanted.sum()) > int(replicas.sum()))
        state = state or ("climbing" if grows else "descending")
        return Decision(threads, f"{why} → there", state, replicas=tuple(wanted.tolist()))

    def _stay(self, level: int, replicas: Counts, why: str, state: str) -> Decision:
        return Decision(level, f"{why} → stay", state, replicas=tuple(replicas.tolist()))


def _differ(target: float | None, before: float | None) -> bool:
    """Return True if the target rate of the sources has changed."""
    if target is None or before is None:
        return target is not before
    return abs(target - before) > MIN_GAIN * before


LAW = MillraceReplicas
