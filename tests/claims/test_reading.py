"""Numbers with a range, and what comparisons of them leave open."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.claims.reading import (
    Finding,
    Missing,
    RangedNumber,
    all_of,
    any_of,
    greater,
    greatest,
    not_below,
    of_all,
    of_runs,
    of_spread,
    within,
)

YES = Finding(True, True)
NO = Finding(False, False)
MAYBE = Finding(True, None)
UNLIKELY = Finding(False, None)
OPEN = Finding(None, None)


def number(low: float, value: float, high: float) -> RangedNumber:
    return RangedNumber(value, low, high)


@pytest.mark.parametrize("one", [True, False])
@pytest.mark.parametrize("other", [True, False])
def test_a_ratio_says_something_only_if_both_numbers_do(one, other):
    over = RangedNumber(6, 4, 8, 5, is_varied=one, is_open=one)
    under = RangedNumber(2, 1, 4, 3, is_varied=other, is_open=other)
    assert over / under == RangedNumber(3, 1, 8, 3, is_varied=one and other, is_open=one or other)


@pytest.mark.parametrize(
    ("high", "low", "finding"),
    [
        (number(11, 12, 13), number(8, 9, 10), YES),
        (number(8, 9, 10), number(11, 12, 13), NO),
        (number(9, 12, 13), number(8, 9, 10), MAYBE),
        (number(8, 9, 12), number(10, 11, 13), UNLIKELY),
        (number(10, 12, 13), number(8, 9, 10), MAYBE),  # they touch: equal is not greater
        (number(8, 9, 10), number(10, 11, 12), NO),
        (number(5, 5, 5), number(5, 5, 5), NO),
    ],
)
def test_an_order_is_clear_if_the_ranges_do_not_overlap(high, low, finding):
    assert greater(high, low) == finding


@pytest.mark.parametrize(
    ("reading", "finding"),
    [
        (number(2, 3, 4), YES),  # the limits, 2 and 4, belong to it
        (number(1.9, 3, 4), MAYBE),
        (number(3, 4.5, 5), UNLIKELY),
        (number(4.1, 5, 6), NO),
        (number(4, 5, 6), UNLIKELY),
        (number(0, 1, 2), UNLIKELY),
        (number(0, 1, 1.9), NO),
    ],
)
def test_a_number_is_within_limits_if_its_range_is(reading, finding):
    assert within(reading, 2, 4) == finding


@pytest.mark.parametrize(
    ("high", "finding"),
    [
        ((9.5, 9.7, 9.9), YES),
        ((9.4, 9.5, 9.9), MAYBE),
        ((9, 9.4, 9.6), UNLIKELY),
        ((8, 8.4, 8.5), NO),
        ((8, 8.5, 8.55), UNLIKELY),
    ],
)
def test_not_below_allows_the_limit(high, finding):
    """At least 0.95 times a number from 9 to 10."""
    assert not_below(number(*high), number(9, 10, 10), 0.95) == finding


def test_a_limit_that_is_not_given_does_not_bind():
    assert within(number(1, 2, 1e9), 1, None) == YES
    assert within(number(-1e9, 2, 3), None, 3) == YES


def test_one_run_leaves_open_what_is_within_limits():
    assert within(of_runs([3.0]), 2, 4) == MAYBE
    assert within(of_runs([5.0]), 2, 4) == UNLIKELY
    assert within(of_spread(0.01, 1), None, 0.1) == OPEN


def test_one_run_refutes_what_is_said_of_all_and_cannot_confirm_it():
    assert within(of_all([3.0], 1), 2, 4) == within(of_all([3.0], 1), 2, None) == OPEN
    assert within(of_all([5.0], 1), 2, 4) == within(of_all([1.0], 1), 2, None) == NO
    assert within(of_all([3.0, 3.0], 2), 2, 4) == YES


SAMPLES = 4000


@pytest.mark.parametrize("n", [2, 3, 5, 8])
def test_a_range_of_runs_covers_their_mean_and_one_of_their_spread_the_standard_deviation(n):
    runs = np.random.default_rng(n).normal(100, 10, (SAMPLES, n))
    means = [of_runs(run) for run in runs.tolist()]
    spreads = [of_spread(deviation, n) for deviation in runs.std(axis=1, ddof=1).tolist()]
    for readings, truth in ((means, 100), (spreads, 10)):
        covered = np.mean([reading.low <= truth <= reading.high for reading in readings])
        assert covered == pytest.approx(0.95, abs=0.014)


@pytest.mark.parametrize("limit", [110, 90])
def test_more_runs_make_a_claim_clearer_and_neither_stricter_nor_wrong(limit):
    """Runs of a mean of 100 are at most `limit`, or not: wrong answers are rare, and more runs give
    more right ones.
    """
    holds = limit > 100
    rng, right = np.random.default_rng(limit), []
    for n in (2, 4, 8):
        findings = [
            within(of_runs(run), None, limit).throughout
            for run in rng.normal(100, 10, (1000, n)).tolist()
        ]
        assert findings.count(not holds) <= 0.025 * 1000 + 3 * (1000 * 0.025) ** 0.5
        right.append(findings.count(holds))
    assert right[0] < right[1] < right[2]
    assert right[2] > 500


def test_all_and_any_follow_kleene():
    assert all_of([YES, MAYBE]) == MAYBE
    assert all_of([YES, NO, MAYBE]) == NO
    assert all_of([YES, YES]) == YES
    assert any_of([NO, MAYBE]) == MAYBE
    assert any_of([YES, UNLIKELY]) == YES
    assert any_of([NO, NO]) == NO
    assert all_of([MAYBE, UNLIKELY]) == UNLIKELY


def test_the_range_of_a_ratio_is_that_of_the_extremes():
    ratio = number(8, 10, 12) / number(2, 4, 5)
    assert (ratio.value, ratio.low, ratio.high) == (2.5, 1.6, 6.0)


def test_a_ratio_to_what_may_be_nothing_or_anything_has_no_end():
    assert (number(8, 10, 12) / number(0, 4, math.inf)).high == math.inf
    assert (number(8, 10, 12) / number(0, 4, math.inf)).low == 0


def test_a_ratio_to_0_is_missing():
    with pytest.raises(Missing, match="a ratio to 0"):
        number(1, 1, 1) / number(0, 0, 1)


def test_of_a_number_that_is_not_known_holds_what_holds_throughout_its_range():
    takes_longer = RangedNumber(150, 150, math.inf, is_open=True)
    assert within(takes_longer, 100, None) == YES
    assert within(takes_longer, None, 140) == NO
    assert within(takes_longer, 100, 300) == Finding(None, None)
    assert greater(takes_longer, number(90, 100, 110)) == YES
    assert not_below(number(160, 170, 180), takes_longer) == Finding(None, None)
    ratio = number(100, 100, 100) / takes_longer
    assert within(ratio, None, 0.9) == YES
    assert within(ratio, None, 0.6) == Finding(None, None)
    assert (
        all_of([YES, Finding(None, None)])
        == any_of([NO, Finding(None, None)])
        == Finding(None, None)
    )


def test_the_greatest_number_lies_between_the_greatest_ends():
    assert greatest([number(6, 7, 8), number(3, 5, 9), number(1, 2, 3)]) == number(6, 7, 9)


def test_runs_without_the_number_do_not_count():
    assert of_runs([1.0, math.nan, 3.0]) == of_runs([1.0, 3.0])
    with pytest.raises(Missing):
        of_runs([math.nan])


shares = st.floats(0, 1)
readings = (
    st.lists(st.floats(0.1, 1e6), min_size=3, max_size=3)
    .map(sorted)
    .map(lambda three: number(*three))
)


@given(readings, readings, shares, shares, st.floats(0.01, 100))
def test_what_holds_throughout_holds_at_every_point_of_the_ranges(a, b, where_a, where_b, limit):
    point_a, point_b = a.low + where_a * (a.high - a.low), b.low + where_b * (b.high - b.low)
    slack = 1e-9
    order = greater(a, b)
    if order.throughout is not None:
        assert order.throughout == order.holds == (a.value > b.value)
        assert (
            (point_a > point_b * (1 - slack))
            if order.throughout
            else (point_a <= point_b * (1 + slack))
        )
    share = within(a / b, limit, None)
    if share.throughout is not None:
        ratio = point_a / point_b
        assert (ratio >= limit * (1 - slack)) if share.throughout else (ratio < limit * (1 + slack))


@pytest.mark.parametrize(
    ("high", "low", "holds"),
    [
        (117, 100, True),
        (107, 100, True),
        (106, 100, None),  # the next bucket: nobody can tell
        (100, 100, None),
        (100, 106, None),
        (100, 107, False),
    ],
)
def test_latencies_of_neighbouring_buckets_are_in_no_order(high, low, holds):
    one, other = (
        RangedNumber(value, value, 2 * value, resolution=1 / 16, is_varied=False)
        for value in (high, low)
    )
    assert greater(one, other, 0.02).holds is holds


@pytest.mark.parametrize(
    ("value", "holds"), [(160, True), (155, None), (150, None), (145, None), (141, False)]
)
def test_a_ratio_of_latencies_within_a_bucket_of_its_limit_is_open(value, holds):
    one, other = (RangedNumber(each, each, each, resolution=1 / 16) for each in (value, 100))
    assert within(one / other, 1.5, None).holds is holds
    assert within(one / other, None, 1.5).holds is (None if holds is None else not holds)


@pytest.mark.parametrize(("high", "throughout"), [(101, False), (103, True), (99, False)])
def test_numbers_within_the_least_difference_are_surely_not_above_each_other(high, throughout):
    found = greater(RangedNumber(high, high, high), RangedNumber(100, 100, 100), 0.02)
    assert (found.holds, found.throughout) == (throughout, throughout)
