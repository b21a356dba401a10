"""Coarse values: how coarse they are taken to be, and that verdicts on them are wrong as rarely as
on fine ones.
"""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
from harness.gate.rank_sums import tails
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from harness.gate.cell import GateCell, Metric
from harness.gate.decide import Family
from harness.gate.sequential import Looks
from harness.gate.step import EXACT, ROUNDING_ERROR, UNKNOWN, Slack, slack, step
from harness.gate.verdict import Verdict
from studies.gate_error_rates.noise import NOISES

FACTOR, ALPHA, BLOCKS, CALLS = 1.05, 0.01, 12, 100
MOST = stats.binom.ppf(0.999, CALLS, ALPHA)  # calls that may be wrong, if a share ALPHA is

SHAPES = {"flat": lambda draw, shape: np.zeros(shape)} | {
    name: NOISES[name] for name in ("quiet", "bimodal", "heavy-tailed")
}
RECORDED = {
    "floor(t + U)": lambda x, draw: np.floor(x + draw.random(x.shape)),
    "floor(t)": lambda x, draw: np.floor(x),
    "round(t)": lambda x, draw: np.round(x),
}
LEVELS = (1.3, 5.5, 10.0, 33.0, 100.4)  # steps that base takes


def calls(shape: str, recorded: str, level: float, ratio: float, seed: int = 1):
    """Coarse values of base and head of many calls: each (calls, blocks, 2), at least one step."""
    draw = np.random.default_rng(seed)
    times = level * np.exp(SHAPES[shape](draw, (CALLS, 4 * BLOCKS))).reshape(CALLS, BLOCKS, 2, 2)
    sides = times * np.array([1.0, ratio]).reshape(1, 1, 2, 1)
    return np.moveaxis(np.maximum(RECORDED[recorded](sides, draw), 1.0), 2, 0)


def rejected(base: np.ndarray, head: np.ndarray, exact: bool = False) -> tuple[int, int]:
    """Return how many calls are called regressed, and how many ok, at one look at all blocks."""
    regressed = ok = 0
    for before, after in zip(base, head, strict=True):
        moved = EXACT if exact else slack(before.ravel().tolist(), after.ravel().tolist(), False)
        logs = np.log(before), np.log(after)
        regressed += tails(*logs, math.log(FACTOR) + moved.differs, BLOCKS)[0] <= ALPHA
        ok += (
            math.isfinite(moved.same)
            and tails(*logs, math.log(FACTOR) - moved.same, BLOCKS)[1] <= ALPHA
        )
    return regressed, ok


@pytest.mark.parametrize("recorded", RECORDED)
@pytest.mark.parametrize("shape", SHAPES)
def test_a_slowdown_is_hardly_ever_called_ok_however_coarse_the_values(shape, recorded):
    for level in LEVELS:
        for ratio in (1.05, 1.2):
            _, ok = rejected(*calls(shape, recorded, level, ratio))
            assert ok <= MOST, (level, ratio)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_head_that_is_no_slower_than_the_factor_is_hardly_ever_called_regressed(shape):
    for recorded in RECORDED:
        for level in LEVELS:
            for ratio in (1.0, FACTOR):
                if (shape, recorded) == ("flat", "floor(t + U)") or shape != "flat":
                    regressed, _ = rejected(*calls(shape, recorded, level, ratio))
                    assert regressed <= MOST, (recorded, level, ratio)


def test_that_takes_the_step():
    """Taken at their word, coarse values hide a slowdown of a tenth in most calls, and more, where
    it does not reach a step.
    """
    base, head = calls("flat", "floor(t + U)", 2.7, 1.1)
    assert rejected(base, head, exact=True)[1] > 0.5 * CALLS
    assert rejected(base, head)[1] == 0


def test_values_that_are_fine_enough_are_told_as_before():
    assert rejected(*calls("quiet", "floor(t + U)", 1000.5, 1.0))[1] > 0.98 * CALLS
    assert rejected(*calls("quiet", "floor(t + U)", 20.25, 1.2))[0] > 0.98 * CALLS


