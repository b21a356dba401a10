"""The state of the machine, by the time that a cache line takes from core to core."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.calibration import state
from harness.calibration.state import (
    ALIKE_FACTOR,
    alike,
    hand_off_constant,
    hand_off_ns,
    most_common,
)
from harness.calibration.topology import Cpu, Host

ONE = Host((Cpu(0, 0, 0, 0), Cpu(1, 0, 0, 0)), None)  # two hardware threads of a core
FAR = Host((Cpu(0, 0, 0, 0), Cpu(1, 1, 0, 1)), None)
NS = st.floats(1.0, 1e4)


def test_it_is_measured_between_the_nearest_cores_and_named_as_in_a_profile(monkeypatch):
    times, asked = iter([30.0, 25.0, 27.0]), []
    monkeypatch.setattr(
        state.machine_costs, "hand_off", lambda pair, rounds: asked.append(pair) or next(times)
    )
    assert hand_off_ns(FAR) == 25.0
    assert asked == [[0, 1]] * 3
    assert hand_off_constant(FAR) == "transfer.rmw.other_socket"


def test_one_core_has_no_state():
    assert hand_off_ns(ONE) is None
    assert hand_off_constant(ONE) is None
    assert most_common([(), ()]) is None


@pytest.mark.skipif(len(Host.here().cores) < 2, reason="one core may be used")
@pytest.mark.heavy
def test_here_it_is_a_plausible_time():
    assert 1.0 < hand_off_ns(Host.here()) < 1e6


@given(one=NS, factor=st.floats(1.0, 10.0))
def test_hand_offs_are_alike_up_to_a_factor_whichever_comes_first(one, factor):
    assert alike(one, one * factor) == alike(one * factor, one)
    if abs(factor - ALIKE_FACTOR) > 1e-6:
        assert alike(one, one * factor) == (factor < ALIKE_FACTOR)


@given(st.lists(st.lists(NS, min_size=1, max_size=2), min_size=1, max_size=20))
def test_the_most_common_one_has_at_least_as_many_alike_as_any_other(visits):
    def count(ns):
        return sum(all(alike(ns, each) for each in visit) for visit in visits)

    found = most_common(visits)
    assert all(count(found) >= count(ns) for visit in visits for ns in visit)
