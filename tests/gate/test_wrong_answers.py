"""Whole calls on values that are coarse, or of which some are slow: no wrong verdict in more than 1
%.

The share of wrong calls is held against the binomial distribution of 1 %, at 0.999; the seeds are
fixed.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

from harness.gate.cell import GateCell, Metric
from harness.gate.decide import Family
from harness.gate.order import block_order
from harness.gate.sequential import declare
from harness.gate.verdict import Verdict
from tests.gate.made_values import COARSE, CONTINUOUS, Values, slow_share

FACTOR, ALPHA, CALLS, BLOCKS = 1.02, 0.01, 60, 18
MOST = int(stats.binom.ppf(0.999, CALLS, ALPHA))

Made = Callable[[np.random.Generator, Values], Values]
"""Function of a generator and, for each process, whether it is head's. Returns what they give."""


def verdicts(made: Made, calls: int = CALLS, seed: int = 3) -> Counter[Verdict]:
    """Verdicts of calls with one cell, each measured until it is decided or has `BLOCKS` blocks."""
    draw, coin, said = np.random.default_rng(seed), random.Random(seed), Counter[Verdict]()
    for _ in range(calls):
        family = Family([GateCell("a", Metric())], FACTOR, ALPHA, declare(1, ALPHA))
        orders = [block_order(coin) for _ in range(BLOCKS)]
        is_head = np.array([[side == "head" for side in order] for order in orders])
        values = made(draw, is_head.ravel()).reshape(is_head.shape)
        for row, of_head in zip(values, is_head, strict=True):
            family.add("a", tuple(row[~of_head].tolist()), tuple(row[of_head].tolist()))
        said[family.verdict("a")] += 1
    return said


def steady(draw: np.random.Generator, is_head: Values) -> Values:
    """A fifth of base's processes take 2.2 times as long; head has one speed, and a mean 3 %
    lower.
    """
    base = slow_share(draw, np.full(is_head.shape, 0.2), 2.2)
    head = 0.97 * 1.24 * slow_share(draw, np.zeros(is_head.shape), 2.2)
    return np.where(is_head, head, base)


@pytest.mark.parametrize("kind", COARSE)
@pytest.mark.parametrize("ratio", [1.05, 1.2])
def test_no_slowdown_of_coarse_values_is_ok(kind, ratio):
    said = verdicts(lambda draw, is_head: COARSE[kind](draw, np.where(is_head, ratio, 1.0)))
    assert said[Verdict.OK] + said[Verdict.IMPROVED] <= MOST


@pytest.mark.parametrize("kind", CONTINUOUS)
def test_a_slowdown_by_the_factor_is_neither_ok_nor_regressed(kind):
    said = verdicts(lambda draw, is_head: CONTINUOUS[kind](draw, np.where(is_head, FACTOR, 1.0)))
    assert said[Verdict.OK] + said[Verdict.IMPROVED] <= MOST
    assert said[Verdict.REGRESSED] <= MOST


@pytest.mark.parametrize("has_tail", [False, True])
def test_more_slow_processes_are_not_ok(has_tail):
    """From 20 to 40 %, with a mean that is 19 % higher."""
    said = verdicts(
        lambda draw, is_head: slow_share(draw, np.where(is_head, 0.4, 0.2), 2.2, tail=has_tail)
    )
    assert said[Verdict.OK] + said[Verdict.IMPROVED] <= MOST


def test_a_steady_head_with_a_lower_mean_is_not_regressed():
    assert verdicts(steady)[Verdict.REGRESSED] <= MOST


def test_fine_values_are_decided():
    for ratio, verdict in ((1.0, Verdict.OK), (1.05, Verdict.REGRESSED)):
        said = verdicts(
            lambda draw, is_head, ratio=ratio: CONTINUOUS["normal 1 %"](
                draw, np.where(is_head, ratio, 1.0)
            ),
            calls=20,
        )
        assert said[verdict] == 20