def test_the_step_is_seen():
    assert step([3.0, 4.0, 3.0, 6.0]) == 1.0
    assert step([7.0] * 9) == math.inf
    assert (
        step([10.0] * 20 + [20.0] * 15 + [10.001]) == pytest.approx(0.001)
        or step([10.0] * 20 + [20.0] * 15) == 10.0
    )
    assert step([10.0] * 5 + [20.0] * 15 + [10.001]) == pytest.approx(9.9995)  # from group to group
    assert step([0.3, 0.1 * 3, 0.4]) == pytest.approx(0.1)  # what is left of rounding is no step


def test_bounds_move_by_the_step_only_if_samples_share_a_value():
    assert slack([100.0, 101.5], [99.0, 103.25], False) == EXACT
    assert slack([100.0, 101.0, 100.0], [100.0, 102.0, 101.0], False) == pytest.approx(
        (math.log1p(0.01),) * 2
    )
    assert slack([5.0] * 4, [5.0] * 4, False) == (pytest.approx(ROUNDING_ERROR), math.inf)
    assert slack([5.0] * 4, [6.0] * 4, False) == (
        pytest.approx(ROUNDING_ERROR),
        pytest.approx(math.log(1.2)),
    )
    assert slack([0.0] * 4, [0.0, 1.0, 2.0, 2.0], True) == Slack(0.0, 1.0)
    assert slack([0.0] * 4, [4.0] * 4, True) == Slack(0.0, 1.0)
    assert slack([1.0123, 2.5456, 3.2577], [3.2577, 1.0123, 2.5456], False) == UNKNOWN


@given(st.lists(st.floats(1e-300, 1e300), min_size=2, max_size=20), st.integers(1, 18))
def test_any_numbers_have_a_slack_that_is_no_less_than_nothing(values, cut):
    base, head = values[:cut], values[cut:] or values[:1]
    for by_difference in (False, True):
        moved = slack(base, head, by_difference)
        assert min(moved) >= 0


def verdict_of(base: list[float], head: list[float], metric: Metric | None = None):
    cell = GateCell("a", metric or Metric(unit="ticks"))
    family = Family([cell], 1.02, 0.01, Looks.fixed(len(base) // 2))
    for at in range(0, len(base), 2):
        family.add("a", tuple(base[at : at + 2]), tuple(head[at : at + 2]))
    (result,) = family.results()
    return result


@pytest.mark.parametrize("digits", [0, 1, 17])
@pytest.mark.parametrize("swapped", [False, True])
def test_equal_samples_in_another_order_do_not_prove_that_the_sides_are_equal(digits, swapped):
    draw = random.Random(5)
    base = [round(draw.gauss(100, 1), digits) for _ in range(48)]
    head = base.copy()
    draw.shuffle(head)
    if swapped:
        head = [base[at ^ 1] for at in range(48)]
    result = verdict_of(base, head)
    assert result.decision.low <= 0.999 and result.decision.high >= 1.001
    if digits == 17:
        assert (
            result.verdict is Verdict.INCONCLUSIVE
            and "results of the same processes prove nothing" in result.reason
        )


def test_what_is_too_coarse_is_told_with_its_step():
    draw = random.Random(1)
    base, head = (
        [float(math.floor(level + draw.random())) for _ in range(24)] for level in (10.3, 10.9)
    )
    result = verdict_of(base, head)
    assert result.verdict is Verdict.INCONCLUSIVE
    assert result.reason.startswith(
        "its values come in steps or groups of about 1 ticks, the least is 10: a slowdown of less "
        "than a step"
    )
    same = verdict_of([10.0] * 24, [10.0] * 24)
    assert same.verdict is Verdict.INCONCLUSIVE
    assert same.reason.startswith(
        "all processes gave 10 ticks: a clock that is too coarse does that; if the metric is exact"
    )
    assert verdict_of([10.0] * 24, [11.0] * 24).verdict is Verdict.REGRESSED
