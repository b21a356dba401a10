"""The test by ranks and coins: against every fall of the coins, against its own bounds, and its
power beside means.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from harness.gate.block_ranks import RESOLUTION, Blocks
from harness.gate.order import BlockValues
from harness.gate.signed_rank import Walsh

few_digits = st.integers(-4, 4).map(lambda k: k / 4)  # many ties; differences are exact
some_blocks = st.lists(
    st.builds(
        lambda a, b, c, d: BlockValues((a, b), (c, d)),
        few_digits,
        few_digits,
        few_digits,
        few_digits,
    ),
    min_size=1,
    max_size=9,
)
levels = st.sampled_from([0.3, 0.1, 0.05, 0.01])


def normal(seed: int, n: int, effect: float = 0.0, spread: float = 1.0) -> list[BlockValues]:
    rows = np.random.default_rng(seed).normal(0.0, spread, (n, 4)).tolist()
    return [BlockValues((a, b), (c + effect, d + effect)) for a, b, c, d in rows]


def swapped(block: BlockValues) -> BlockValues:
    """Had the coin fallen otherwise, and were both sides the same."""
    return BlockValues(block.head, block.base)


def orders(block: BlockValues) -> list[BlockValues]:
    """All six that the block could have been, if both sides are the same."""
    values = (*block.base, *block.head)
    pairs = list(itertools.combinations(range(4), 2))
    return [
        BlockValues(
            tuple(values[at] for at in range(4) if at not in pair), tuple(values[at] for at in pair)
        )
        for pair in pairs
    ]


@given(some_blocks, st.integers(-16, 16).map(lambda k: k / 8))
def test_tails_are_those_of_all_orders(rows, shift):
    """Every order of three blocks, with ranks and sums by hand; ties share the mean of their
    ranks.
    """
    rows = rows[:3]
    moved = [
        BlockValues(block.base, tuple(value - shift for value in block.head)) for block in rows
    ]
    ranks = stats.rankdata([[*block.base, *block.head] for block in moved]).reshape(-1, 4)
    pairs = list(itertools.combinations(range(4), 2))
    sums = np.array(
        [
            sum(rank[list(pair)].sum() for rank, pair in zip(ranks, chosen, strict=True))
            for chosen in itertools.product(pairs, repeat=len(rows))
        ]
    )
    seen = ranks[:, 2:].sum()
    blocks = Blocks(rows)
    assert blocks.p_greater(shift) == pytest.approx(np.mean(sums >= seen))
    assert blocks.p_less(shift) == pytest.approx(np.mean(sums <= seen))


@given(some_blocks)
def test_of_equal_sides_no_p_is_told_more_often_than_it_says(rows):
    rows = rows[:3]
    told = np.array(
        [Blocks(other).p_greater(0.0) for other in itertools.product(*map(orders, rows))]
    )
    assert all(np.mean(told <= p) <= p + 1e-12 for p in np.unique(told))


def test_blocks_of_files_have_two_orders():
    rows = normal(3, 8, effect=9.0)
    assert Blocks(rows, free=0).p_greater(0.0) == 2.0**-8
    assert Blocks(rows, free=3).p_greater(0.0) == pytest.approx(6.0**-3 * 2.0**-5)
    assert Blocks(rows).p_greater(0.0) == pytest.approx(6.0**-8)


def test_a_shift_is_taken_off_head_alone():
    rows = normal(3, 12)
    moved = [
        BlockValues(block.base, (block.head[0] + 0.25, block.head[1] + 0.25)) for block in rows
    ]
    assert Blocks(moved).p_greater(0.25) == pytest.approx(Blocks(rows).p_greater(0.0))
    assert Blocks(moved).p_less(0.25) == pytest.approx(Blocks(rows).p_less(0.0))


@given(some_blocks, st.lists(st.floats(-3, 3), min_size=2, max_size=8))
def test_p_grows_with_the_shift(rows, shifts):
    blocks = Blocks(rows)
    shifts = sorted(shifts)
    for p, sign in ((blocks.p_greater, 1), (blocks.p_less, -1)):
        told = [sign * p(shift) for shift in shifts]
        assert all(before <= after + 1e-12 for before, after in itertools.pairwise(told))


@given(some_blocks, levels)
def test_bounds_invert_the_test(rows, level):
    """Values beyond a bound are rejected, and values inside it by more than its resolution are not."""
    blocks = Blocks(rows)
    low, high = blocks.low(level), blocks.high(level)
    if math.isinf(low):
        assert blocks.p_greater(-100.0) > level
    else:
        assert blocks.p_greater(low) <= level < blocks.p_greater(low + RESOLUTION)
    if math.isinf(high):
        assert blocks.p_less(100.0) > level
    else:
        assert blocks.p_less(high) <= level < blocks.p_less(high - RESOLUTION)


@given(some_blocks, levels)
def test_turning_the_sides_round_turns_everything_round(rows, level):
    one, other = Blocks(rows), Blocks([swapped(block) for block in rows])
    assert other.low(level) == pytest.approx(-one.high(level), abs=2 * RESOLUTION)
    assert other.high(level) == pytest.approx(-one.low(level), abs=2 * RESOLUTION)
    assert other.estimate() == pytest.approx(-one.estimate(), abs=2 * RESOLUTION)


@given(some_blocks, levels)
def test_the_estimate_is_between_the_bounds(rows, level):
    blocks = Blocks(rows)
    assert (
        blocks.low(level) <= blocks.estimate() + RESOLUTION
        and blocks.estimate() <= blocks.high(level) + RESOLUTION
    )


def test_blocks_that_do_not_scatter_are_told_exactly():
    blocks = Blocks([BlockValues((1.0, 1.0), (1.25, 1.25))] * 10)
    assert blocks.estimate() == pytest.approx(0.25, abs=2 * RESOLUTION)
    assert blocks.p_greater(0.2) == blocks.p_less(0.3) == pytest.approx(6.0**-10)
    assert blocks.p_greater(0.25) == blocks.p_less(0.25) == 1.0
    assert blocks.leans(0.2) and not blocks.leans(0.25) and not blocks.leans(0.3)


def test_many_blocks_have_bounds_as_narrow_as_their_number_makes_them():
    """201 blocks, whose chances are the normal ones, beside 200 of them, whose chances are
    exact.
    """
    rows = normal(2, 201)
    fewer, more = Blocks(rows[:-1]), Blocks(rows)
    for level in (0.1, 1e-4):
        assert more.low(level) == pytest.approx(fewer.low(level), abs=0.01)
        assert more.high(level) == pytest.approx(fewer.high(level), abs=0.01)


def test_too_few_blocks_have_no_bounds():
    blocks = Blocks(normal(1, 3))
    assert (blocks.low(0.004), blocks.high(0.004)) == (-math.inf, math.inf)
    assert blocks.low(0.005) > -math.inf


def test_leaning_is_an_estimate_above():
    for seed in range(20):
        blocks = Blocks(normal(seed, 11, effect=0.1))
        assert blocks.leans(blocks.estimate() - 0.2) and not blocks.leans(blocks.estimate() + 0.2)


def found(rows: list[BlockValues], level: float = 0.001) -> tuple[bool, bool]:
    """Return True if ranks, and whether the blocks' mean log ratios, find that head is slower by
    more than 2 %.
    """
    means = [(sum(block.head) - sum(block.base)) / 2 for block in rows]
    return Blocks(rows).p_greater(math.log(1.02)) <= level, Walsh(means).p_greater(
        math.log(1.02)
    ) <= level


def test_a_host_that_slows_a_process_in_three_hides_5_percent_from_means_but_not_from_ranks():
    by_ranks = by_means = 0
    for seed in range(50):
        draw = np.random.default_rng(seed)
        logs = draw.normal(0.0, 0.01, (40, 4)) + 0.2 * (draw.random((40, 4)) < 1 / 3)
        rows = [
            BlockValues((a, b), (c + math.log(1.05), d + math.log(1.05)))
            for a, b, c, d in logs.tolist()
        ]
        ranks, means = found(rows)
        by_ranks, by_means = by_ranks + ranks, by_means + means
    assert by_ranks >= 48 and by_means <= 10


def test_of_normal_noise_ranks_find_nearly_what_means_find():
    told = [found(normal(seed, 40, effect=math.log(1.05), spread=0.035)) for seed in range(100)]
    assert abs(sum(ranks for ranks, _ in told) - sum(means for _, means in told)) <= 15
