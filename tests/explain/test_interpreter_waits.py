"""Waits for the interpreter's lock, as they follow from what threads say and the CPU time they had."""

from __future__ import annotations

import pytest

from harness.engine.time_use import ThreadTime, without_interpreter_waits

A, B, NATIVE = 0, 1, 2


def thread(number, cpu_s, **spent):
    """A thread that said so of activities for one operator each: `work_0=0.5` [s]."""
    keys = {name: tuple(name.split("_")) for name in spent}
    times = {(keys[name][0], int(keys[name][1])): time_s for name, time_s in spent.items()}
    return ThreadTime(number, f"t{number}", times, cpu_s, 0.0)


def test_threads_that_say_they_execute_python_without_a_cpu_wait_for_the_lock():
    threads = [thread(0, 0.6, work_0=1.0), thread(1, 0.4, work_1=1.0)]
    changed, held = without_interpreter_waits(threads, {A, B})
    assert changed[0].spent == pytest.approx({("work", A): 0.6, ("lock", A): 0.4})
    assert changed[1].spent == pytest.approx({("work", B): 0.4, ("lock", B): 0.6})
    assert held == pytest.approx({A: 0.6, B: 0.4})


def test_a_function_that_sleeps_does_not_wait_longer_than_others_hold_the_lock():
    threads = [thread(0, 0.01, work_0=1.0), thread(1, 0.02, work_1=0.02, tuples_1=0.98)]
    changed, held = without_interpreter_waits(threads, {A, B})
    assert changed[0].spent == pytest.approx({("work", A): 0.98, ("lock", A): 0.02})
    assert held == pytest.approx({A: 0.01, B: 0.02})


def test_compiled_operators_do_not_wait_for_the_lock():
    threads = [thread(0, 0.2, work_2=1.0), thread(1, 1.0, work_0=1.0)]
    changed, held = without_interpreter_waits(threads, {A})
    assert changed[0].spent == {("work", NATIVE): 1.0}
    assert held == pytest.approx({A: 1.0})


def test_exact_times_have_their_waits_already():
    threads = [thread(0, None, work_0=0.5, lock_0=0.5), thread(1, None, work_1=0.5)]
    changed, held = without_interpreter_waits(threads, {A, B})
    assert [each.spent for each in changed] == [each.spent for each in threads]
    assert held == {A: 0.5, B: 0.5}
