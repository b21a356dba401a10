"""Whole calls on kinds of values that the rules were not made with: no wrong verdict in more than 1
% of calls.

The fast tests make a few calls of each kind, with fixed seeds. The slow ones make a thousand.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from harness.gate.verdict import Verdict
from tests.gate.kept_back import COSTS, SCALED, shares
from tests.gate.test_wrong_answers import ALPHA, FACTOR, verdicts

FEW, MANY, BLOCKS = 12, 1000, 27


def most(calls: int, share: float = ALPHA) -> int:
    """Number of wrong calls that a rate allows, at 0.999."""
    return int(stats.binom.ppf(0.999, calls, share))


def check_scaled(kind: str, ratio: float, calls: int, blocks: int) -> None:
    said = verdicts(
        lambda draw, is_head: SCALED[kind](draw, np.where(is_head, ratio, 1.0)),
        calls=calls,
        blocks=blocks,
    )
    assert said[Verdict.OK] + said[Verdict.IMPROVED] <= most(calls)
    if ratio <= FACTOR:
        assert said[Verdict.REGRESSED] <= most(calls)


@pytest.mark.parametrize("kind", SCALED)
def test_a_slowdown_by_the_factor_is_neither_ok_nor_regressed(kind):
    check_scaled(kind, FACTOR, FEW, 15)


@pytest.mark.slow
@pytest.mark.parametrize("ratio", [FACTOR, 1.05])
@pytest.mark.parametrize("kind", SCALED)
def test_rates_on_head_that_is_base_times_a_constant(kind, ratio):
    check_scaled(kind, ratio, MANY, BLOCKS)


@pytest.mark.slow
@pytest.mark.parametrize("cost", COSTS)
@pytest.mark.parametrize(("before", "after"), [(0.1, 0.2), (0.2, 0.4), (0.05, 0.2)])
def test_rate_of_ok_with_more_slow_processes(before, after, cost):
    """Means differ by 11 to 19 %."""
    said = verdicts(
        lambda draw, is_head: shares(draw, is_head, before, after, cost), calls=MANY, blocks=BLOCKS
    )
    assert said[Verdict.OK] + said[Verdict.IMPROVED] <= most(MANY)


@pytest.mark.slow
@pytest.mark.parametrize("cost", COSTS)
@pytest.mark.parametrize(
    ("before", "after", "rate"), [(0.2, 0.0, 0.03), (0.3, 0.0, ALPHA), (0.4, 0.2, 0.02)]
)
def test_rate_of_regressed_with_fewer_slow_processes_and_a_lower_mean(before, after, rate, cost):
    """A fifth of slow processes with amounts that differ is seen too seldom for 1 %:
    docs/explanation/gate-statistics.md says what holds."""
    said = verdicts(
        lambda draw, is_head: shares(draw, is_head, before, after, cost, ratio=0.97),
        calls=MANY,
        blocks=BLOCKS,
    )
    assert said[Verdict.REGRESSED] <= most(MANY, rate)
