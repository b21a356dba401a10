"""Each kind of simulated noise has the fault that it is named after."""

from __future__ import annotations

import numpy as np
import pytest

from studies.gate_error_rates.noise import NOISES, QUIET_SPREAD

SHAPE = (200, 400)


def sample(kind: str, seed: int = 1, shape: tuple[int, int] = SHAPE) -> np.ndarray:
    return NOISES[kind](np.random.default_rng(seed), shape)


def correlation(values: np.ndarray, lag: int) -> float:
    return float(np.corrcoef(values[:, :-lag].ravel(), values[:, lag:].ravel())[0, 1])


@pytest.mark.parametrize("kind", NOISES)
def test_noise_has_its_shape_and_repeats_by_seed(kind):
    assert sample(kind, 1, (3, 8)).shape == (3, 8)
    assert np.isfinite(sample(kind)).all()
    assert (sample(kind, 1) == sample(kind, 1)).all()
    assert (sample(kind, 1) != sample(kind, 2)).any()


def test_quiet_is_small_and_forgets_at_once():
    values = sample("quiet")
    assert values.std() == pytest.approx(QUIET_SPREAD, rel=0.02)
    assert abs(correlation(values, 1)) < 0.02


def test_drift_is_large_and_remembers():
    values = sample("drift")
    assert values[:, 0].std() == pytest.approx(
        0.05, rel=0.2
    )  # from the first process on: it does not start at rest
    assert values[:, -1].std() == pytest.approx(0.05, rel=0.2)
    assert correlation(values, 1) > 0.95 > 0.8 > correlation(values, 35) > 0.35


def test_bursts_are_rare_long_and_only_slow_down():
    slowed = sample("bursts") > 5 * QUIET_SPREAD
    assert 0.08 < slowed.mean() < 0.25
    assert correlation(slowed, 1) > 0.5
    assert sample("bursts").min() > -6 * QUIET_SPREAD


def test_bimodal_processes_are_one_of_two_speeds():
    values = sample("bimodal")
    slow = values > np.log(1.04)
    assert slow.mean() == pytest.approx(0.3, abs=0.02)
    assert (values[slow].mean(), values[~slow].mean()) == pytest.approx(
        (np.log(1.08), 0.0), abs=1e-3
    )
    assert values[slow].std() < 2 * QUIET_SPREAD


def test_heavy_tails_are_heavy_on_both_sides():
    values = sample("heavy-tailed")
    spread = np.subtract(*np.quantile(values, [0.75, 0.25]))
    assert values.max() > 20 * spread and values.min() < -20 * spread


def test_the_second_process_of_each_pair_is_slower():
    values = sample("positional")
    assert (values[:, 1::2] - values[:, 0::2]).mean() == pytest.approx(np.log(1.03), abs=1e-3)
