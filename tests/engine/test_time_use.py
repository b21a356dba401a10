"""Times of threads: parts that add up, whatever was looked at and whatever the system says."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.engine.time_use import BUSY, ThreadTime, TimeUse, with_waits_for_cpu

ACTIVITIES = (*BUSY, "tuples", "room", "lock", "pause")
"""Activities of a thread that the engine counts (native/activity.hpp)."""

SECONDS = st.floats(0.0, 100.0)
SPENT = st.dictionaries(
    st.tuples(st.sampled_from(ACTIVITIES), st.integers(0, 3)), SECONDS, min_size=1
)


def thread(spent, number=0, **system) -> ThreadTime:
    return ThreadTime(number, f"thread {number}", spent, **system)


def window(before, after) -> TimeUse:
    return after.since(before)


@given(SPENT, SECONDS, SECONDS)
def test_time_without_a_cpu_is_part_of_the_thread_s_time(spent, cpu_s, ready_s):
    told = thread(spent, cpu_s=cpu_s, ready_s=ready_s)
    found = with_waits_for_cpu(told)
    assert math.isclose(found.total, told.total, abs_tol=1e-6)
    assert all(time_s >= 0.0 for time_s in found.spent.values())
    ready = sum(time_s for (activity, _), time_s in found.spent.items() if activity == "ready")
    assert math.isclose(ready, min(ready_s, told.total), abs_tol=1e-6)


def test_a_thread_that_lost_its_cpu_at_work_has_worked_for_its_cpu_time():
    told = thread({("work", 1): 3.0, ("tuples", 1): 1.0}, cpu_s=2.0, ready_s=1.0)
    assert with_waits_for_cpu(told).spent == {
        ("work", 1): 2.0,
        ("tuples", 1): 1.0,
        ("ready", 1): 1.0,
    }


def test_a_thread_that_was_woken_waits_for_its_cpu_in_the_time_in_which_it_says_to_sleep():
    told = thread({("work", 1): 2.0, ("tuples", 1): 2.0}, cpu_s=2.0, ready_s=1.5)
    assert with_waits_for_cpu(told).spent == {
        ("work", 1): 2.0,
        ("tuples", 1): 0.5,
        ("ready", 1): 1.5,
    }


def test_looks_become_seconds_of_the_window():
    before = TimeUse(1.0, (thread({("work", 0): 100, ("move", 0): 50}),), looks=150)
    after = TimeUse(
        3.0,
        (thread({("work", 0): 150, ("move", 0): 100}), thread({("tuples", 1): 50}, number=1)),
        looks=250,
    )
    found = window(before, after)
    assert found.time_s == 2.0
    assert [each.spent for each in found.threads] == [
        {("work", 0): 1.0, ("move", 0): 1.0},
        {("tuples", 1): 1.0},
    ]


def test_a_thread_that_has_ended_has_no_more_time():
    after = TimeUse(1.0, (thread({("none", None): 10, ("work", 0): 30}),), looks=40)
    assert after.since(None).threads[0].total == 0.75


def test_a_step_that_ends_after_the_window_is_taken_from_what_was_counted_already():
    exact = TimeUse(1.0, (thread({("work", 0): 1.2, ("move", 0): -0.2}),))
    (found,) = exact.since(None).threads
    assert set(found.spent) == {("work", 0)}
    assert found.total == pytest.approx(1.0)
