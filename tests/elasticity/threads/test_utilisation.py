"""C-Stream's law, and the one that keeps its level."""

from __future__ import annotations

import pytest

from harness.elasticity import Bounds
from harness.elasticity.threads.fixed import Fixed
from harness.elasticity.threads.utilisation import Utilisation
from harness.errors import UserError
from tests.elasticity.drive import reading


@pytest.mark.parametrize(
    ("busy", "level", "expected"),
    [
        (0.96, 3, 4),
        (0.95, 3, 3),
        (0.90, 3, 3),
        (0.89, 3, 2),
        (0.0, 1, 1),
        (1.0, 8, 8),
        (None, 3, 3),
        (1.0, 99, 8),
    ],
)
def test_one_thread_more_above_the_high_threshold_one_less_below_the_low_one(busy, level, expected):
    decision = Utilisation(Bounds(1, 8, 3)).step(reading(1, level, 100.0, utilisation=busy))
    assert decision.threads == expected


def test_what_is_not_known_is_said():
    assert (
        Utilisation(Bounds(1, 8, 3)).step(reading(1, 3, 100.0)).reason
        == "utilisation not known → stay"
    )


def test_thresholds_are_settings():
    law = Utilisation(Bounds(1, 8, 3), None, {"low": "0.2", "high": "0.5"})
    assert [
        law.step(reading(i, 3, 0.0, utilisation=busy)).threads
        for i, busy in enumerate((0.6, 0.3, 0.1))
    ] == [4, 3, 2]


def test_thresholds_may_be_the_same():
    law = Utilisation(Bounds(1, 8, 3), None, {"low": 0.9, "high": 0.9})
    assert [
        law.step(reading(i, 3, 0.0, utilisation=busy)).threads
        for i, busy in enumerate((0.91, 0.9, 0.89))
    ] == [4, 3, 2]


def test_low_must_not_be_above_high():
    with pytest.raises(UserError, match=r"low must be at most high, 0.95, not 0.97"):
        Utilisation(Bounds(1, 8, 3), None, {"low": 0.97})


def test_fixed_keeps_its_level():
    law = Fixed(Bounds(1, 8, 3))
    assert {law.step(reading(i, 3, 1000.0 * i)).threads for i in range(20)} == {3}
