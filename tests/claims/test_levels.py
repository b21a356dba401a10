"""Tests of which levels a claim about a peak needs."""

from __future__ import annotations

import pytest

from harness.claims.levels import around, lacking


@pytest.mark.parametrize(
    ("levels", "best", "most", "found"),
    [
        ([1, 4, 12], 4, 12, (2, 11)),
        ([1, 4, 12], 12, 12, (5, 12)),
        ([1, 4, 12], 1, 12, (1, 3)),
        ([1, 2, 3], 2, 12, (2, 2)),
        ([4], 4, 12, (1, 12)),
        ([4, 8], 8, 0, (5, 8)),  # nobody knows how many CPUs there are
    ],
)
def test_a_peak_lies_between_the_neighbours_of_the_best_level(levels, best, most, found):
    assert around(levels, best, most) == found


@pytest.mark.parametrize(
    ("levels", "best", "most", "told"),
    [
        ([1, 4, 12], 4, 12, "no level of 2 to 3 and of 5 to 11 threads beside the best, 4"),
        ([1, 4, 12], 12, 12, "no level of 5 to 11 threads beside the best, 12"),
        ([1, 16, 176], 1, 176, "no level of 2 to 15 threads beside the best, 1"),
        ([1, 3], 1, 3, "no level of 2 threads beside the best, 1"),
        ([1, 2, 4, 8, 12], 4, 12, ""),
        ([1, 2, 4, 8, 16], 16, 17, ""),
        ([1, 2], 1, 12, ""),
    ],
)
def test_half_and_twice_the_best_level_are_near_enough(levels, best, most, told):
    assert lacking(levels, best, most) == told
