"""Balanced and skewed costs: exact counts, placed by the seed alone."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import topologies
from harness.graph.kinds import WORK
from topologies.costs import shared_costs, work_costs

CALM = settings(
    derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)  # the machine may be busy


@pytest.mark.parametrize(
    ("count", "heavy", "medium", "light"),
    [
        (1, 0, 0, 1),
        (2, 0, 1, 1),
        (4, 0, 1, 3),
        (5, 1, 2, 2),
        (10, 1, 3, 6),
        (15, 2, 5, 8),
        (80, 8, 24, 48),
        (100, 10, 30, 60),
        (1000, 100, 300, 600),
    ],
)
def test_skewed_costs_have_exact_counts(count, heavy, medium, light):
    costs = work_costs("skewed", count, 0)
    assert Counter(costs) == +Counter({10_000: heavy, 100: medium, 1: light})


@CALM
@given(st.integers(1, 3000), st.integers(0, 2**63 - 1))
def test_skewed_shares_are_within_half_an_operator(count, seed):
    counts = Counter(work_costs("skewed", count, seed))
    assert abs(counts[10_000] - 0.1 * count) <= 0.5
    assert abs(counts[100] - 0.3 * count) <= 0.5
    assert counts.total() == count


def test_balanced_costs_are_all_the_same_whatever_the_seed():
    assert work_costs(250, 4, 1) == work_costs(250, 4, 2) == [250] * 4


@pytest.mark.parametrize(
    "name", [name for name, each in topologies.TOPOLOGIES.items() if "cost" in each.parameters]
)
def test_the_seed_alone_decides_the_placement(name):
    def placed(seed: int) -> list[int]:
        graph, _ = topologies.build(name, {"cost": "skewed"}, seed)
        return [operator.cost for operator in graph.operators.values() if operator.kind is WORK]

    assert placed(1) == placed(1)
    assert placed(1) != placed(2)
    assert sorted(placed(1)) == sorted(placed(2))


def test_the_placement_is_the_same_on_every_machine_and_python():
    assert work_costs("skewed", 10, 0) == [100, 1, 1, 100, 1, 1, 1, 100, 1, 10_000]


@pytest.mark.parametrize(
    ("heavy", "counts"),
    [(0, (0, 33, 67)), (10, (10, 30, 60)), (90, (90, 3, 7)), (100, (100, 0, 0))],
)
def test_a_share_of_heavy_operators_leaves_a_third_of_the_others_medium(heavy, counts):
    assert Counter(shared_costs(heavy, 100, 3)) == +Counter(
        dict(zip((10_000, 100, 1), counts, strict=True))
    )


@CALM
@given(st.integers(1, 300), st.integers(0, 100), st.integers(0, 100), st.integers(0, 2**32))
def test_who_is_heavy_in_a_share_is_so_in_every_larger_one(count, one, other, seed):
    fewer, more = (shared_costs(share, count, seed) for share in sorted((one, other)))
    assert all(
        after == 10_000 for before, after in zip(fewer, more, strict=True) if before == 10_000
    )
    assert abs(fewer.count(10_000) - min(one, other) * count / 100) <= 0.5
