"""What a law made of a scenario, in five numbers (M19 §1, and the regret of online learning).

A scenario is cut where its load changes. In each stretch the law has *settled* with the first period from which on its level
stays the same for `STILL` periods; a stretch that is too short to tell, idle, or one in which nobody may climb, is not counted.

  accuracy   throughput after settling over the best that any level would bring, without noise
  settling   periods until settled; the length of the stretch if never
  overshoot  highest level that the law climbed to over the best level: the lowest one that brings the most
  changes    changes of level after settling, over 50 periods
  regret     share of the throughput lost against an oracle that always has the best level, over the whole scenario
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from harness.saso.closed_loop import Trace
from harness.saso.scenario import Scenario

STILL = 10  # periods
SHORTEST = 2 * STILL  # of a stretch that is scored, in periods


@dataclass(frozen=True)
class Score:
    """Means over the scenario's stretches; overshoot: the highest of them."""

    best_level: int
    settled_level: int  # both at the end
    accuracy: float
    settling: float
    overshoot: float
    changes: float
    regret: float


def score(scenario: Scenario, trace: Trace) -> Score:
    """The numbers of one run. A scenario that has no stretch long enough counts as one."""
    stretches = [
        (begin, end)
        for begin, end in scenario.segments()
        if end - begin >= SHORTEST and not scenario.crowded(begin) and _best(scenario, begin)[1] > 0.0
    ]
    rows = [_stretch(scenario, trace.levels, begin, end) for begin, end in stretches or [(0, scenario.periods)]]
    accuracy, settling, overshoot, changes = zip(*rows, strict=True)
    return Score(
        best_level=_best(scenario, scenario.periods - 1)[0],
        settled_level=trace.levels[-1],
        accuracy=fmean(accuracy),
        settling=fmean(settling),
        overshoot=max(overshoot),
        changes=fmean(changes),
        regret=_regret(scenario, trace.levels),
    )


def _regret(scenario: Scenario, levels: Sequence[int]) -> float:
    got = possible = 0.0
    for begin, end in scenario.segments():
        best = _best(scenario, begin)[1]
        possible += best * (end - begin)
        got += sum(scenario.true(period, levels[period], bursts=False) for period in range(begin, end))
    return 1.0 - got / possible if possible > 0.0 else 0.0


def _best(scenario: Scenario, period: int) -> tuple[int, float]:
    """The lowest level that brings the most in a period, and how much that is."""
    levels = range(scenario.bounds.minimum, scenario.bounds.maximum + 1)
    rates = [scenario.true(period, level, bursts=False) for level in levels]
    top = max(rates)
    return next(level for level, rate in zip(levels, rates, strict=True) if rate >= top * (1.0 - 1e-9)), top


def _stretch(scenario: Scenario, levels: Sequence[int], begin: int, end: int) -> tuple[float, float, float, float]:
    """Accuracy, settling, overshoot, changes."""
    best_level, best = _best(scenario, begin)
    settled = settled_at(levels[begin:end])
    after = range(begin + settled, end) if settled < end - begin else range(max(begin, end - STILL), end)
    rates = [scenario.true(period, levels[period], bursts=False) for period in after]
    climbed = [levels[period] for period in range(begin + 1, end) if levels[period] > levels[period - 1]]
    moves = sum(levels[period] != levels[period - 1] for period in after[1:])
    return (
        fmean(rates) / best if best > 0.0 else 1.0,
        float(settled),
        max(climbed, default=0) / best_level,
        50.0 * moves / len(after),
    )


def settled_at(levels: Sequence[int]) -> int:
    """The first period from which on the level stays the same for `STILL` periods; the number of periods if there is none."""
    still = 0
    for period in range(len(levels)):
        still = still + 1 if period and levels[period] == levels[period - 1] else 1
        if still >= STILL:
            return period - STILL + 1
    return len(levels)
