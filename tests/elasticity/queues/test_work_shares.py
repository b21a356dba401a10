"""Shares of the work by what is declared and by what the profiler sees."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from harness.elasticity.queues.work_shares import WorkProfile, WorkShares
from tests.elasticity.queues.pipelines import pipeline


def test_what_is_declared_counts_until_the_profiler_has_looked_often():
    shares = WorkShares(pipeline(3))  # a source without work and three equal operators
    assert shares.now == pytest.approx([0.0, 1 / 3, 1 / 3, 1 / 3])
    for _ in range(100):
        shares.add(WorkProfile([0.1, 0.7, 0.1, 0.1], 4, 10.0))
    assert shares.now == pytest.approx([0.1, 0.7, 0.1, 0.1], abs=0.01)


def test_work_that_has_moved_is_forgotten():
    shares = WorkShares(pipeline(3))
    shares.forget()
    shares.add(WorkProfile([0.1, 0.7, 0.1, 0.1], 4, 10.0))
    assert shares.now == pytest.approx([0.1, 0.7, 0.1, 0.1], abs=0.01)


@pytest.mark.parametrize(
    "costs", [(), (1.0,), (0.0,) * 4, (-1.0, 1.0, 1.0, 1.0), (np.nan, 1.0, 1.0, 1.0)]
)
def test_a_profile_that_cannot_be_is_worth_nothing(costs):
    assert WorkProfile(costs, 4, 1.0).looks == 0.0


def test_profiles_move_by_more_than_chance():
    draw = np.random.default_rng(1)

    def seen(shares):
        return WorkProfile(draw.multinomial(500, shares) / 500, 10, 5.0)

    even = [0.1] * 10
    assert not any(seen(even).moved(seen(even)) for _ in range(50))
    assert all(seen(even).moved(seen([0.02] * 5 + [0.18] * 5)) for _ in range(50))


def test_the_least_and_the_largest_numbers_overflow_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for costs in ([5e-324, 1.0, 1.0, 1.0], [1e-300, 0.0, 0.0, 1e300], [1.0, 0, 0, 0]):
            profile = WorkProfile(costs, 4, 1e6)
            assert np.isfinite(profile.looks) and np.isfinite(profile.shares).all()
            assert profile.moved(WorkProfile([0.0, 1.0, 0.0, 0.0], 4, 1e6)) in (True, False)
