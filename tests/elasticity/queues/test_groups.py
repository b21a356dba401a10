"""Operators in groups of cost, at the edges of the groups."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.elasticity import Layout
from harness.elasticity.queues.groups import (
    GROUPS,
    by_doubles_of_the_lightest,
    by_halves,
    by_parts_of_the_heaviest,
    places,
    places_of_operators,
)
from harness.graph import PortId

GROUPINGS = (by_halves, by_parts_of_the_heaviest, by_doubles_of_the_lightest)


def numbers(grouping, costs):
    """The group of each operator."""
    groups = grouping(range(len(costs)), costs)
    assert len(groups) == GROUPS
    return [
        next(number for number, group in enumerate(groups) if operator in group)
        for operator in range(len(costs))
    ]


def test_halves_of_the_heaviest_make_logarithmic_groups():
    assert numbers(by_halves, [0.64, 0.33, 0.32, 0.17, 0.16, 0.01, 0.64 / 2**7.5, 0.64 / 2**8, 0.64 / 2**20, 0.0]) == [
        8, 8, 7, 7, 6, 2, 1, 0, 0, 0,
    ]  # fmt: skip


def test_parts_of_the_heaviest_are_not_logarithmic():
    costs = [0.9, 0.46, 0.45, 0.31, 0.3, 0.225, 0.12, 0.1124, 0.1, 0.01, 0.0]
    assert numbers(by_parts_of_the_heaviest, costs) == [8, 8, 7, 7, 6, 5, 2, 1, 0, 0, 0]


def test_doubles_of_the_lightest_put_what_was_not_seen_before_it():
    costs = [0.0, 0.001, 0.0019, 0.002, 0.0039, 0.004, 0.065, 0.127, 0.129, 0.8]
    assert numbers(by_doubles_of_the_lightest, costs) == [0, 1, 1, 2, 2, 3, 7, 7, 8, 8]


@pytest.mark.parametrize("grouping", GROUPINGS)
def test_without_costs_all_are_in_the_first_group_in_ascending_order(grouping):
    assert grouping([5, 2, 9], ()) == [[2, 5, 9]] + [[]] * (GROUPS - 1)
    assert grouping([], ()) == [[]] * GROUPS


@pytest.mark.parametrize("grouping", GROUPINGS)
@given(
    costs=st.lists(
        st.floats(0.0, 1.0) | st.sampled_from([0.0, 5e-324, math.nan, math.inf, -1.0]), max_size=30
    )
)
def test_each_operator_is_in_one_group_whatever_the_costs(grouping, costs):
    groups = grouping(range(len(costs)), costs)
    assert sorted(operator for group in groups for operator in group) == list(range(len(costs)))
    assert all(group == sorted(group) for group in groups)


@pytest.mark.parametrize("grouping", GROUPINGS)
@given(costs=st.lists(st.floats(1e-6, 1.0), min_size=2, max_size=30))
def test_a_dearer_operator_is_never_in_a_lighter_group(grouping, costs):
    found = numbers(grouping, costs)
    assert all(
        a <= b or x > y
        for a, x in zip(found, costs, strict=True)
        for b, y in zip(found, costs, strict=True)
    )


def test_an_operator_with_two_places_has_both_switched():
    layout = Layout(
        [PortId("b", 0), PortId("a", 0), PortId("b", 1)],
        [2, 1, 2],
        [0],
        [],
        [1.0] * 3,
        [0.0] * 3,
        0,
        1,
    )
    found = places_of_operators(layout)
    assert found == {1: (1,), 2: (0, 2)}
    assert places(found, [2]) == {0, 2}
