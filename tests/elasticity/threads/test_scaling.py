"""The family of curves that Millrace's law chooses from."""

from __future__ import annotations

import numpy as np
import pytest

from harness.elasticity.threads.scaling import DENSE, Family, family, grid

SIZES = [1, 2, 3, 7, 63, 64, 65, 66, 71, 100, 256, 1023, 1024]


@pytest.mark.parametrize("maximum", SIZES)
def test_the_grid_goes_from_1_to_the_maximum_and_leaves_out_large_levels_only(maximum):
    levels = grid(maximum)
    assert levels == sorted(set(levels))
    assert levels[: min(maximum, DENSE)] == list(range(1, min(maximum, DENSE) + 1))
    assert levels[-1] == maximum
    assert all(
        after <= 1.04 * before + 0.5
        for before, after in zip(levels[DENSE - 1 :], levels[DENSE:], strict=False)
    )


@pytest.mark.parametrize("maximum", SIZES)
def test_the_prior_is_odds_and_every_curve_is_finite(maximum):
    made = Family(maximum)
    assert made.prior.sum() == pytest.approx(1.0)
    assert (made.prior > 0.0).all()
    assert np.isfinite(made.table).all()
    assert made.table.shape == (len(made.levels), len(made.prior))


def close(curve, maximum=64):
    """How far the nearest curve of the family is from a curve, at the worst level, in logarithms."""
    made = family(maximum)
    truth = np.log([curve(level) for level in made.levels])[:, None]
    apart = made.table - truth
    return float(np.abs(apart - apart[0]).max(axis=0).min())


@pytest.mark.parametrize(
    "curve",
    [
        lambda n: 7.0 * n,
        lambda n: n + 1.0,
        lambda n: n**0.75,
        lambda n: n / (1.0 + 0.08 * (n - 1)),
        lambda n: min(n, 13),
        lambda n: min(n, 13) * min(1.0, 13 / n) ** 0.7,
        lambda n: min(n, 20) * max(1.0, n / 20) ** 0.35,
        lambda n: n / (1.0 + 0.1 * (n - 1) + 0.9 / 24**2 * n * (n - 1)),
    ],
    ids=[
        "linear",
        "offset",
        "power",
        "Amdahl",
        "plateau",
        "falling",
        "second threads",
        "scalability law",
    ],
)
def test_the_family_has_the_curves_that_it_names(curve):
    assert close(curve) < 1e-9


def test_a_flat_curve_is_one_with_its_knee_at_1():
    assert close(lambda n: 3.0) < 1e-9


def test_a_knee_is_as_likely_between_4_and_8_as_between_8_and_16():
    made = family(64)
    tops = np.array(made.levels)[np.argmax(made.table, axis=0)]
    low, high = (made.prior[(tops > a) & (tops <= b)].sum() for a, b in ((4, 8), (8, 16)))
    assert low == pytest.approx(high, rel=0.15)


def test_all_laws_share_the_family_of_a_size():
    assert family(40) is family(40)
    assert family(40) is not family(41)
