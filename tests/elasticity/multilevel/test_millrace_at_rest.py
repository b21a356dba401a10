"""Settled for long, the law that places queues takes a few looks more, and ever more rarely."""

from __future__ import annotations

from itertools import pairwise
from statistics import fmean

import pytest

from harness.elasticity.multilevel import millrace
from tests.elasticity.multilevel.surface import drive
from tests.elasticity.multilevel.test_millrace import law_of, pipeline, true


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
    """Periods are off by 10 %: of these seeds the fifth has misled the search."""
    surface, ends = pipeline(cpus=8), []
    for rests in (10**9, millrace.RESTS):
        monkeypatch.setattr(millrace, "RESTS", rests)
        ends.append(true(surface, drive(law_of(surface), surface, 120, noise=0.1, seed=5, looks=300)[-1]))
    assert ends[1] > 1.05 * ends[0]
