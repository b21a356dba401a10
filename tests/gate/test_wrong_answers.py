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

from harness.gate.cell import Cell, Metric
from harness.gate.decide import Family
from harness.gate.order import block_order
from harness.gate.sequential import declare
from harness.gate.verdict import CellResult, Verdict
from tests.gate.made_values import COARSE, CONTINUOUS, Values, slow_share

FACTOR, ALPHA, CALLS, BLOCKS = 1.02, 0.01, 60, 18
TIME = Metric()
MOST = int(stats.binom.ppf(0.999, CALLS, ALPHA))

Made = Callable[[np.random.Generator, Values], Values]
"""Function of a generator and, for each process, whether it is head's. Returns what they give."""


def verdicts(
    made: Made, calls: int = CALLS, seed: int = 3, blocks: int = BLOCKS, metric: Metric = TIME
) -> Counter[Verdict]:
    """Verdicts of calls with one cell, each measured until it is decided or has so many blocks."""
    draw, coin, said = np.random.default_rng(seed), random.Random(seed), Counter[Verdict]()
    for _ in range(calls):
        family = Family([Cell("a", metric)], FACTOR, ALPHA, declare(1, ALPHA))
        orders = [block_order(coin) for _ in range(blocks)]
        is_head = np.array([[side == "head" for side in order] for order in orders])
        values = made(draw, is_head.ravel()).reshape(is_head.shape)
        for row, of_head in zip(values, is_head, strict=True):
            family.add("a", tuple(row[~of_head].tolist()), tuple(row[of_head].tolist()))
            if not family.open():
                break
        said[family.verdict("a")] += 1
    return said


def steadier(before: float, after: float, tail: bool) -> Made:
    """Processes that take 2.2 times as long are a share `before` of base's and `after` of head's,
    whose mean is 3 % lower. `tail` as in `slow_share`."""

    def made(draw: np.random.Generator, is_head: Values) -> Values:
        level = np.where(is_head, 0.97 * (1 + 1.2 * before) / (1 + 1.2 * after), 1.0)
        return level * slow_share(draw, np.where(is_head, after, before), 2.2, tail=tail)

    return made


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


@pytest.mark.parametrize("has_tail", [False, True])
@pytest.mark.parametrize(("before", "after"), [(0.2, 0.0), (0.3, 0.0), (0.4, 0.2)])
def test_a_head_with_fewer_slow_processes_and_a_lower_mean_is_not_regressed(
    before, after, has_tail
):
    assert verdicts(steadier(before, after, has_tail))[Verdict.REGRESSED] <= MOST


def slow_tail(draw: np.random.Generator, is_head: Values) -> Values:
    """One process in five of head takes longer, by a fifth on average; of base none."""
    return slow_share(draw, np.where(is_head, 0.2, 0.0), 1.2, sd=0.003, tail=True)


def test_a_worse_tail_that_the_user_names_is_not_ok():
    assert verdicts(slow_tail, calls=10)[Verdict.OK] > 3
    assert verdicts(slow_tail, calls=10, blocks=33, metric=Metric(tail=0.9))[Verdict.OK] == 0


def test_a_tail_that_is_no_worse_is_ok():
    def alike(draw: np.random.Generator, is_head: Values) -> Values:
        return CONTINUOUS["normal 1 %"](draw, np.ones(is_head.shape))

    assert verdicts(alike, calls=5, blocks=48, metric=Metric(tail=0.9))[Verdict.OK] == 5


def once(metric: Metric, base: Values, head: Values) -> CellResult:
    """The result of a call with one look, at the end of these values."""
    family = Family([Cell("a", metric)], FACTOR, ALPHA, declare(1, ALPHA, len(base)))
    for first in range(0, len(base), 2):
        family.add("a", *(tuple(side[first : first + 2].tolist()) for side in (base, head)))
    (result,) = family.results()
    return result


def test_the_reason_names_the_tail():
    draw = np.random.default_rng(1)
    result = once(Metric(tail=0.9), *draw.normal(1, 0.001, (2, 24)))
    assert result.verdict is Verdict.INCONCLUSIVE
    assert result.reason.startswith(
        "typical processes of head are not slower, but the 90 % quantile of head is 1 times that"
    )
    assert result.reason.endswith("few processes are in that tail, and more blocks are needed")


def test_a_regression_whose_tail_is_proven_better_is_not_called():
    """A process in three of base takes 20 % more; all of head take 10 % more."""
    draw = np.random.default_rng(1)
    base = np.where(np.arange(80) % 3, 1.0, 1.2) * np.exp(draw.normal(0, 0.005, 80))
    head = 1.1 * np.exp(draw.normal(0, 0.005, 80))
    assert once(Metric(), base, head).verdict is Verdict.REGRESSED
    result = once(Metric(tail=0.8), base, head)
    assert result.verdict is Verdict.INCONCLUSIVE
    assert "typical processes of head are slower, but the 80 % quantile" in result.reason


def test_fine_values_are_decided():
    for ratio, verdict in ((1.0, Verdict.OK), (1.05, Verdict.REGRESSED)):
        said = verdicts(
            lambda draw, is_head, ratio=ratio: CONTINUOUS["normal 1 %"](
                draw, np.where(is_head, ratio, 1.0)
            ),
            calls=20,
        )
        assert said[verdict] == 20
