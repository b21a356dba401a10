"""Amounts are found in few steps, also where measuring is noisy or work does not add up in proportion."""

from __future__ import annotations

import random
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import RunFailed
from harness.gate.selftest.calibrate import STEPS, TOLERANCE, search


@given(
    wanted=st.sampled_from([1.02, 1.05, 1.1, 1.5]),
    per_unit=st.floats(1e-7, 1e-3),
    wrong_by=st.floats(0.02, 50),
    bend=st.floats(0.7, 1.3),
)
def test_an_amount_is_found_from_a_start_that_is_far_off(wanted: float, per_unit: float, wrong_by: float, bend: float) -> None:
    """The excess is (units * cost) ** bend."""

    def measure(amount: int) -> float:
        return 1 + (amount * per_unit) ** bend

    exact = (wanted - 1) ** (1 / bend) / per_unit
    found = search(measure, wanted, exact * wrong_by, steps=12)
    assert abs(measure(found) - wanted) <= max(TOLERANCE * (wanted - 1), measure(1) - 1, measure(found) - measure(found - 1))


def test_the_number_of_steps_is_bounded_whatever_is_measured() -> None:
    draw, tried = random.Random(1), []

    def noise(amount: int) -> float:
        tried.append(amount)
        return draw.choice([0.9, 3.0])

    with suppress(RunFailed):
        search(noise, 1.05, 1000.0)
    assert 1 < len(tried) <= STEPS


def test_noise_of_two_percent_still_finds_about_the_amount() -> None:
    draw = random.Random(4)
    found = [search(lambda amount: 1 + amount / 1e6 + draw.gauss(0, 0.005), 1.05, 5000.0) for _ in range(20)]
    assert all(30_000 < amount < 80_000 for amount in found)


def test_a_program_that_does_not_heed_the_amount_is_told() -> None:
    with pytest.raises(RunFailed, match=r"no slowdown of 1\.05 was found: .*work operators of this project\?"):
        search(lambda amount: 1.0, 1.05, 1000.0)
