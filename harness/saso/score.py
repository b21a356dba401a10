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
    settled_level: int  # both of the last stretch
    accuracy: float
    settling: float
    overshoot: float
    changes: float
    regret: float


def score(scenario: Scenario, trace: Trace) -> Score:
    """The numbers of one run."""
    rows = []
    for begin, end in scenario.segments():
        best_level, best = _best(scenario, begin)
        if end - begin >= SHORTEST and best > 0.0 and not scenario.crowded(begin):
            rows.append(_stretch(scenario, trace.levels, begin, end, best_level, best))
    got = sum(scenario.true(period, level) for period, level in enumerate(trace.levels))
    cache: dict[int, float] = {begin: _best(scenario, begin)[1] for begin, _ in scenario.segments()}
    possible = 0.0
    for begin, end in scenario.segments():
        for period in range(begin, end):
            bursting = any(event.kind == "burst" and event.covers(period) for event in scenario.events)
            possible += _best(scenario, period)[1] if bursting else cache[begin]
    accuracy, settling, overshoot, changes = zip(*(row[1:] for row in rows), strict=True)
    return Score(
        best_level=_best(scenario, scenario.periods - 1)[0],
        settled_level=rows[-1][0],
        accuracy=fmean(accuracy),
        settling=fmean(settling),
        overshoot=max(overshoot),
        changes=fmean(changes),
        regret=1.0 - got / possible if possible > 0.0 else 0.0,
    )


def _best(scenario: Scenario, period: int) -> tuple[int, float]:
    """The lowest level that brings the most in a period, and how much that is."""
    bounds = scenario.bounds
    rates = [scenario.true(period, level) for level in range(bounds.minimum, bounds.maximum + 1)]
    top = max(rates)
    return next(level for level, rate in enumerate(rates, bounds.minimum) if rate >= top * (1.0 - 1e-9)), top


def _stretch(
    scenario: Scenario, levels: Sequence[int], begin: int, end: int, best_level: int, best: float
) -> tuple[int, float, float, float, float]:
    """Settled level, accuracy, settling, overshoot, changes of one stretch."""
    settled = settled_at(levels[begin:end])
    after = range(begin + settled, end) if settled < end - begin else range(end - STILL, end)
    rates = [scenario.true(period, levels[period]) for period in after]
    moves = sum(levels[period] != levels[period - 1] for period in after[1:])
    climbed = [levels[period] for period in range(begin + 1, end) if levels[period] > levels[period - 1]]
    return (
        levels[end - 1],
        fmean(rates) / best,
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
