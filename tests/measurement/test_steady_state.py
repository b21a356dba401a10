"""Warm-up ends when the run is stationary, and only then."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from harness.measurement.observe import (
    WINDOWS_AGREE_WITHIN,
    FlowWindow,
    is_warm,
    settled_within,
    stationary,
    stayed_settled,
)

COUNTS = st.integers(min_value=1000, max_value=10**9)


def warm_after(windows: list, copies: int | None = 1) -> int | None:
    """The number of windows after which the warm-up was over; None if it was not."""
    numbers = range(1, len(windows) + 1)
    return next((number for number in numbers if is_warm(windows[:number], copies)), None)


def test_a_steady_run_settles_after_two_windows(sample):
    assert warm_after([sample(0.1, 1000, 1000)] * 5) == 2


def test_a_filling_pipeline_has_not_settled_though_its_sinks_are_steady(sample):
    filling = [sample(0.1, 2000, 1000)] * 20
    assert warm_after(filling) is None
    assert warm_after([*filling, *[sample(0.1, 1000, 1000)] * 5]) == 22, (
        "neither of the two windows may be one of filling"
    )


def test_one_steady_window_between_two_others_does_not_settle_a_run(sample):
    windows = [sample(0.1, n, n) for n in (1000, 2000, 1000, 2000, 4000)]
    assert warm_after(windows) is None


def test_the_sources_rate_is_scaled_by_the_copies_that_a_tuple_becomes(sample):
    assert warm_after([sample(0.1, 1000, 3000)] * 3, copies=3) == 2
    assert warm_after([sample(0.1, 1000, 3000)] * 3) is None


def test_sources_are_not_looked_at_where_copies_are_unknown(sample):
    assert warm_after([sample(0.1, 9, 3000)] * 3, copies=None) == 2


def test_silence_is_not_a_steady_state(sample):
    assert warm_after([sample(0.5, 0, 0)] * 10) is None


def test_windows_of_few_tuples_may_differ_by_one(sample):
    assert warm_after([sample(0.1, 4, 4), sample(0.1, 5, 4)]) == 2
    assert warm_after([sample(0.1, 6, 4), sample(0.1, 6, 4)]) is None


@given(COUNTS, st.floats(0.01, 10), st.integers(1, 8), st.floats(0.8, 1.25))
def test_two_windows_settle_exactly_if_their_rates_agree_within_the_tolerance(
    count, elapsed_s, copies, ratio
):
    other = round(count * ratio)
    first = FlowWindow(elapsed_s, count, copies * count)
    second = FlowWindow(elapsed_s, other, copies * other)
    differ = abs(count - other) > max(WINDOWS_AGREE_WITHIN * max(count, other) * (1 + 1e-9), 1)
    agree = abs(count - other) < WINDOWS_AGREE_WITHIN * max(count, other) * (1 - 1e-9)
    if agree or differ:
        assert stationary(first, second, copies) == agree
    assert stationary(first, second, copies) == stationary(second, first, copies)


@given(COUNTS, st.floats(0.05, 1), st.floats(1.1, 5))
def test_only_rates_count_not_the_windows_lengths(count, elapsed_s, stretch):
    longer = round(count * stretch)
    assert stationary(
        FlowWindow(elapsed_s, count, count),
        FlowWindow(elapsed_s * longer / count, longer, longer),
        1,
    )


def test_a_measured_window_is_steady_if_its_halves_agree(sample):
    assert settled_within([sample(0.1, 1000, 1000)] * 10, copies=1)
    assert not settled_within([sample(0.1, n, n) for n in range(1000, 2000, 100)], copies=1)
    assert not settled_within([sample(0.1, 1000, 1000)], copies=1)
    assert not settled_within([], copies=1)


def test_a_window_in_which_a_run_speeds_up_or_fills_its_queues_was_not_settled(sample):
    assert stayed_settled([sample(0.1, 1000, 1000)] * 5 + [sample(0.1, 1200, 1200)] * 5, copies=1)
    assert not stayed_settled(
        [sample(0.1, 1000, 1000)] * 5 + [sample(0.1, 1300, 1300)] * 5, copies=1
    )
    assert not stayed_settled([sample(0.1, 1300, 1000)] * 10, copies=1)
    assert stayed_settled([sample(0.1, 1000, 1000)], copies=1)


def test_a_run_that_comes_in_bursts_settles_once_a_window_is_longer_than_they_are(sample):
    """Bursts of three samples' length: neighbouring samples never agree, thirds of the warm-up do
    in the end.
    """
    bursts = [sample(0.1, rate, rate) for rate in (3000, 200, 100)] * 10
    assert 6 <= warm_after(bursts) <= 20
