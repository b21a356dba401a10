"""Tests of what the benchmarks compute from rates, without measuring any."""

from __future__ import annotations

import importlib
import os

import numpy as np
import pytest

from harness.errors import RunFailed
from harness.measurement.rank_interval import LEVEL, Interval, coverage, median_interval, rank
from tests.benchmarks import fresh
from tests.benchmarks.arms import ARMS, Cell
from tests.benchmarks.limits.__main__ import LIMITS
from tests.benchmarks.limits.hops import spread
from tests.benchmarks.peers import best_peers, peers
from tests.benchmarks.ratios import COMPARISONS, Comparison, amount, row

CELL = Cell("pipeline", 100, 1)


def test_interval_of_a_median_is_the_range_until_there_are_values_enough():
    assert [rank(n) for n in (1, 2, 5, 6, 8, 9, 12, 15)] == [
        1,
        1,
        1,
        1,
        1,
        2,
        3,
        4,
    ]  # the usual table of the sign test
    assert coverage(6, 1) == 1 - 2 / 64
    assert median_interval([3.0, 1.0, 2.0]) == (2.0, 1.0, 3.0)
    assert median_interval([9.0, 1, 2, 3, 4, 5, 6, 7, 8]) == (5.0, 2.0, 8.0)


def test_interval_of_a_median_is_as_narrow_as_its_level_allows():
    for n in range(6, 120):
        k = rank(n)
        assert coverage(n, k) >= LEVEL
        assert k == n // 2 or coverage(n, k + 1) < LEVEL
    assert rank(36_000) == pytest.approx(
        (36_000 - 1.96 * 36_000**0.5) / 2, abs=2
    )  # of many values, too, in a second


def test_ratios_are_of_times_per_hop_or_of_rates():
    assert Comparison(CELL, "manual", "C++ chain, in place").ratio(rate=50.0, base=100.0) == 2.0
    assert (
        Comparison(CELL, "manual", "C++ chain, in place", speed=True).ratio(rate=50.0, base=100.0)
        == 0.5
    )


@pytest.mark.parametrize(
    ("low", "high", "verdict"), [(1.0, 1.2, "yes"), (1.2, 1.4, "unclear"), (1.4, 1.5, "no")]
)
def test_target_is_reached_if_the_whole_interval_says_so(low, high, verdict):
    assert Comparison(CELL, "manual", most=1.3).verdict(Interval(low, low, high)) == verdict


def test_row_pairs_runs_of_one_round_and_leaves_out_failed_ones():
    comparison = Comparison(CELL, "manual", "C++ chain, in place", most=1.3)
    outcomes = {
        (CELL, "manual"): [(5e6, True), "no result", (4e6, False)],
        (CELL, "C++ chain, in place"): [(6e6, True), (9e6, True), (6e6, True)],
    }
    assert row(comparison, outcomes) == (
        "pipeline 100, cost 1",
        "manual",
        "~4.5M",
        "2.2",
        "1.35 [1.20 – 1.50] × the time of C++ chain, in place (1 of 3 rounds failed)",
        "≤ 1.3",
        "unclear",
        "",
    )


def test_row_without_a_result_says_why():
    comparison = Comparison(CELL, "manual, one queue", "C++ two threads")
    outcomes = {
        (CELL, "manual, one queue"): ["not available"],
        (CELL, "C++ two threads"): [(1e6, True)],
    }
    assert row(comparison, outcomes)[:3] == (
        "pipeline 100, cost 1",
        "manual, one queue",
        "not available",
    )


def test_every_comparison_names_arms_and_where_it_says_so_peers():
    for comparison in COMPARISONS:
        assert comparison.arm in ARMS and (comparison.against is None or comparison.against in ARMS)
        assert not comparison.beside_peers or best_peers(comparison.cell)
    assert set(peers()) <= {comparison.cell for comparison in COMPARISONS}


def test_best_peers_are_the_fastest_and_the_fastest_with_queues():
    assert [(peer.name, peer.queue) for peer in best_peers(CELL)] == [
        ("Taskflow", False),
        ("FastFlow", True),
    ]
    assert [peer.name for peer in best_peers(Cell("pipeline", 10, 1))] == [
        "WindFlow, batches of 32"
    ]
    assert best_peers(Cell("pipeline", 10, 7)) == []


@pytest.mark.parametrize("name", LIMITS)
def test_limit_has_what_the_command_prints(name):
    limit = importlib.import_module(f"tests.benchmarks.limits.{name}")
    assert limit.TITLE and len(limit.HEADINGS) >= 2 and callable(limit.rows)


def test_rates_are_shown_with_three_digits():
    assert [amount(rate) for rate in (1_234_567, 45_600, 789.4)] == ["1.23M", "45.6k", "789"]


def test_fresh_process_gives_results_and_tells_what_is_missing_or_failed():
    assert fresh.call(process_id) != os.getpid()
    with pytest.raises(fresh.Missing, match=r"^not available in this build: wings$"):
        fresh.call(misses, "wings")
    with pytest.raises(RunFailed, match="legs"):
        fresh.call(fails, "legs")


def process_id() -> int:
    return os.getpid()


def misses(what: str) -> None:
    raise fresh.Missing(what)


def fails(what: str) -> None:
    raise ValueError(what)


@pytest.mark.parametrize("between", [0.0, 0.02, 0.2])
def test_places_that_differ_are_told_apart_from_runs_that_do(between: float) -> None:
    draw = np.random.default_rng(1)
    logs = (
        0.05 * draw.standard_normal((6, 200))
        + between * draw.standard_normal(200)
        + draw.standard_normal((6, 1))
    )
    runs, places, most = spread(np.exp(logs))
    assert runs == pytest.approx(0.05, rel=0.1)
    assert places == pytest.approx(between, abs=0.2 * between + 0.01)
    assert between < most < 1.25 * between + 0.02
    with pytest.raises(RunFailed, match="made a graph faster"):
        spread(np.exp(logs) - 1e9)
