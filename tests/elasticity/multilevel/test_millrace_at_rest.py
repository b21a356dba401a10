"""Settled for long, the law that places queues takes a few looks more, and ever more rarely."""

from __future__ import annotations

from itertools import pairwise
from statistics import fmean

import numpy as np
import pytest

from harness.elasticity import Reading
from harness.elasticity.multilevel import millrace
from tests.elasticity.multilevel.surface import drive
from tests.elasticity.multilevel.test_millrace import law_of, pipeline, true
from tests.elasticity.multilevel.test_millrace_loads import elsewhere


def looks(steps):
    """Periods after which it went elsewhere from where it was, or back."""
    return [number for number, (one, other) in enumerate(pairwise(steps)) if one[:2] != other[:2]]


@pytest.fixture(scope="module")
def steps():
    """Of 400 periods in which nothing changes, placement and level."""
    surface = pipeline()
    return [(step.queued, step.threads, step) for step in drive(law_of(surface), surface, 400)]


def test_it_looks_again_after_a_rest_and_rests_twice_as_long_after_that(steps):
    moves = looks(steps)
    rests = [later - sooner for sooner, later in pairwise(moves) if later - sooner >= millrace.RESTS]
    assert len(rests) >= 3
    assert all(later >= 1.8 * sooner for sooner, later in pairwise(rests))
    searched = moves.index(next(sooner for sooner, later in pairwise(moves) if later - sooner >= millrace.RESTS))
    assert len(moves) - searched - 1 <= 2 * millrace.LOOKS * (len(rests) + 1), "there and back"


def test_a_look_at_rest_costs_next_to_nothing(steps):
    surface = pipeline()
    settled = true(surface, steps[24][2])
    assert fmean(true(surface, step) for *_, step in steps[25:]) >= 0.995 * settled


def test_it_finds_at_rest_what_noise_had_hidden(monkeypatch):
    """Periods are off by 10 %, which misled the search with this seed."""
    surface, ends = pipeline(operators=12, cost="skewed", cpus=4, payload=1024), []
    for rests in (10**9, millrace.RESTS):
        monkeypatch.setattr(millrace, "RESTS", rests)
        ends.append(true(surface, drive(law_of(surface), surface, 120, noise=0.1, seed=21, looks=300)[-1]))
    assert ends[1] > 1.02 * ends[0]


def test_work_that_moves_so_slowly_that_no_period_shows_it_is_followed():
    """As while queues fill after a change of load: throughput tells nothing meanwhile, nor do the shares of any one period."""
    surface = pipeline(cpus=4)
    other = elsewhere(surface)
    law = law_of(surface)
    end = drive(law, surface, 30)[-1]
    rate, queued, threads = end.throughput, end.queued, end.threads
    before, after = np.array(surface.shares()), np.array(other.shares())
    gains = []
    for second in range(1, 161):
        part = min(1.0, second / 40)
        there = rate * other.throughput(queued, threads) / other.throughput(end.queued, end.threads)
        costs = tuple((1.0 - part) * before + part * after)
        decision = law.step(Reading(30.0 + second, 1.0, threads, there, costs=costs, queued=queued))
        queued, threads = decision.queued, decision.threads
        gains.append(there / rate)
        assert "the work has moved" not in decision.reason
    assert fmean(gains[-10:]) > 1.2


def test_what_a_known_place_brings_while_queues_still_drain_says_nothing():
    """After a look at rest, back at the place that it knows, two periods bring a twentieth: it waits, and stays there."""
    surface = pipeline(cpus=4)
    law, undisturbed = law_of(surface), drive(law_of(surface), surface, 150)[-1]
    queued, threads, last = frozenset(), law.bounds.start, None
    known, drains, waits = set(), 0, 0
    for period in range(150):
        place = queued, threads
        if place == last and drains <= 0:
            known.add(place)
        elif place in known and queued != last[0]:
            drains = 2
        rate = surface.throughput(*place) * (0.05 if drains > 0 else 1.0)
        drains -= 1
        decision = law.step(Reading(float(period + 1), 1.0, threads, rate, costs=surface.shares(), queued=queued))
        if drains >= 0:
            assert (decision.queued, decision.threads, decision.state) == (*place, "idle")
            waits += 1
        last, queued, threads = place, decision.queued, decision.threads
    assert waits > 0
    assert surface.throughput(queued, threads) >= 0.98 * surface.throughput(undisturbed.queued, undisturbed.threads)
