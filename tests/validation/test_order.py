"""The order of the models: what counts as different, and when it is right."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.validation.order import SafeRatio, pairs, safe_ratio, safe_ratio_by_cost
from tests.validation.made_runs import beside, case


def two(manual, dedicated, **of_dedicated):
    """The pairs of two arms of a cell, each a measured and a predicted rate."""
    return pairs(
        [beside(case("manual"), *manual), beside(case("dedicated", **of_dedicated), *dedicated)]
    )


@pytest.mark.parametrize("faster", [115.0, 100.0, 87.0])
def test_arms_that_differ_by_15_percent_or_less_have_no_order(faster):
    assert two((100.0, 1.0), (faster, 2.0)) == []


@pytest.mark.parametrize(("one", "other"), [(100.0, 115.1), (115.1, 100.0), (1.0, 1e6)])
def test_the_order_is_that_of_the_measured_medians(one, other):
    (pair,) = two((one, one), (other, other))
    assert pair.faster.measured == max(one, other)
    assert pair.measured == pair.predicted == max(one, other) / min(one, other)
    assert pair.right


@pytest.mark.parametrize(("forecast", "right"), [(100.1, True), (100.0, False), (99.9, False)])
def test_predicted_as_fast_is_wrong(forecast, right):
    (pair,) = two((100.0, 100.0), (200.0, forecast))
    assert pair.right is right


def test_a_tie_as_measured_may_be_predicted_in_any_order():
    assert two((100.0, 500.0), (110.0, 100.0)) == []


def test_arms_of_different_cells_and_arms_without_a_rate_are_not_compared():
    assert two((100.0, 1.0), (200.0, 2.0), cost=100) == []
    assert two((100.0, 1.0), (200.0, None)) == []
    assert two((100.0, 1.0), (None, 5.0)) == []


def test_a_forecast_of_nothing_is_no_order():
    (pair,) = two((100.0, 0.0), (200.0, 0.0))
    assert (pair.right, pair.predicted) == (False, 1.0)
    (pair,) = two((100.0, 0.0), (200.0, 5.0))
    assert (pair.right, pair.predicted) == (True, math.inf)


DOUBTS = (
    {"low": 50.0},
    {"others": 0.5},
    {"other_state_used": True},
    {"unsettled_used": True},
    {"predicted_unsettled": 1},
)


@pytest.mark.parametrize("doubt", DOUBTS, ids=str)
def test_a_pair_is_doubtful_if_one_of_its_arms_is(doubt):
    sure = [beside(case("manual"), 100.0, 100.0), beside(case("dedicated"), 200.0, 200.0)]
    (pair,) = pairs(sure)
    assert not pair.doubtful
    for place in range(2):
        (pair,) = pairs(
            [replace(each, **doubt) if index == place else each for index, each in enumerate(sure)]
        )
        assert pair.doubtful


@given(st.lists(st.tuples(st.floats(1.0, 1e3), st.floats(1.0, 1e3)), min_size=4, max_size=4))
def test_every_two_arms_are_a_pair_or_a_tie_and_a_perfect_forecast_is_right(rates):
    arms = ("manual", "dedicated", "dynamic-1", "dynamic-2")
    found = pairs([beside(case(arm), *pair) for arm, pair in zip(arms, rates, strict=True)])
    ties = sum(
        max(a, b) / min(a, b) <= 1.15 for i, (a, _) in enumerate(rates) for b, _ in rates[:i]
    )
    assert len(found) + ties == 6
    assert all(
        pair.right
        for pair in pairs(
            [beside(case(arm), rate, rate) for arm, (rate, _) in zip(arms, rates, strict=True)]
        )
    )


def test_the_safe_ratio_covers_nine_of_ten_pairs_whichever_arm_is_predicted_too_fast():
    """Ten cells with two arms each: in nine of them a ratio is wrong by 1.1, half of them upwards,
    in one by 4.
    """
    cells = []
    for cost in range(10):
        factor = 4.0 if cost == 3 else 1.1 if cost % 2 else 1 / 1.1
        cells += [
            beside(case("manual", cost=cost), 100.0, 100.0 * factor),
            beside(case("dedicated", cost=cost), 400.0, 400.0),
        ]
    found = safe_ratio(cells)
    assert (found.pairs, found.factor) == (10, pytest.approx(1.1))
    assert safe_ratio(cells[6:8]).factor == pytest.approx(4.0)


def test_errors_that_arms_share_leave_their_ratio_right():
    both = [beside(case("manual"), 100.0, 150.0), beside(case("dedicated"), 10.0, 15.0)]
    assert safe_ratio(both) == SafeRatio(1, 1.0)


def test_there_is_no_safe_ratio_without_pairs_and_none_is_safe_if_an_arm_is_predicted_to_stand_still():
    assert safe_ratio([beside(case("manual"), 100.0, 100.0)]) is None
    still = [beside(case("manual"), 100.0, 0.0), beside(case("dedicated"), 10.0, 15.0)]
    assert safe_ratio(still) == SafeRatio(1, math.inf)


def test_the_safe_ratio_of_a_cost_is_of_its_own_pairs():
    cells = [
        beside(case("manual", cost=1), 100.0, 200.0),
        beside(case("dedicated", cost=1), 100.0, 100.0),
        beside(case("manual", cost=100), 100.0, 100.0),
        beside(case("dedicated", cost=100), 100.0, 100.0),
    ]
    assert safe_ratio_by_cost(cells) == [
        ("all", "", SafeRatio(2, 2.0)),
        ("cost", "1", SafeRatio(1, 2.0)),
        ("cost", "100", SafeRatio(1, 1.0)),
    ]
