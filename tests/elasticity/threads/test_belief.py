"""What measurements do to the odds."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest

from harness.elasticity.millrace_constants import NOISE_ODDS
from harness.elasticity.threads.belief import Belief, Measured
from harness.elasticity.threads.scaling import family

FAMILY = family(64)


def believed(curve, at, times=1, noise=0.0, focus=1, seed=1):
    """What is believed after some periods at each of some levels."""
    generator = random.Random(seed)
    belief = Belief(FAMILY, FAMILY.prior)
    belief.focus = focus
    for _ in range(times):
        for level in at:
            belief.add(level, math.log(curve(level)) + generator.gauss(0.0, noise))
    return belief


def knee(k):
    return lambda n: 100.0 * min(n, k)


def test_mean_and_spread_are_those_of_all_that_was_seen():
    seen = Measured()
    values = [3.0, 5.0, 4.0, 8.0]
    for value in values:
        seen.add(value)
    assert seen.count == 4
    assert seen.mean == pytest.approx(np.mean(values))
    assert seen.spread == pytest.approx(np.var(values) * 4)


def test_odds_are_odds_after_each_period():
    belief = Belief(FAMILY, FAMILY.prior)
    for level in (1, 2, 4, 8, 16, 8, 8):
        belief.add(level, math.log(knee(6)(level)))
        assert belief.odds.sum() == pytest.approx(1.0)
        assert (belief.odds >= 0.0).all()
        assert belief.odds_of_all().sum() == pytest.approx(1.0)
        assert belief.values.shape == (len(FAMILY.levels), len(belief.odds))
        assert np.isfinite(belief.values).all()


def test_a_single_period_says_how_high_the_curve_is_and_nothing_of_its_shape():
    belief = believed(knee(6), [4])
    assert belief.odds_of_all() == pytest.approx(FAMILY.prior, rel=1e-6)
    assert belief.expected(4) == pytest.approx(math.log(400.0))


def errors(belief, curve):
    """How far each curve is from the true one, in logarithms: level x curve."""
    return belief.values - np.log([curve(level) for level in FAMILY.levels])[:, None]


@pytest.mark.parametrize("k", [3, 6, 13, 40])
def test_the_odds_gather_at_the_true_curve(k):
    """Measured around its knee, a plateau is told from all else."""
    at = sorted({1, 2, k - 2, k - 1, k, k + 1, k + 2, min(64, 2 * k), 64})
    belief = believed(knee(k), at, times=3, focus=k)
    right = np.abs(errors(belief, knee(k))).max(axis=0) < 0.01
    assert belief.odds[right].sum() > 0.9


def test_far_from_the_level_that_matters_the_family_is_trusted_less():
    at = [1, 2, 4, 11, 12, 13, 14, 15, 26, 64]
    near, far = (believed(knee(13), at, times=3, focus=focus) for focus in (13, 1))
    assert near.odds.max() > 2 * far.odds.max()


@pytest.mark.parametrize("noise", [0.02, 0.05])
def test_more_periods_come_nearer_to_the_truth(noise):
    def error(times):
        belief = believed(knee(13), [8, 13, 26, 52], times, noise, focus=13)
        return float(np.abs(errors(belief, knee(13)) @ belief.odds)[7:52].max())

    assert error(12) < error(3) < error(1)
    assert error(12) < 0.04


def test_one_level_that_no_curve_explains_does_not_bend_the_others():
    at = [1, 2, 4, 6, 8, 12, 16, 24, 32, 48]

    def with_an_odd_one(times):
        return believed(lambda n: 0.4 * knee(64)(n) if n == 8 else knee(64)(n), at, times, focus=12)

    without, odd = believed(knee(64), at, focus=12), with_an_odd_one(1)
    for level in (1, 2, 4, 16, 32, 48, 64):
        assert odd.expected(level) == pytest.approx(without.expected(level), abs=0.01)
    assert with_an_odd_one(3).expected(8) == pytest.approx(math.log(0.4 * 800.0), abs=0.02), (
        "seen often, it counts there"
    )


@pytest.mark.parametrize(
    "truth", [knee(13), lambda n: 500.0 + 60.0 * (n % 3), lambda n: 100.0 * math.sqrt(n)]
)
def test_where_a_level_was_measured_often_the_belief_is_what_was_measured(truth):
    at = [1, 5, 12, 21, 34]
    belief = believed(truth, at, times=20)
    for level in at:
        belief.focus = level
        belief.add(level, math.log(truth(level)))
        assert belief.expected(level) == pytest.approx(math.log(truth(level)), abs=0.02)


@pytest.mark.parametrize("noise", [0.0, 0.02, 0.05, 0.13])
def test_the_noise_is_learnt_from_periods_at_the_same_level(noise):
    belief = believed(knee(13), [4, 8, 13], times=25, noise=noise)
    assert belief.noise == pytest.approx(max(noise, min(NOISE_ODDS)), rel=0.35)


def test_curves_given_up_stay_so_and_the_rest_are_few():
    belief = believed(knee(6), [1, 2, 4, 6, 8, 12, 6, 6], times=3, focus=6)
    every = belief.odds_of_all()
    assert len(belief.odds) < len(every) / 4
    belief.add(6, math.log(600.0))
    assert (belief.odds_of_all()[every == 0.0] == 0.0).all()


def test_a_prior_may_leave_curves_out():
    prior = FAMILY.prior * (np.arange(len(FAMILY.prior)) % 2)
    belief = Belief(FAMILY, prior)
    belief.add(1, 0.0)
    assert (belief.odds_of_all()[prior == 0.0] == 0.0).all()


def test_it_knows_where_measured_levels_stand():
    belief = Belief(family(1024), family(1024).prior)
    for level in (1, 66, 1024):
        belief.add(level, 1.0)
    assert [family(1024).levels[place] for place in belief.places()] == [1, 66, 1024]
