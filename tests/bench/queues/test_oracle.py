"""The best placement and level of a surface: how near the search is to trying everything."""

from __future__ import annotations

import random
from statistics import fmean

import numpy as np
import pytest

from harness.bench.queues import oracle
from harness.bench.queues.graphs import COSTS, TopologyShape, graph_of
from harness.bench.queues.oracle import best_of
from harness.bench.queues.surface import Surface
from harness.bench.queues.world import QueueWorld
from harness.elasticity import Bounds
from tests.bench.queues.small import STREAMS, pipeline, seen, surface

SHAPES = (
    TopologyShape("pipeline", (("operators", 7),)),
    TopologyShape("data-parallel", (("width", 7),)),
    TopologyShape("random", (("operators", 6),)),
    TopologyShape("mix", (("width", 2), ("depth", 3))),
)
WORLDS = (
    QueueWorld("local", cpus=2),
    QueueWorld("xeon", "streams-4.2", 4),
    QueueWorld("xeon", cpus=8, smt=2),
)


def drawn(seed):
    draw = random.Random(seed)
    world = draw.choice(WORLDS)
    graph = graph_of(
        draw.choice(SHAPES), draw.choice(list(COSTS)), draw.choice((1, 128, 1024, 16384)), seed
    )
    return Surface(seen(graph, world.cpus), world, seed), Bounds(1, world.cpus, 1)


def test_the_search_is_nearly_as_good_as_trying_everything(monkeypatch):
    shares = []
    for seed in range(6):
        plain, bounds = drawn(seed)
        assert plain.places <= oracle.EXHAUSTIVE
        everything = best_of(plain, bounds)
        with monkeypatch.context() as patch:
            patch.setattr(oracle, "EXHAUSTIVE", 0)
            shares.append(best_of(plain, bounds).throughput / everything.throughput)
    assert min(shares) > 0.98 and fmean(shares) > 0.998  # of 60 surfaces: 98.75 % and 99.97 %


def test_trying_everything_is_at_least_as_good_as_anything():
    plain, bounds = drawn(5)
    best = best_of(plain, bounds)
    draw = np.random.default_rng(1)
    for _ in range(50):
        placement = np.flatnonzero(draw.integers(0, 2, plain.places)).tolist()
        assert plain.throughput(
            placement, int(draw.integers(1, bounds.maximum + 1))
        ) <= best.throughput / (1 - oracle.EQUAL_WITHIN)


def test_a_large_graph_is_searched_better_than_by_simple_rules():
    plain = surface(pipeline([1000] * 40, 4096), STREAMS)
    best = best_of(plain, Bounds(1, 16, 1))
    everywhere = range(plain.places)
    simple = [
        plain.throughput(range(0, plain.places, step), level)
        for step in range(1, 12)
        for level in range(1, 17)
    ]
    assert best.throughput >= max(simple)
    assert best.throughput == plain.throughput(best.queued, best.threads)
    assert best.queued < set(everywhere)


def test_it_takes_no_more_threads_and_queues_than_it_needs():
    plain = surface(pipeline([1] * 6, 16384))
    best = best_of(plain, Bounds(1, 16, 1))
    assert (best.threads, best.queued) == (1, frozenset())


def test_it_keeps_to_the_bounds():
    plain = surface(pipeline([10_000] * 30), STREAMS)
    assert best_of(plain, Bounds(2, 3, 2)).threads in (2, 3)


@pytest.mark.parametrize("operators", [6, 30])
def test_the_same_question_has_the_same_answer(operators):
    plain = surface(pipeline([1000] * operators), STREAMS)
    assert best_of(plain, Bounds(1, 16, 1)) == best_of(plain, Bounds(1, 16, 1))
