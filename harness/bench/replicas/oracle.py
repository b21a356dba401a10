"""The best configuration of a world, and the smallest one that brings a rate.

For a number of threads and a rate each operator needs a least number of replicas. So the candidates
are a line for each number of threads, along which the rate grows; the best of all is the oracle's.
A line has `RATE_STEPS` rates at equal ratios, so the oracle is below the true best by less than one
step.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from harness.bench.replicas.world import ReplicaWorld, Vector
from harness.bench.scenario import Least

RATE_STEPS = 160


def replicas_for(world: ReplicaWorld, threads: int, rate: float, most: int) -> Vector:
    """Return the fewest replicas of each operator that can do the rate, or the most if none can."""
    work = world.work(threads, np.ones(world.layout.operators))
    counts = np.ones(world.layout.operators)
    for operator in world.layout.replicable:
        tuples = world.layout.tuples[operator]
        cost = world.costs[operator]
        serial = world.serial[operator]
        if rate * work[operator] <= 1.0 or tuples == 0.0:
            continue
        slow = work[operator] / (tuples * cost) if cost else 1.0
        once = rate * tuples * slow
        left = 1.0 - once * cost * serial
        need = (
            once * (cost * (1.0 - serial) + world.ordering_s) / left if left > 0.0 else float(most)
        )
        counts[operator] = min(float(most), max(2.0, np.ceil(need - 1e-9)))
    return counts


def best_of(world: ReplicaWorld, maximum: int) -> Least:
    """Return the highest rate over all levels up to the maximum, and the least that brings 99 % of
    it.

    Operators have at most `maximum` replicas, too.
    """
    lines = [_line(world, threads, maximum) for threads in range(1, maximum + 1)]
    top = max(rate for line in lines for rate, _ in line)
    return _least(lines, top, 0.99 * top)


def least_for(world: ReplicaWorld, maximum: int, rate: float) -> Least:
    """Return the fewest threads and replicas with which each source could send the rate, or 99 % of
    the most if none can."""
    free = replace(world, target=None)
    lines = [_line(free, threads, maximum) for threads in range(1, maximum + 1)]
    top = max(able for line in lines for able, _ in line)
    return _least(lines, top, min(rate, 0.99 * top))


def _line(world: ReplicaWorld, threads: int, maximum: int) -> list[tuple[float, int]]:
    """Return the candidates with a number of threads: the rate, and the replicas of all operators
    together."""
    one = np.ones(world.layout.operators)
    most = min(maximum, world.layout.most_replicas)
    work = world.work(threads, one)
    low = world.capacity(threads, one)
    high = threads / float(work.sum())
    rates = [low, *np.geomspace(low, max(low, 1.05 * high), RATE_STEPS)]
    found: dict[tuple[float, ...], float] = {}
    for rate in rates:
        counts = replicas_for(world, threads, rate, most)
        key = tuple(counts)
        if key not in found:
            found[key] = world.rate(threads, counts)
    return [(rate, int(sum(counts))) for counts, rate in found.items()]


def _least(lines: list[list[tuple[float, int]]], top: float, enough: float) -> Least:
    """Return the rate `top`, and the fewest threads and replicas of all operators that bring
    `enough`."""
    able = [
        (threads, replicas)
        for threads, line in enumerate(lines, start=1)
        for rate, replicas in line
        if rate >= enough
    ]
    return Least(top, min(threads for threads, _ in able), min(replicas for _, replicas in able))
