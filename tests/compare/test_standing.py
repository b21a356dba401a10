"""The test of compare keeps its level under many looks, for any number of arms and any noise."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom

from harness.compare.standing import Standing, level_of_pair, looks_of
from harness.gate.block_ranks import Blocks
from harness.gate.order import BlockValues

FEW, MANY = 60, 1000  # calls
BLOCKS = 9
SURE = 1e-4  # chance that a test of ours fails although the level is kept


def normal(draw, n):
    return draw.normal(0.0, 0.05, n)


def heavy(draw, n):
    return 0.03 * draw.standard_t(2, n)


def two_speeds(draw, n):
    return np.where(draw.random(n) < 0.2, -0.5, 0.0) + draw.normal(0.0, 0.02, n)


def drifting(draw, n):
    return np.cumsum(draw.normal(0.0, 0.05, n))


def call(draw, truth, noise):
    """A call until the best is known, or for all blocks: whether what it said was wrong."""
    arms = list(truth)
    standing = Standing(arms)
    racing, wrong = arms, False
    best = max(truth, key=truth.get)
    equally_good = [arm for arm in arms if truth[arm] == truth[best]]
    for block in range(1, BLOCKS + 1):
        order = [arm for arm in racing for _ in range(2)]
        draw.shuffle(order)
        values = {arm: [] for arm in racing}
        for arm, error in zip(order, noise(draw, len(order)), strict=True):
            values[arm].append(truth[arm] * math.exp(error))
        standing.add({arm: tuple(each) for arm, each in values.items()})
        if standing.looks.is_look(block):
            racing = standing.leaders(arms)
            wrong |= not set(equally_good) <= set(racing)
            wrong |= not all(
                standing.holds(arm, best, truth[arm] / truth[best]) for arm in arms if arm != best
            )
            if len(racing) == 1:
                break
    return wrong, racing


def most_wrong(calls):
    """The number of wrong calls that the level allows, except with a chance of SURE."""
    return int(binom.ppf(1 - SURE, calls, 0.05))


TWO_EQUAL = {"a": 1.0, "b": 1.0}
THREE_EQUAL = {"a": 1.0, "b": 1.0, "c": 1.0}
DIFFERENT = {"a": 1.0, "b": 0.97, "c": 0.5}


@pytest.mark.parametrize(
    ("noise", "truth"),
    [(normal, TWO_EQUAL), (two_speeds, THREE_EQUAL), (drifting, TWO_EQUAL), (heavy, DIFFERENT)],
)
def test_few_calls_are_wrong_however_often_they_look(noise, truth):
    draw = np.random.default_rng(7)
    wrong = sum(call(draw, truth, noise)[0] for _ in range(FEW))
    assert wrong <= most_wrong(FEW)


@pytest.mark.slow
@pytest.mark.parametrize("noise", [normal, heavy, two_speeds, drifting])
@pytest.mark.parametrize("truth", [TWO_EQUAL, THREE_EQUAL, DIFFERENT])
def test_at_most_5_percent_of_calls_are_wrong(noise, truth):
    draw = np.random.default_rng(11)
    wrong = sum(call(draw, truth, noise)[0] for _ in range(MANY))
    assert wrong <= most_wrong(MANY)


def test_a_test_without_corrections_would_fail_here():
    """Equal arms, where each pair is tested at 5 % after each block."""
    draw, wrong = np.random.default_rng(7), 0
    for _ in range(FEW):
        blocks = []
        found = False
        for _ in range(BLOCKS):
            one, other = (tuple(map(float, normal(draw, 2))) for _ in range(2))
            blocks.append(BlockValues(one, other))
            found |= min(Blocks(blocks).p_greater(0.0), Blocks(blocks).p_less(0.0)) <= 0.05
        wrong += found
    assert wrong > most_wrong(FEW)


def test_a_clear_best_is_known_after_the_first_look():
    draw = np.random.default_rng(1)
    truth = {"slow": 1.0, "fast": 1.3, "middle": 1.1}
    wrong, left = call(draw, truth, lambda draw, n: draw.normal(0.0, 0.01, n))
    assert not wrong
    assert left == ["fast"]


def filled(values, **options):
    standing = Standing(list(values), **options)
    for _ in range(8):
        standing.add({arm: (value, value * 1.001) for arm, value in values.items()})
    return standing


def test_an_arm_that_only_some_leaders_beat_stays():
    standing = filled({"a": 1.0, "b": 1.0, "c": 1.5})
    assert standing.leaders(["a", "b", "c"]) == ["c"]
    assert set(standing.leaders(["a", "b"])) == {"a", "b"}


def test_less_is_better_for_latencies():
    standing = filled({"a": 1.0, "b": 2.0}, lower_is_better=True)
    assert standing.leaders(["a", "b"]) == ["a"]
    assert standing.ratio("b", "a").estimate == pytest.approx(0.5, rel=0.01)


def test_values_from_buckets_differ_only_if_they_are_a_bucket_apart():
    """All runs of one arm are below the border of two buckets, all of the other above it."""
    for exact in (False, True):
        options = {"lower_is_better": True, "bucket": 1 / 16, "exact": exact}
        near = filled({"a": 1.0, "b": 1.0625}, **options)
        assert set(near.leaders(["a", "b"])) == {"a", "b"}
        assert near.ratio("a", "b").low <= 1.0
        apart = filled({"a": 1.0, "b": 1.2}, **options)
        assert apart.leaders(["a", "b"]) == ["a"]
        ratio = apart.ratio("a", "b")
        assert ratio.low <= 1.2 / 1.0625 and ratio.high >= 1.2 * 1.0625


def test_ratios_and_their_ends_turn_round_with_the_pair():
    standing = filled({"a": 1.0, "b": 1.5})
    one, other = standing.ratio("a", "b"), standing.ratio("b", "a")
    assert one.estimate == pytest.approx(1 / other.estimate)
    assert (one.low, one.high) == pytest.approx((1 / other.high, 1 / other.low))
    assert one.low <= 2 / 3 * 1.01 and one.high >= 2 / 3 * 0.99


def test_the_interval_of_an_arm_holds_that_from_every_leader():
    standing = filled({"a": 1.0, "b": 1.02, "c": 0.5})
    found = standing.to_best("c", ["a", "b"])
    for leader in ("a", "b"):
        ratio = standing.ratio("c", leader)
        assert found.low <= ratio.low and ratio.high <= found.high


def test_nothing_is_known_before_the_first_look():
    standing = Standing(["a", "b"])
    standing.add({"a": (1.0, 1.0), "b": (9.0, 9.0)})
    assert set(standing.leaders(["a", "b"])) == {"a", "b"}
    assert standing.ratio("a", "b").high == math.inf


def test_more_arms_need_more_evidence():
    assert level_of_pair(2, 0.05) == 0.025
    assert level_of_pair(5, 0.05) == pytest.approx(0.05 / 8)
    assert looks_of(2, 0.05).first == 3
    assert looks_of(5, 0.05).first == 4
