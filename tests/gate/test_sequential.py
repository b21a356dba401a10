"""Declared looks, what they spend, and evidence that is valid whenever one stops."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from harness.errors import UserError
from harness.gate.sequential import Evidence, Looks, declare, fewest_blocks
from harness.gate.signed_rank import Walsh

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
        assert 2.0**-n <= level < 2.0 ** -(n - 1) or n == 1
    assert fewest_blocks(0.25) == 2


@pytest.mark.parametrize(("cells", "alpha", "first"), [(1, 0.05, 10), (8, 0.01, 12), (50, 0.01, 15), (8, 0.05, 10)])
def test_the_first_look_can_decide_all_cells(cells, alpha, first):
    looks = declare(cells, alpha)
    assert looks.first == first
    assert 2.0**-first * looks.weight(1) <= alpha / cells


def test_a_number_of_pairs_is_one_look_at_half_as_many_blocks():
    assert declare(8, 0.01, pairs=20) == Looks.fixed(10)


@pytest.mark.parametrize("pairs", [18, 21, 0, -2])
def test_pairs_that_could_decide_nothing_are_refused(pairs):
    with pytest.raises(
        UserError, match=rf"^--pairs must be even and at least 20 to decide 8 cells at alpha 0.01, not {pairs}$"
    ):
        declare(8, 0.01, pairs=pairs)


def fed(looks: Looks, values) -> Evidence:
    evidence = Evidence(looks)
    for value in values:
        evidence.add(float(value))
    return evidence


def test_nothing_is_known_before_the_first_look():
    evidence = fed(Looks(5), [1.0, 1.0, 1.0, 1.0])
    assert (evidence.low(0.4), evidence.high(0.4)) == (-math.inf, math.inf)
    assert (evidence.p_greater(0.0), evidence.p_less(0.0)) == (1.0, 1.0)
    assert evidence.estimate() == 1.0
    assert math.isnan(Evidence(Looks(5)).estimate())


def test_adding_tells_whether_it_is_a_look():
    evidence = Evidence(Looks(2, 2.0))
    assert [evidence.add(0.0) for _ in range(9)] == [n in (2, 4, 8) for n in range(1, 10)]


def test_the_evidence_is_the_best_of_the_looks_each_at_its_price():
    values = np.random.default_rng(5).normal(0.3, 1.0, 30)
    evidence = fed(Looks(6, 2.0), values)  # looks at 6, 12, 24
    by_hand = [(weight, Walsh(values[:n])) for weight, n in ((4, 6), (20 / 3, 12), (10, 24))]
    assert evidence.p_greater(-0.2) == min(weight * walsh.p_greater(-0.2) for weight, walsh in by_hand) < 1.0
    assert evidence.low(0.1) == max(walsh.low(0.1 / weight) for weight, walsh in by_hand)
    assert evidence.high(0.1) == min(walsh.high(0.1 / weight) for weight, walsh in by_hand)
    assert evidence.estimate() == Walsh(values).estimate()


@given(st.integers(0, 10**6), st.sampled_from([0.2, 0.03, 0.007]))
def test_bounds_and_p_values_agree(seed, level):
    evidence = fed(Looks(6), np.random.default_rng(seed).normal(0.0, 1.0, 35))
    for shift in np.linspace(-1.5, 1.5, 31):
        assert (evidence.p_greater(shift) <= level) == (shift < evidence.low(level))
        assert (evidence.p_less(shift) <= level) == (shift > evidence.high(level))


def test_looking_at_every_look_errs_no_more_often_than_promised_but_testing_anew_each_time_does():
    """2,000 rows without an effect, 7 looks each: the price of looking is what keeps the promise."""
    draw = np.random.default_rng(12)
    looks, calls, alpha = Looks(10), 2000, 0.05
    at = looks_below(looks, 95)
    careful = naive = 0
    for row in draw.standard_normal((calls, at[-1])):
        p = [Walsh(row[:n]).p_greater(0.0) for n in at]
        careful += min(p_k * looks.weight(k) for k, p_k in enumerate(p, 1)) <= alpha
        naive += min(p) <= alpha
    most = stats.binom.ppf(0.999, calls, alpha)
    assert careful <= most < naive
    assert careful > 0.3 * calls * alpha  # it does spend it
