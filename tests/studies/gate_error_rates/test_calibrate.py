"""Amounts are found in few steps, also where measuring is noisy or work does not add up in
proportion.
"""

from __future__ import annotations

import random
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import RunFailed
from studies.gate_error_rates.calibrate import STEPS, amounts

WANTED = [1.02, 1.05, 1.1]


@given(per_unit=st.floats(1e-10, 1e-6), wrong_by=st.floats(0.02, 50), bend=st.floats(0.6, 1.4))
def test_amounts_are_found_from_a_start_that_is_far_off(
    per_unit: float, wrong_by: float, bend: float
) -> None:
    """The excess is (units * cost) ** bend: a power law, as it is taken for."""

    def measure(amount: int, close: float = 0.0) -> float:
        return 1 + (amount * per_unit) ** bend

    found = amounts(measure, WANTED, 0.4 ** (1 / bend) / per_unit * wrong_by)
    assert [measure(amount) - 1 for amount in found] == pytest.approx([0.02, 0.05, 0.1], rel=0.01)


def test_the_number_of_steps_is_bounded_whatever_is_measured() -> None:
    draw, tried = random.Random(1), []

    def noise(amount: int, close: float) -> float:
        tried.append(amount)
        return draw.choice([0.9, 3.0])

    with suppress(RunFailed):
        amounts(noise, WANTED, 1000.0)
    assert 1 < len(tried) <= STEPS + 1


def test_work_that_the_core_does_beside_other_work_is_found_too() -> None:
    """The first part of it is free, so half as much makes a third; noise is what was asked for."""
    draw = random.Random(4)

    def measure(amount: int, close: float) -> float:
        return (
            1 + max(0.0, amount / 1e6 - 0.03) + draw.gauss(0, close / 1.28)
        )  # of a normal one 80 % are within `close`

    found = [amounts(measure, [1.05], 5000.0)[0] for _ in range(200)]
    assert sum(65_000 < amount < 95_000 for amount in found) >= 160, "80,000 would be right"


def test_a_program_that_does_not_heed_the_amount_is_told() -> None:
    with pytest.raises(
        RunFailed, match=r"no slowdown of 1\.4 was found: .*work operators of this project\?"
    ):
        amounts(lambda amount, close: 1.0, WANTED, 1000.0)


def test_what_makes_half_of_the_large_slowdown_is_enough_to_go_by() -> None:
    found = amounts(lambda amount, close: 1.2001, WANTED, 1000.0)
    assert found == sorted(found) and len(found) == len(WANTED)
    with pytest.raises(RunFailed, match=r"made 1\.1990"):
        amounts(lambda amount, close: 1.199, WANTED, 1000.0)


def test_a_slowdown_is_above_one() -> None:
    with pytest.raises(ValueError, match="slowdowns are above 1"):
        amounts(lambda amount, close: 1.0, [1.0], 1000.0)
