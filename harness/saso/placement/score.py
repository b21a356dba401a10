"""What a contestant made of a scenario, as `harness.saso.score` has it, with a configuration in place of a level.

A scenario is cut where its phase changes. A law has *settled* with the first period from which on neither its level nor its
placement changes for ten periods. A phase in which others have the CPUs is not scored.

  accuracy   throughput after settling over the oracle's, without noise
  settling   periods until settled; the length of the phase if never
  overshoot  most threads that it climbed to over the oracle's; most queues that it climbed to over the oracle's
  changes    of level or placement after settling, in 50 periods
  regret     share of throughput lost against the oracle, from the first period on
  threads    after settling, mean; and queues
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean

from harness.saso.placement.closed_loop import Trace
from harness.saso.placement.scenario import Scenario
from harness.saso.score import STILL, settled_at


@dataclass(frozen=True)
class Score:
    """Means over the scenario's phases; overshoots: the highest of them; bests and settled ones: of the last phase.

    `phases`: accuracy and threads in each of them.
    """

    best_throughput: float
    best_threads: int
    best_queues: int
    settled_threads: float
    settled_queues: float
    accuracy: float
    settling: float
    overshoot: float
    queue_overshoot: float
    changes: float
    regret: float
    phases: tuple[tuple[float, float], ...]


def score(scenario: Scenario, trace: Trace) -> Score:
    """The numbers of one run."""
    phases = [each for each in scenario.segments() if not scenario.crowded(each[0])]
    rows = [_phase(scenario, trace, begin, end) for begin, end in phases or scenario.segments()]
    accuracy, settling, overshoot, queue_overshoot, changes, threads, queues, lost = zip(*rows, strict=True)
    best = scenario.best(phases[-1][0] if phases else 0)
    return Score(
        best_throughput=best.throughput,
        best_threads=best.threads,
        best_queues=len(best.queued),
        settled_threads=threads[-1],
        settled_queues=queues[-1],
        accuracy=fmean(accuracy),
        settling=fmean(settling),
        overshoot=max(overshoot),
        queue_overshoot=max(queue_overshoot),
        changes=fmean(changes),
        regret=fmean(lost),
        phases=tuple(zip(accuracy, threads, strict=True)),
    )


def _phase(scenario: Scenario, trace: Trace, begin: int, end: int) -> tuple[float, ...]:
    """A row of the numbers of one phase."""
    surface, best = scenario.surface(begin), scenario.best(begin)
    where = list(zip(trace.levels, trace.placements, strict=True))[begin:end]
    rates = {
        each: (surface.dedicated() if trace.dedicated else surface.throughput(each[1], each[0])) / best.throughput
        for each in set(where)
    }
    settled = settled_at(where)
    after = where[settled:] if settled < len(where) else where[-STILL:]
    moves = sum(one != other for one, other in pairwise(after))
    return (
        fmean(rates[each] for each in after),
        float(settled),
        _climbed([level for level, _ in where]) / best.threads,
        _climbed([len(queued) for _, queued in where]) / max(1, len(best.queued)),
        50.0 * moves / len(after),
        fmean(len(queued) if trace.dedicated else level for level, queued in after),
        fmean(len(queued) for _, queued in after),
        1.0 - fmean(rates[each] for each in where),
    )


def _climbed(counts: list[int]) -> int:
    """The highest number that one climbed to; 0 if it never did."""
    return max((new for old, new in pairwise(counts) if new > old), default=0)
