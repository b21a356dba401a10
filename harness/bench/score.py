"""Score of a law on a scenario (M19 §1, and the regret of online learning).

In each stretch of a scenario the law has *settled* at the first period from which its configuration
stays the same for `SETTLED_PERIODS`. Stretches that are too short, idle ones, and those in
which the CPU limit refuses more threads do not count.

  accuracy   throughput after settling over the best of all configurations, without noise
  settling   periods until settled; the length of the stretch if never
  overshoot  most threads that the law climbed to over those of the oracle; the same of parts
  changes    changes of the configuration after settling, in 50 periods
  regret     share of the throughput lost against an oracle that always has the best configuration,
             from the first period on
  threads    threads after settling over the fewest that bring the law's throughput; and parts
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean

from harness.bench.closed_loop import RunCourse
from harness.bench.scenario import SETTLED_PERIODS, Configuration, Scenario


@dataclass(frozen=True, kw_only=True)
class Score:
    """Score of a run.

    Numbers are means over the scenario's stretches. Overshoots, `threads` and `parts` are maxima;
    those that begin with best or settled are of the last stretch. `phases`: accuracy and threads in
    each stretch. `rates`: throughput after settling in each, without noise [tuples/s].
    """

    best_throughput: float
    best_threads: int
    best_parts: int = 0
    settled_threads: float
    settled_parts: float = 0.0
    accuracy: float
    settling: float
    overshoot: float
    parts_overshoot: float = 0.0
    changes: float
    regret: float
    threads: float = 1.0
    parts: float = 1.0
    phases: tuple[tuple[float, float], ...] = ()
    rates: tuple[float, ...] = ()


@dataclass(frozen=True)
class _Stretch:
    accuracy: float
    rate: float
    settling: float
    used: float
    parts: float
    overshoot: float
    parts_overshoot: float
    changes: float
    threads_needed: float
    parts_needed: float


def score(scenario: Scenario, trace: RunCourse) -> Score:
    """Return the score of one run."""
    scored = scenario.scored()
    rows = [_stretch(scenario, trace.configurations, begin, end) for begin, end in scored]
    best, last = scenario.best(scored[-1][0]), rows[-1]
    return Score(
        best_throughput=best.throughput,
        best_threads=best.threads,
        best_parts=best.parts,
        settled_threads=last.used,
        settled_parts=last.parts,
        accuracy=fmean(row.accuracy for row in rows),
        settling=fmean(row.settling for row in rows),
        overshoot=max(row.overshoot for row in rows),
        parts_overshoot=max(row.parts_overshoot for row in rows),
        changes=fmean(row.changes for row in rows),
        regret=_regret(scenario, trace.configurations),
        threads=max(row.threads_needed for row in rows),
        parts=max(row.parts_needed for row in rows),
        phases=tuple((row.accuracy, row.used) for row in rows),
        rates=tuple(row.rate for row in rows),
    )


def _stretch(scenario: Scenario, passed: Sequence[Configuration], begin: int, end: int) -> _Stretch:
    best, where = scenario.best(begin), passed[begin:end]
    settled = settled_at(where)
    after = where[settled:] if settled < len(where) else where[-SETTLED_PERIODS:]
    rates = {each: scenario.throughput(begin, each) for each in set(after)}
    rate = fmean(rates[each] for each in after)
    need = scenario.needed(begin, rate)
    used, parts = fmean(each.used for each in after), fmean(each.parts for each in after)
    return _Stretch(
        accuracy=rate / best.throughput if best.throughput > 0.0 else 1.0,
        rate=rate,
        settling=float(settled),
        used=used,
        parts=parts,
        overshoot=climbed([each.threads for each in where]) / best.threads,
        parts_overshoot=climbed([each.parts for each in where]) / max(1, best.parts),
        changes=50.0 * sum(one != other for one, other in pairwise(after)) / len(after),
        threads_needed=used / need.threads,
        parts_needed=parts / max(1, need.parts),
    )


def _regret(scenario: Scenario, passed: Sequence[Configuration]) -> float:
    lost = at_stake = 0.0
    for begin, end, stake in scenario.stakes():
        best, where = scenario.best(begin).throughput, passed[begin:end]
        if best > 0.0:
            rates = {each: scenario.throughput(begin, each) for each in set(where)}
            lost += stake * (1.0 - fmean(rates[each] for each in where) / best)
            at_stake += stake
    return lost / at_stake if at_stake > 0.0 else 0.0


def climbed(counts: Sequence[int]) -> int:
    """Return the highest count that was reached by an increase; 0 if there was none."""
    return max((new for old, new in pairwise(counts) if new > old), default=0)


def settled_at(where: Sequence[object]) -> int:
    """Return the first period from which all stays the same for `SETTLED_PERIODS`; the
    number of periods if there is none."""
    still = 0
    for period in range(len(where)):
        still = still + 1 if period and where[period] == where[period - 1] else 1
        if still >= SETTLED_PERIODS:
            return period - SETTLED_PERIODS + 1
    return len(where)
