"""The factor that a time budget can decide: the approximation agrees with the exact bounds, and
calls are decided at it."""

from __future__ import annotations

import math

import numpy as np
import pytest

from harness.gate.order import BlockValues
from harness.gate.reach import CERTAINTY, MIDDLE, UPPER, half_width, least_factor, scatter
from harness.gate.sequential import declare
from studies.gate_error_rates import power


@pytest.mark.parametrize(("blocks", "level"), [(12, 0.001), (33, 0.0002)])
def test_half_widths_are_nearly_those_of_the_exact_bounds(blocks, level):
    exact = np.quantile(power.shortfalls(blocks, level, trials=300), CERTAINTY)
    assert half_width(blocks, level) == pytest.approx(exact, rel=0.2)


@pytest.mark.parametrize("chance", [MIDDLE, UPPER])
def test_scatter_is_too_low_as_often_as_is_allowed(chance):
    draw = np.random.default_rng(3)
    rows = draw.normal(0, 0.02, (1000, 4)).tolist()
    found = [scatter([BlockValues((a, b), (c, d))], chance) for a, b, c, d in rows]
    assert np.mean(np.array(found) > 0.02) == pytest.approx(chance, abs=0.05)


def test_more_blocks_and_less_noise_decide_smaller_factors():
    looks = declare(2, 0.01)
    factors = [least_factor([0.01, noise], 33, looks, 0.01) for noise in (0.01, 0.02, 0.05)]
    assert factors == sorted(factors)
    assert factors[0] < least_factor([0.01, 0.01], 12, looks, 0.01)


def test_too_few_blocks_or_too_much_noise_decide_no_factor():
    looks = declare(2, 0.01)
    assert math.isinf(least_factor([0.01], 11, looks, 0.01))
    assert math.isinf(least_factor([9.0], 33, looks, 0.01))
