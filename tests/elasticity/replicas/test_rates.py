"""Tests of what periods tell of rates and work, also where they are shorter than the way of a tuple
through the graph.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.elasticity import Reading
from harness.elasticity.replicas.rates import ObservedFlow
from tests.elasticity.replicas.small import world

LAYOUT = world((10.0, 30.0)).layout  # source -> 10 µs -> 30 µs -> sink
COSTS = np.array([1e-6, 10e-6, 30e-6, 1e-6])


def period(time_s: float, tuples: tuple[float, ...]) -> Reading:
    useful = tuple(float(each) for each in COSTS * tuples)
    return Reading(time_s, 1.0, 1, sum(tuples), useful_s=useful, tuples=tuples)


def test_nothing_is_known_until_every_operator_has_had_a_tuple():
    flow = ObservedFlow(LAYOUT)
    assert flow.see(period(1.0, (1000.0, 0.0, 0.0, 0.0))) is None
    assert flow.see(period(2.0, (0.0, 1000.0, 500.0, 0.0))) is None
    assert flow.see(period(3.0, (0.0, 0.0, 500.0, 1000.0))) is not None


def test_an_operator_that_never_gets_a_tuple_keeps_nobody_waiting():
    flow = ObservedFlow(LAYOUT)
    held = LAYOUT.queue_capacity * (LAYOUT.inputs + 1)
    assert flow.see(period(1.0, (held, held, held, 0.0))) is None, (
        "what it is to get may be on its way"
    )
    rates = flow.see(period(2.0, (1000.0, 1000.0, 1000.0, 0.0)))
    assert rates is not None
    assert rates.work == pytest.approx(COSTS * (1, 1, 1, 0))


def test_without_useful_time_nothing_is_known():
    assert ObservedFlow(LAYOUT).see(Reading(1.0, 1.0, 1, 4000.0, tuples=(1000.0,) * 4)) is None


@given(st.lists(st.permutations(range(4)), min_size=2, max_size=6))
def test_operators_that_take_turns_longer_than_a_period_tell_the_same_work(turns):
    """Each operator passes on what all have, one a period: no period alone has the flow of the
    others.
    """
    flow = ObservedFlow(LAYOUT)
    time_s, rates = 0.0, None
    for turn in turns:
        for operator in turn:
            time_s += 1.0
            rates = flow.see(
                period(time_s, tuple(1000.0 if place == operator else 0.0 for place in range(4)))
            )
    assert rates is not None
    assert rates.work == pytest.approx(COSTS)


def test_the_rate_is_what_the_useful_time_of_a_period_was_enough_for():
    flow = ObservedFlow(LAYOUT)
    even = flow.see(period(1.0, (1000.0,) * 4))
    assert even is not None and even.rate == pytest.approx(1000.0)
    half = flow.see(period(2.0, (500.0,) * 4))
    assert half is not None and half.rate == pytest.approx(500.0)
    uneven = flow.see(period(3.0, (500.0, 1500.0, 500.0, 500.0)))
    assert uneven is not None
    assert uneven.rate * uneven.work.sum() == pytest.approx(
        float((COSTS * (500.0, 1500.0, 500.0, 500.0)).sum())
    )
