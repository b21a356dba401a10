"""Holm's levels against small examples by hand, and against Bonferroni's."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.gate.holm import holm

p_values = st.lists(st.floats(0.0, 1.0), min_size=1, max_size=12)


def rejected(p: list[float], alpha: float) -> list[bool]:
    return [value <= level for value, level in zip(p, holm(p, alpha), strict=True)]


@pytest.mark.parametrize(
    ("p", "expected"),
    [
        (
            [0.01, 0.04, 0.03, 0.005],
            [True, False, False, True],
        ),  # Holm's 1/4, 1/3; 0.03 > 0.05 / 2 stops, 0.04 with it
        ([0.012, 0.016, 0.024, 0.049], [True, True, True, True]),  # each just below its own level
        ([0.013, 0.016, 0.024, 0.049], [False, False, False, False]),  # the first fails, so do all
        ([0.05], [True]),
        ([1.0, 0.0], [False, True]),
    ],
)
def test_examples_by_hand(p, expected):
    assert rejected(p, 0.05) == expected


def test_each_is_told_the_level_that_it_was_held_against():
    assert holm([0.9, 0.001, 0.01], 0.06) == pytest.approx([0.06, 0.02, 0.03])
    assert holm([0.9, 0.8, 0.7], 0.06) == pytest.approx([0.02, 0.02, 0.02])


@given(p_values, st.floats(0.001, 0.4))
def test_it_is_the_definition(p, alpha):
    """Rejected are the smallest p-values up to, not with, the first that exceeds alpha over how
    many are left.
    """
    order = sorted(range(len(p)), key=lambda i: p[i])
    passing = 0
    while passing < len(p) and p[order[passing]] <= alpha / (len(p) - passing):
        passing += 1
    assert rejected(p, alpha) == [i in order[:passing] for i in range(len(p))]


@given(p_values, st.data())
def test_a_p_value_that_falls_takes_no_rejection_back(p, data):
    """Rejections that stay are why it may be applied at every look."""
    before = rejected(p, 0.05)
    lower = [data.draw(st.floats(0.0, value)) for value in p]
    assert all(
        after or not earlier for earlier, after in zip(before, rejected(lower, 0.05), strict=True)
    )
