"""Percentiles of a histogram against the sorted latencies themselves."""

from __future__ import annotations

import math
from bisect import bisect_left

from hypothesis import given
from hypothesis import strategies as st

from harness.measurement.latency import add_histograms, latency_summary

BOUNDS = (1, 2, 4, 8, 16, 32, 64, 128)  # the last bucket takes the rest as well


@given(st.lists(st.integers(0, 500), min_size=1, max_size=300))
def test_a_percentile_is_the_upper_bound_of_the_bucket_that_holds_it(latencies):
    counts = [0] * len(BOUNDS)
    for latency in latencies:
        counts[min(bisect_left(BOUNDS, latency), len(BOUNDS) - 1)] += 1
    ordered, longest = sorted(latencies), max(latencies)
    summary = latency_summary(counts, BOUNDS, longest)
    for name, percent in (("p50", 50), ("p90", 90), ("p99", 99), ("max", 100)):
        exact = ordered[math.ceil(len(ordered) * percent / 100) - 1]  # nearest rank
        reported = summary[name]
        assert exact <= reported <= longest or (longest == 0 and reported <= BOUNDS[0])
        bound = next((bound for bound in BOUNDS[:-1] if bound >= exact), longest)
        assert reported == (min(bound, longest) if longest else bound)
    assert summary["count"] == len(latencies)


@given(st.lists(st.integers(1, 500), min_size=1, max_size=300))
def test_a_mean_is_off_by_half_a_bucket_at_most(latencies):
    counts = [0] * len(BOUNDS)
    for latency in latencies:
        counts[min(bisect_left(BOUNDS, latency), len(BOUNDS) - 1)] += 1
    longest = max(latencies)
    mean = latency_summary(counts, BOUNDS, longest)["mean"]
    lows = (0, *BOUNDS)
    widths = [min(BOUNDS[i], longest) - lows[i] for i in range(len(BOUNDS) - 1)]
    widths.append(max(longest - lows[len(BOUNDS) - 1], 0))
    allowed = sum(count * width / 2 for count, width in zip(counts, widths, strict=True))
    assert abs(mean - sum(latencies) / len(latencies)) <= allowed / len(latencies) + 0.5


def test_an_empty_histogram_has_no_percentiles():
    nothing = {"p50": None, "p90": None, "p99": None, "mean": None, "max": None, "count": 0}
    assert latency_summary([0, 0], (1, 2), 0) == nothing
    assert latency_summary([], (), 0) == nothing


def test_histograms_of_all_samples_are_added():
    assert add_histograms([(1, 2, 3), (10, 20, 30)]) == [11, 22, 33]
    assert add_histograms([]) == []
