"""Proofs that a mean or a quantile is below another: errors are rare, for shares and for tails
too."""

from __future__ import annotations

import numpy as np
import pytest

from harness.gate.likelihood import p_mean_below, p_quantile_below

LEVEL, TRIES = 0.05, 400


def rejected(test, made, count: int, seed: int = 5) -> float:
    """Share of tries in which a true hypothesis is rejected."""
    draw = np.random.default_rng(seed)
    return np.mean([test(made(draw, count), made(draw, count)) <= LEVEL for _ in range(TRIES)])


@pytest.mark.parametrize("count", [8, 40])
def test_equal_means_of_normal_values_are_rejected_as_often_as_the_level_says(count):
    share = rejected(p_mean_below, lambda draw, n: draw.normal(1, 0.05, n), count)
    assert 0.01 < share < 2 * LEVEL


def test_equal_means_are_hardly_rejected_if_few_processes_are_slow():
    share = rejected(p_mean_below, lambda draw, n: 1.0 + (draw.random(n) < 0.1), 24)
    assert share < 2 * LEVEL


def test_a_side_that_shows_no_slow_process_is_not_taken_for_quiet():
    """A t test of these values has p = 0.02: the two slow values of `high` make all of its
    error."""
    low, high = np.ones(12), np.array([1.0] * 10 + [3.0] * 2)
    assert p_mean_below(low - 0.2, high) > 0.005


def test_a_mean_that_is_not_below_is_never_proven_to_be():
    assert p_mean_below(np.array([2.0, 3.0]), np.array([1.0, 1.5])) == 1.0
    assert p_mean_below(np.ones(9), np.ones(9)) == 1.0


def test_constants_that_differ_are_proven_to():
    assert p_mean_below(np.ones(9), np.full(9, 1.1)) < 1e-5


@pytest.mark.parametrize("share", [0.75, 0.95])
def test_equal_quantiles_are_hardly_rejected(share):
    made = lambda draw, n: draw.normal(1, 0.05, n)  # noqa: E731
    assert rejected(lambda a, b: p_quantile_below(a, b, share), made, 40) < 1.5 * LEVEL


def test_a_quantile_takes_as_many_values_as_may_all_be_below_it_by_chance():
    low, high = np.linspace(1, 1.1, 200), np.linspace(2, 2.2, 200)
    assert p_quantile_below(low, high, 0.95) < 1e-3
    assert p_quantile_below(low[:8], high[:8], 0.95) > 0.05
