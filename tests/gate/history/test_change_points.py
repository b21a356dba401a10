"""Changes of level: a step is found where it is, noise has none, a drift is a staircase."""

from __future__ import annotations

import numpy as np
import pytest

from harness.gate.history.change_points import MIN_SEGMENT, change_points

SEEDS = range(100)


def quiet(draw, count):
    return np.exp(0.02 * draw.standard_normal(count))


def heavy_tailed(draw, count):
    return np.exp(0.02 * draw.standard_t(1.5, count))


def rounded(draw, count):
    return np.round(100 * np.exp(0.01 * draw.standard_normal(count)))


@pytest.mark.parametrize("noise", [quiet, heavy_tailed, rounded])
@pytest.mark.parametrize("count", [20, 40, 120])
def test_a_flat_series_has_no_change_however_it_scatters(noise, count):
    false = sum(bool(change_points(noise(np.random.default_rng(seed), count))) for seed in SEEDS)
    assert false <= 5


@pytest.mark.parametrize(
    ("count", "place", "size"), [(30, 20, 1.10), (60, 30, 0.90), (60, 54, 1.15), (20, 10, 1.12)]
)
def test_a_step_is_found_where_it_is_and_nothing_else(count, place, size):
    found = []
    for seed in SEEDS:
        values = quiet(np.random.default_rng(seed), count)
        values[place:] *= size
        found.append(change_points(values))
    assert sum(len(changes) == 1 and abs(changes[0].index - place) <= 1 for changes in found) >= 95
    sizes = [changes[0].ratio for changes in found if len(changes) == 1]
    assert np.median(sizes) == pytest.approx(size, rel=0.02)


def test_a_step_without_noise_is_found_exactly():
    (change,) = change_points([10.0] * 12 + [11.0] * 8)
    assert change.index == 12
    assert change.ratio == pytest.approx(1.1)


def test_there_and_back_again_are_two_changes():
    values = quiet(np.random.default_rng(3), 60)
    values[20:40] *= 1.15
    there, back = change_points(values)
    assert abs(there.index - 20) <= 1
    assert abs(back.index - 40) <= 1
    assert there.ratio * back.ratio == pytest.approx(1.0, abs=0.02)


def test_a_few_bad_nights_are_no_change():
    values = quiet(np.random.default_rng(4), 40)
    values[10 : 10 + MIN_SEGMENT - 1] *= 3.0
    assert change_points(values) == []


def test_a_drift_is_a_staircase_that_climbs_most_of_it():
    for seed in range(20):
        changes = change_points(quiet(np.random.default_rng(seed), 90) * np.linspace(1.0, 1.3, 90))
        assert changes
        assert all(change.ratio > 1 for change in changes)
        assert 1.12 < np.prod([change.ratio for change in changes]) < 1.3


def test_a_stricter_alpha_reports_less():
    values = quiet(np.random.default_rng(5), 30)
    values[15:] *= 1.04
    assert change_points(values, alpha=0.05)
    assert change_points(values, alpha=1e-9) == []


def test_every_reported_change_is_significant_among_all_places():
    for seed in SEEDS:
        values = heavy_tailed(np.random.default_rng(seed), 50) * np.linspace(1.0, 1.1, 50)
        assert all(change.p_value <= 0.05 / 50 for change in change_points(values, alpha=0.05))


def test_only_ratios_matter_not_units():
    values = quiet(np.random.default_rng(6), 40)
    values[25:] *= 0.9
    assert [change.index for change in change_points(values * 1e9)] == [
        change.index for change in change_points(values)
    ]


@pytest.mark.parametrize("values", [[], [1.0], [1.0] * 9, [2.0] * 50])
def test_too_few_or_equal_values_have_no_change(values):
    assert change_points(values) == []


@pytest.mark.parametrize("bad", [0.0, -1.0, float("nan"), float("inf")])
def test_values_that_have_no_ratio_are_refused(bad):
    with pytest.raises(ValueError, match="positive"):
        change_points([1.0] * 20 + [bad])
