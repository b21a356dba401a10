"""Declared looks, what they spend, and evidence that is valid whenever one stops."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from harness.errors import UserError
from harness.gate.block_ranks import RESOLUTION, Blocks
from harness.gate.order import BlockValues
from harness.gate.sequential import Evidence, Looks, declare, fewest_blocks

growths = st.floats(1.01, 3.0)


def looks_below(looks: Looks, most: int) -> list[int]:
    return [n for n in range(most) if looks.is_look(n)]


def test_looks_grow_by_a_fifth():
    assert looks_below(Looks(10), 75) == [10, 12, 15, 18, 22, 27, 33, 40, 48, 58, 70]


def test_a_fixed_call_has_one_look_that_spends_everything():
    looks = Looks.fixed(20)
    assert looks_below(looks, 1000) == [20]
    assert looks.weight(1) == 1.0
    assert looks.next(19) == 20 and looks.next(20) is None


@given(st.integers(1, 30), growths)
def test_looks_never_stand_still_and_are_counted(first, growth):
    looks = Looks(first, growth)
    at = looks_below(looks, 100)
    assert at[0] == first
    assert [looks.number(n) for n in at] == list(range(1, len(at) + 1))
    assert looks.number(first - 1) == 0
    assert [looks.next(n) for n in at[:-1]] == at[1:]


def test_what_is_spent_adds_up_to_all():
    looks = Looks(10)
    spent = list(itertools.accumulate(1 / looks.weight(k) for k in range(1, 1001)))
    assert max(spent) <= 1.0
    assert spent[-1] == pytest.approx(1.0, abs=4e-3)


def test_fewest_blocks_can_reject_and_one_less_cannot():
    for level in (0.5, 0.05, 0.01, 0.01 / 16, 1e-5):
        n = fewest_blocks(level)
        assert 6.0**-n <= level < 6.0 ** -(n - 1) or n == 1
    assert fewest_blocks(1 / 36) == 2
    assert fewest_blocks(0.25, 2) == 2


@pytest.mark.parametrize(
    ("cells", "alpha", "early"),
    [(1, 0.01, 4), (2, 0.01, 4), (8, 0.01, 5), (50, 0.01, 6), (1, 0.004, 5), (1, 0.05, 3)],
)
def test_the_early_look_can_decide_any_cell_and_the_first_one_all_and_the_control(
    cells, alpha, early
):
    looks = declare(cells, alpha)
    assert (looks.early, looks.first) == (early, 12)
    assert 6.0**-early * looks.weight(1) <= alpha / cells
    assert 6.0**-12 * looks.weight(2) <= alpha / max(cells, 2)
    assert looks_below(looks, 20) == [early, 12, 15, 18]


def test_looks_with_an_early_one_spend_all_and_no_more():
    looks = declare(1, 0.01)
    assert 0.99 < sum(1 / looks.weight(k) for k in range(1, 1001)) <= 1.0


def test_files_have_no_early_look_and_more_blocks_for_many_cells():
    assert (declare(1, 0.01, orders=2).early, declare(1, 0.01, orders=2).first) == (0, 12)
    assert declare(50, 0.01, orders=2).first == 15


def test_a_number_of_pairs_is_one_look_at_half_as_many_blocks():
    assert declare(8, 0.01, pairs=20) == Looks.fixed(10)


@pytest.mark.parametrize("pairs", [18, 21, 0, -2])
def test_pairs_that_could_decide_nothing_are_refused(pairs):
    with pytest.raises(
        UserError,
        match=rf"^--pairs must be even and at least 20 to decide 8 cells at alpha 0.01, not "
        rf"{pairs}$",
    ):
        declare(8, 0.01, pairs=pairs)


def test_one_cell_takes_as_many_pairs_as_two_since_the_control_is_two_sided():
    for cells in (1, 2):
        assert declare(cells, 0.01, pairs=16) == Looks.fixed(8)
        with pytest.raises(UserError, match="at least 16"):
            declare(cells, 0.01, pairs=14)


def blocks(seed: int, n: int, effect: float = 0.0) -> list[BlockValues]:
    rows = np.random.default_rng(seed).normal(0.0, 1.0, (n, 4)).tolist()
    return [BlockValues((a, b), (c + effect, d + effect)) for a, b, c, d in rows]


def fed(looks: Looks, rows: Iterable[BlockValues]) -> Evidence:
    evidence = Evidence(looks)
    for block in rows:
        evidence.add(block)
    return evidence


def test_nothing_is_known_before_the_first_look():
    evidence = fed(Looks(5), [BlockValues((0.0, 0.0), (1.0, 1.0))] * 4)
    assert (evidence.low(0.4), evidence.high(0.4)) == (-math.inf, math.inf)
    assert (evidence.p_greater(0.0), evidence.p_less(0.0)) == (1.0, 1.0)
    assert not evidence.leans(0.0)
    assert evidence.estimate() == pytest.approx(1.0, abs=2 * RESOLUTION)
    assert math.isnan(Evidence(Looks(5)).estimate())


def test_adding_tells_whether_it_is_a_look():
    evidence = Evidence(Looks(2, 2.0))
    assert [evidence.add(BlockValues((0.0, 0.0), (0.0, 0.0))) for _ in range(9)] == [
        n in (2, 4, 8) for n in range(1, 10)
    ]


def test_the_evidence_is_the_best_of_the_looks_each_at_its_price():
    rows = blocks(5, 30, effect=0.3)
    evidence = fed(Looks(6, 2.0), rows)  # looks at 6, 12, 24
    by_hand = [(weight, Blocks(rows[:n])) for weight, n in ((4, 6), (20 / 3, 12), (10, 24))]
    assert (
        evidence.p_greater(-0.2)
        == min(weight * each.p_greater(-0.2) for weight, each in by_hand)
        < 1.0
    )
    assert evidence.low(0.1) == max(each.low(0.1 / weight) for weight, each in by_hand)
    assert evidence.high(0.1) == min(each.high(0.1 / weight) for weight, each in by_hand)
    assert evidence.leans(0.0) == by_hand[-1][1].leans(0.0)
    assert evidence.estimate() == Blocks(rows).estimate()


@given(st.integers(0, 10**6), st.sampled_from([0.2, 0.03, 0.007]))
def test_bounds_and_p_values_agree(seed, level):
    evidence = fed(Looks(6), blocks(seed, 35))
    low, high = evidence.low(level), evidence.high(level)
    for shift in np.linspace(-1.5, 1.5, 31):
        if min(abs(shift - low), abs(shift - high)) > RESOLUTION:
            assert (evidence.p_greater(shift) <= level) == (shift < low)
            assert (evidence.p_less(shift) <= level) == (shift > high)


def test_looking_at_every_look_errs_no_more_often_than_promised_but_testing_anew_each_time_does():
    """1,000 rows without an effect, 7 looks each: the price of looking is what keeps the
    promise.
    """
    looks, calls, alpha = Looks(10), 1000, 0.05
    at = looks_below(looks, 35)
    careful = naive = 0
    for call in range(calls):
        rows = blocks(call, at[-1])
        p = [Blocks(rows[:n]).p_greater(0.0) for n in at]
        careful += min(p_k * looks.weight(k) for k, p_k in enumerate(p, 1)) <= alpha
        naive += min(p) <= alpha
    most = stats.binom.ppf(0.999, calls, alpha)
    assert careful <= most < naive
    assert careful > 0.2 * calls * alpha  # it does spend it
