"""What periods are worth as evidence, and what the formula says before there is any."""

from __future__ import annotations

import numpy as np
import pytest
from harness.elasticity.queues.limits import Limits

from harness.elasticity import layout_of
from harness.elasticity.millrace_constants import NOISE_ODDS
from harness.elasticity.queues.evidence import (
    LIKELIHOOD_EXPONENT,
    MISFIT_PRIOR,
    MeasuredPeriods,
    Unrest,
)
from harness.elasticity.queues.options import Placements
from harness.elasticity.queues.physics import COLUMNS, draw
from harness.models import Dynamic
from topologies import build

HERE, THERE = (frozenset(), 1), (frozenset({3}), 1)
NEARNESS = {True: 0.08**2 + 0.02**2, False: 0.5 * 0.08**2}


def expected_there(unrest: Unrest) -> float:
    """Of a place that was seen once, a fifth below the other one, in the first period after its
    queue came.
    """
    evidence = MeasuredPeriods()
    for _ in range(3):
        evidence.add(HERE, 0.0)
    evidence.add(THERE, -0.2, unrest)
    places = evidence.places
    alike = np.array([[NEARNESS[one == other] for other in places] for one in places])
    fit = evidence.weigh(np.zeros((4, 1)), alike)
    rows = alike[[3]]
    return float(fit.expected(np.zeros((1, 1)), rows, np.array([0]))[0, 0])


def test_a_period_after_a_switch_is_believed_less_where_queues_take_long_to_fill() -> None:
    quick, slow = expected_there(Unrest(came=0.01)), expected_there(Unrest(came=0.01, held=1.0))
    assert quick < -0.1
    assert quick < 2 * slow < 0.0


def test_a_period_is_believed_the_less_the_more_doubtful_it_is_known_to_be() -> None:
    even, odd, very_odd = (
        expected_there(Unrest(came=0.01, held=1.0, doubt=doubt)) for doubt in (0.0, 0.2, 0.5)
    )
    assert even < 1.5 * odd < 2.25 * very_odd < 0.0
    assert even == pytest.approx(expected_there(Unrest(came=0.01)), rel=0.01), (
        "where nothing fills its length is no matter"
    )


def test_no_surge_is_looked_for_in_periods_that_are_known_to_be_in_balance() -> None:
    """All queues bring a sixth more: as much as they might lend while they fill."""
    lent, balanced = (expected_there(Unrest(came=1.0, doubt=doubt)) for doubt in (None, 0.0))
    assert balanced < 2.0 * lent < 0.0


def test_a_period_after_a_switch_counts_as_measured_if_it_is_in_balance() -> None:
    evidence = MeasuredPeriods()
    for unrest in (Unrest(came=0.1), Unrest(came=0.1, doubt=0.2)):
        evidence.add(THERE, 0.0, unrest)
        assert not evidence.measured(THERE)
    evidence.add(THERE, 0.0, Unrest(came=0.1, doubt=0.02))
    assert evidence.measured(THERE)
    assert not evidence.calm(THERE)
    assert not evidence.measured(HERE)
    evidence.add(HERE, 0.0)
    assert evidence.measured(HERE)


@pytest.mark.parametrize("noise", [0.025, 0.045, 0.075, 0.13])
def test_noise_is_learnt_as_large_as_it_is(noise):
    """At one place, where the formula cannot err: but for the odds that it had before."""
    learnt = []
    for seed in range(40):
        evidence = MeasuredPeriods()
        for value in np.random.default_rng(seed).normal(0.0, noise, 24):
            evidence.add(HERE, float(value))
        fit = evidence.weigh(np.zeros((24, 1)), np.full((24, 24), NEARNESS[True]))
        learnt.append(fit.noise)
    assert abs(np.median(learnt) / noise - 1.0) < 0.1


def test_the_odds_are_those_of_the_whole_covariance_whatever_the_height_is():
    """The likelihood as the book has it (eq. 2.45), by an inverse for each noise and misfit."""
    draw_, evidence = np.random.default_rng(3), MeasuredPeriods()
    for value in draw_.normal(10.0, 0.1, 9):
        evidence.add(HERE, float(value))
    where = draw_.normal(size=9)
    alike = 0.08**2 * np.exp(-0.5 * (where[:, None] - where) ** 2)
    formula = draw_.normal(0.0, 0.1, (9, 4)) + draw_.normal(0.0, 5.0, 4)
    apart, likelihood = np.array(evidence.values)[:, None] - formula, np.zeros(4)
    for noise, noise_odds in NOISE_ODDS.items():
        for misfit, misfit_odds in MISFIT_PRIOR.items():
            covariance = misfit**2 * alike + noise**2 * np.eye(9)
            inverse = np.linalg.inv(covariance)
            level = inverse.sum(axis=0)
            precision = inverse - np.outer(level, level) / level.sum()
            scale = np.linalg.slogdet(covariance)[1] + np.log(level.sum())
            errors = np.einsum("ph,pq,qh->h", apart, precision, apart)
            likelihood += (
                noise_odds * misfit_odds * np.exp(-0.5 * LIKELIHOOD_EXPONENT * (errors + scale))
            )
    assert evidence.weigh(formula, alike).odds == pytest.approx(
        likelihood / likelihood.sum(), rel=1e-6
    )


@pytest.mark.parametrize(("batch", "single"), [(32, {0.0}), (1, {1.0}), (0, {0.0, 1.0})])
def test_who_knows_how_many_tuples_a_runtime_moves_at_once_has_no_hypotheses_of_others(
    batch, single
) -> None:
    drawn = draw(np.random.default_rng(7), 256, 2, 128, 1e-3, batch)
    assert set(drawn[:, COLUMNS.index("single")].tolist()) == single


def test_no_more_queues_can_better_two_even_halves_that_have_a_cpu_each() -> None:
    """On two CPUs, where hops cost nothing: twice as fast as without queues, but for what the CPUs
    share.
    """
    pipeline, _ = build("pipeline", {"operators": 99, "cost": 1000}, 1)
    graph = Placements(layout_of(pipeline, Dynamic(threads=1), 2))
    shares = np.zeros(101)
    shares[1:100] = 1.0
    shares[50] += 1.0  # two halves of fifty
    placements = [frozenset(), frozenset({50}), frozenset({25, 50, 75}), frozenset(range(100))]
    limits = Limits(graph.flow, shares / shares.sum())
    numbers = np.array([limits.add(queued) for queued in placements])
    machine = draw(np.random.default_rng(7), 256, 2, 128, 1e-3)
    for name, value in {
        "hop": 0.0,
        "entry": 0.0,
        "knee": 2.0,
        "tail": np.abs(machine[:, COLUMNS.index("tail")]),
    }.items():
        machine[:, COLUMNS.index(name)] = value
    none, halves, quarters, all_ = limits.log_throughput(numbers, np.array([1, 1, 1, 2]), machine)
    assert np.allclose(
        halves - none, np.log(2.0 / (1.0 + machine[:, COLUMNS.index("serial")])), atol=0.02
    )
    assert (quarters <= halves + 0.02).all()
    assert (all_ <= halves + 0.02).all()
