"""Amounts are found in few steps, also where measuring is noisy or work does not add up in proportion."""

from __future__ import annotations

import random
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import RunFailed
from harness.gate.selftest.calibrate import NEAR, REFERENCE, STEPS, amount_for, units_for_twice


@given(per_unit=st.floats(1e-7, 1e-3), wrong_by=st.floats(0.02, 50), bend=st.floats(0.7, 1.3))
def test_the_reference_is_found_from_a_start_that_is_far_off(per_unit: float, wrong_by: float, bend: float) -> None:
    """The excess is (units * cost) ** bend."""
    tried: list[int] = []

    def measure(amount: int) -> float:
        tried.append(amount)
        return 1 + (amount * per_unit) ** bend

    found = units_for_twice(measure, REFERENCE ** (1 / bend) / per_unit * wrong_by)
    excess = measure(tried[-1]) - 1
    assert abs(excess / REFERENCE - 1) <= NEAR
    assert found == pytest.approx(tried[-1] / excess)


def test_amounts_are_in_proportion_and_at_least_one() -> None:
    assert amount_for(1.05, 1e6) == 50_000
    assert amount_for(1.02, 10.0) == 1
    with pytest.raises(ValueError, match="a slowdown is above 1, not 1"):
        amount_for(1.0, 1e6)


def test_the_number_of_steps_is_bounded_whatever_is_measured() -> None:
    draw, tried = random.Random(1), []

    def noise(amount: int) -> float:
        tried.append(amount)
        return draw.choice([0.9, 3.0])

    with suppress(RunFailed):
        units_for_twice(noise, 1000.0)
    assert 1 < len(tried) <= STEPS


def test_noise_of_two_percent_leaves_small_slowdowns_as_wanted() -> None:
    """It is a twentieth of the reference: of ten times nine 1.05 comes out as 1.045 to 1.0555."""
    draw = random.Random(4)
    for_twice = [units_for_twice(lambda amount: 1 + amount / 1e6 + draw.gauss(0, 0.02), 5000.0) for _ in range(200)]
    assert sum(45_000 < amount_for(1.05, found) < 55_500 for found in for_twice) >= 175


def test_a_program_that_does_not_heed_the_amount_is_told() -> None:
    with pytest.raises(RunFailed, match=r"no slowdown of 1\.4 was found: .*work operators of this project\?"):
        units_for_twice(lambda amount: 1.0, 1000.0)
