"""Other tools' rules, as they are: they call what those tools call, and are fooled by what fools
them.
"""

from __future__ import annotations

import random

import pytest

from studies.gate_error_rates.yardsticks import (
    YARDSTICKS,
    Yardstick,
    mann_whitney,
    mean_5_percent,
    welch,
)


def samples(centre: float, n: int = 20, seed: int = 1, spread: float = 1.0) -> list[float]:
    draw = random.Random(seed)
    return [draw.gauss(centre, spread) for _ in range(n)]


def test_mean_5_percent_begins_above_5():
    assert not mean_5_percent([100.0, 100.0], [104.0, 106.0])
    assert mean_5_percent([100.0, 100.0], [104.0, 106.1])
    assert not mean_5_percent([106.0], [100.0])


@pytest.mark.parametrize("rule", [mann_whitney, welch])
def test_tests_call_what_is_slower_only(rule):
    base, slower = samples(100.0), samples(102.0, seed=2)
    assert rule(base, slower)
    assert not rule(slower, base)
    assert not rule(base, samples(100.0, seed=2))


@pytest.mark.parametrize("rule", [mann_whitney, welch])
def test_tests_are_two_sided_at_5_percent(rule):
    """One in forty of equal sides is called slower; a one-sided test would call twice as many."""
    called = sum(
        rule(samples(100.0, seed=2 * i), samples(100.0, seed=2 * i + 1)) for i in range(1500)
    )
    assert 20 <= called <= 57  # 37.5 expected; outside in 2 of 1,000 cases


def test_a_wild_value_moves_means_but_not_ranks():
    base = samples(100.0)
    head = [*samples(100.0, 19, seed=2), 1000.0]
    assert mean_5_percent(base, head)
    assert not mann_whitney(base, head)


def test_values_that_do_not_scatter():
    assert welch([1.0, 1.0], [2.0, 2.0])
    assert not welch([1.0, 1.0], [1.0, 1.0])
    assert not welch([1.0], [2.0])  # nothing is known of how they scatter
    assert not mann_whitney([1.0], [2.0])


def any_called(rule: Yardstick, cells) -> bool:
    """Return what fails a build; none of the tools corrects for the number of cells."""
    return any(rule(base, head) for base, head in cells)


def test_one_cell_called_fails_the_build_and_more_cells_fail_more_builds():
    same = (samples(100.0), samples(100.0, seed=2))
    slower = (samples(100.0), samples(110.0, seed=2))
    for rule in YARDSTICKS.values():
        assert not any_called(rule, [same, same])
        assert any_called(rule, [same, slower])
    cells = [(samples(100.0, 8, seed=2 * i), samples(100.0, 8, seed=2 * i + 1)) for i in range(400)]
    builds = [cells[i : i + 10] for i in range(0, 400, 10)]
    assert (
        sum(any_called(welch, build) for build in builds) > 3
    )  # 1 of 40 is promised of a cell; 22 % of ten
