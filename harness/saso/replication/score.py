"""What a law made of a scenario, as `harness.saso.score` has it, with threads and replicas in place of a level.

A scenario is cut where its world changes. A law has *settled* with the first period from which on neither its level nor its
replicas change for ten periods. What it *needs* is the least with which each source could send 5 % more than it does, without
noise.

  accuracy   the sources' rate after settling over the oracle's, without noise
  settling   periods until settled; the length of the stretch if never
  threads    after settling, over those that it needs; and replicas, of all operators
  changes    of level or replicas after settling, in 50 periods
  regret     share of the rate lost against the oracle, from the first period on
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean

import numpy as np

from harness.saso.replication.closed_loop import Trace
from harness.saso.replication.oracle import best_of, least_for
from harness.saso.replication.scenario import Scenario
from harness.saso.score import STILL, settled_at

SPARE = 1.05  # times what the sources send


@dataclass(frozen=True)
class Score:
    """Means over the scenario's stretches; threads and replicas: the most of them; rates by stretch."""

    accuracy: float
    settling: float
    threads: float
    replicas: float
    changes: float
    regret: float
    settled_threads: int  # at the end
    settled_replicas: int  # of all operators
    rates: tuple[float, ...]  # tuples/s of each source after settling, by stretch


def score(scenario: Scenario, trace: Trace) -> Score:
    """The numbers of one run."""
    rows = [_stretch(scenario, trace, begin, end) for begin, end in scenario.segments()]
    accuracy, settling, threads, replicas, changes, lost, rates = zip(*rows, strict=True)
    return Score(
        accuracy=fmean(accuracy),
        settling=fmean(settling),
        threads=max(threads),
        replicas=max(replicas),
        changes=fmean(changes),
        regret=fmean(lost),
        settled_threads=trace.levels[-1],
        settled_replicas=sum(trace.replicas[-1]),
        rates=rates,
    )


def _stretch(scenario: Scenario, trace: Trace, begin: int, end: int) -> tuple[float, ...]:
    world, maximum = scenario.world(begin), scenario.bounds.maximum
    best = best_of(world, maximum)
    where = list(zip(trace.levels, trace.replicas, strict=True))[begin:end]
    rates = {each: world.rate(each[0], np.array(each[1], dtype=float)) for each in set(where)}
    settled = settled_at(where)
    after = where[settled:] if settled < len(where) else where[-STILL:]
    rate = fmean(rates[each] for each in after)
    need = least_for(world, maximum, SPARE * rate)
    return (
        rate / best.rate,
        float(settled),
        fmean(level for level, _ in after) / need.threads,
        fmean(sum(replicas) for _, replicas in after) / need.replicas,
        50.0 * sum(one != other for one, other in pairwise(after)) / len(after),
        1.0 - fmean(rates[each] for each in where) / best.rate,
        rate,
    )
