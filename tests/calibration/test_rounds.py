"""Rounds: in turn, medians and quartiles, bounded, and the thread where it was before."""

from __future__ import annotations

import os
import threading

import pytest

from harness.calibration.probes import Setting
from harness.calibration.rounds import Measured, measure, summary
from harness.calibration.topology import Host


@pytest.fixture
def setting():
    return Setting(Host.here(), 0.01)


def test_groups_take_turns_and_each_constant_is_the_median_of_its_rounds(setting):
    calls, numbers = [], iter([5.0, 1.0, 3.0])

    def first(_):
        calls.append("first")
        return {"a.b": next(numbers)}

    def second(_):
        calls.append("second")
        return {"c": 7.0}

    found = measure({"first": first, "second": second}, setting, rounds=3, budget_s=60)
    assert calls == ["first", "second"] * 3
    assert found == {"a.b": Measured(3.0, 2.0, 4.0), "c": Measured(7.0, 7.0, 7.0)}


def test_a_group_that_finds_something_in_some_rounds_only_counts_these(setting):
    rounds = iter([{"a": 1.0}, {}, {"a": 3.0}])
    found = measure({"now and then": lambda _: next(rounds)}, setting, rounds=3, budget_s=60)
    assert found == {"a": Measured(2.0, 1.5, 2.5)}


def test_there_is_one_round_however_little_time_there_is(setting):
    calls = []
    measure({"one": lambda _: calls.append(1) or {}}, setting, rounds=1000, budget_s=0)
    assert len(calls) == 1


def test_progress_is_told_before_each_group(setting):
    told = []
    groups = {"a": lambda _: {}, "b": lambda _: {}}
    measure(groups, setting, 2, 60, lambda done, total, what: told.append((done, total, what)))
    assert told == [(0, 4, "a"), (1, 4, "b"), (2, 4, "a"), (3, 4, "b")]


@pytest.mark.parametrize(("values", "noisy"), [([1.0, 1.0, 1.1, 1.1], False), ([1.0, 1.0, 1.5, 1.5], True), ([2.0], False)])
def test_quartiles_further_apart_than_a_fifth_of_the_median_are_noise(values, noisy):
    assert summary(values).noisy is noisy


@pytest.mark.parametrize("fails", [False, True])
def test_probes_run_pinned_and_beside_a_second_thread_and_leave_neither(setting, fails):
    before, threads, seen = os.sched_getaffinity(0), threading.active_count(), []

    def look(_):
        seen.append((os.sched_getaffinity(0), threading.active_count()))
        if fails:
            raise OSError(11, "no thread")
        return {}

    if fails:
        with pytest.raises(OSError, match="no thread"):
            measure({"look": look}, setting, 1, 60)
    else:
        measure({"look": look}, setting, 1, 60)
    assert seen == [({setting.host.numbers[0]}, threads + 1)]
    assert os.sched_getaffinity(0) == before
    assert threading.active_count() == threads
