"""The best of several arms, with the interval of the greatest of their means."""

from __future__ import annotations

import numpy as np
import pytest

from harness.measurement.interval import mean_interval
from harness.plots import means
from tests.plots.made_tables import arm_row, frame

CELLS = 200


def measured(samples: np.ndarray):
    """Rows of arms with these runs."""
    rows = []
    for runs in samples.tolist():
        mean, low, high = mean_interval(runs)
        rows.append({"mean": mean, "lo": low, "hi": high, "n": len(runs)})
    return frame(rows)


def test_the_interval_of_the_best_of_equal_arms_holds_their_mean_in_95_percent():
    samples = np.random.default_rng(5).normal(100, 5, (CELLS, 8, 3))
    found = [means.best(measured(arms)) for arms in samples]
    missed = np.mean([not row["lo"] <= 100 <= row["hi"] for row in found])
    assert missed <= 0.05 + 3 * (0.05 * 0.95 / CELLS) ** 0.5


def test_the_best_is_the_row_with_the_highest_mean_and_alone_it_keeps_its_interval():
    rows = frame([arm_row("x", "pipeline", 1, "manual", mean) for mean in (5.0, 9.0, None)])
    assert means.best(rows)["mean"] == 9.0
    alone = means.best(rows[1:])
    assert (alone["lo"], alone["hi"]) == (rows["lo"][1], rows["hi"][1])


@pytest.mark.parametrize(
    ("hi", "told"), [(11.0, "2.00 [1.64, 2.44]"), (None, "2.00")], ids=["intervals", "one run"]
)
def test_a_ratio_of_two_best_arms_has_an_interval_where_both_have_one(hi, told):
    rows = frame([{"mean": mean, "lo": 0.9 * mean, "hi": 1.1 * mean, "n": 3} for mean in (10, 20)])
    assert str(means.best_over_best(rows[1:], rows[:1].assign(hi=hi))) == told
