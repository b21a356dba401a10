"""Differences of a hop over a queue from place to place where all places are alike: a queue in one
of them after the other.

A hop is what a tuple takes longer than under manual. One CPU for both threads: what it takes is the
sum of both sides. That places differ is separated from runs that differ by an analysis of variance
(one way, random effects; Searle, Casella and McCulloch, Variance Components, 1992, §3.5) of the
logarithms, each round's mean taken off. *Neighbours*: queues before two operators in a row, of
which the first both takes and pushes; there what is left over beside the first hop and half of the
second is taken for the push.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from itertools import pairwise
from statistics import fmean, median

import numpy as np

from harness.errors import RunFailed
from harness.graph.kinds import WORK
from harness.models import Dynamic, Manual
from tests.benchmarks.arms import one_cpu
from tests.benchmarks.fresh import call
from tests.benchmarks.steady import Span, steady_rate
from topologies import build

TITLE = (
    "Hops: how much their time differs from place to place (standard deviation of its "
    "logarithm), one queue, one CPU"
)
HEADINGS = (
    "graph",
    "payload",
    "places",
    "ns a hop",
    "between runs",
    "between places",
    "at most (97.5 %)",
)
ROUNDS = 6
SPAN = Span(window_s=0.15, warm_up_s=0.3)
COUNT = 20  # operators in a row, or side by side
PAYLOADS = (128, 4096)  # bytes
GRAPHS = {"pipeline": "operators", "data-parallel": "width"}


def rows() -> Iterator[tuple[str, ...]]:
    draw = random.Random(1)
    for topology in GRAPHS:
        for payload in PAYLOADS:
            names = call(workers, topology, payload)
            times = rounds(topology, payload, [[name] for name in names], draw)
            yield row(topology, payload, times)
            if topology == "pipeline":
                both = rounds(topology, payload, [list(pair) for pair in pairwise(names)], draw)
                alone = times.mean(axis=0)
                yield row("neighbours", payload, both - alone[:-1] - 0.5 * alone[1:])


def rounds(
    topology: str, payload: int, placements: Sequence[Sequence[str]], draw: random.Random
) -> np.ndarray:
    """Time of the queues [ns a tuple that passes them], round x placement: that of a tuple less
    that under manual.
    """
    share = 1.0 if topology == "pipeline" else 1.0 / COUNT  # of the tuples, at one of the places
    found = np.empty((ROUNDS, len(placements)))
    for number in range(ROUNDS):
        order = [None, *range(len(placements)), None]
        draw.shuffle(order)
        each = {}
        manual = []
        for which in order:
            took = call(tuple_ns, topology, payload, [] if which is None else placements[which])
            if which is None:
                manual.append(took)
            else:
                each[which] = took
        found[number] = [(each[which] - fmean(manual)) / share for which in range(len(placements))]
    return found


def workers(topology: str, payload: int) -> list[str]:
    """The operators before which a queue may stand."""
    graph = graph_of(topology, payload)
    return [name for name, operator in graph.operators.items() if operator.kind is WORK]


def graph_of(topology: str, payload: int):
    return build(topology, {GRAPHS[topology]: COUNT, "cost": 1, "payload": payload}, seed=0)[0]


def tuple_ns(topology: str, payload: int, queued: Sequence[str]) -> float:
    """ns a tuple of the source, with queues before these operators."""
    model = Dynamic(threads=1, queue_capacity=256, queued=",".join(queued)) if queued else Manual()
    with one_cpu():
        return 1e9 / steady_rate(graph_of(topology, payload), model, SPAN).tuples_per_s


def row(title: str, payload: int, times: np.ndarray) -> tuple[str, ...]:
    within, between, most = spread(times)
    said = [
        f"{median(times.ravel()):.1f}",
        *(f"{100 * each:.1f} %" for each in (within, between, most)),
    ]
    return title, f"{payload} B", str(times.shape[1]), *said


def spread(times: np.ndarray) -> tuple[float, float, float]:
    """Standard deviations of the logarithms of `times`, round x place: between runs, between
    places, and its upper bound.
    """
    from scipy.stats import f

    if (times <= 0.0).any():
        raise RunFailed(
            "a queue made a graph faster: the runs differ too much to tell what a hop takes"
        )
    logs = np.log(times)
    count, places = logs.shape
    logs = logs - logs.mean(axis=1, keepdims=True)
    of_place = logs.mean(axis=0)
    freedom = (count - 1) * (places - 1)
    within = float(((logs - of_place) ** 2).sum()) / freedom
    among = count * float(of_place @ of_place) / (places - 1)
    ratio = among / within / f.ppf(0.025, places - 1, freedom)
    return (
        math.sqrt(within),
        math.sqrt(max(0.0, among - within) / count),
        math.sqrt(max(0.0, ratio - 1.0) * within / count),
    )
