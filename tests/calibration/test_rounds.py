"""Rounds: in turn, medians and quartiles, bounded, and the thread where it was before."""

from __future__ import annotations

import os
import threading

import pytest

from harness.calibration import rounds as rounds_of
from harness.calibration.probes import ProbeSetup
from harness.calibration.rounds import MeasuredConstant, Visit, found, measure, summary
from harness.calibration.topology import Host


@pytest.fixture
def setting(monkeypatch):
    """Return the setting of a machine that never changes its state."""
    monkeypatch.setattr(rounds_of, "hand_off_ns", lambda host: 25.0)
    return ProbeSetup(Host.here(), 0.01)


def test_groups_take_turns_and_each_constant_is_the_median_of_its_rounds(setting):
    calls, numbers = [], iter([5.0, 1.0, 3.0])

    def first(_):
        calls.append("first")
        return {"a.b": next(numbers)}

    def second(_):
        calls.append("second")
        return {"c": 7.0}

    seen = measure({"first": first, "second": second}, setting, rounds=3, budget_s=60)
    assert calls == ["first", "second"] * 3
    assert seen.visits == 6
    assert seen.constants == {
        "a.b": MeasuredConstant(3.0, 2.0, 4.0),
        "c": MeasuredConstant(7.0, 7.0, 7.0),
    }


def test_a_group_that_finds_something_in_some_rounds_only_counts_these(setting):
    rounds = iter([{"a": 1.0}, {}, {"a": 3.0}])
    seen = measure({"now and then": lambda _: next(rounds)}, setting, rounds=3, budget_s=60)
    assert seen.constants == {"a": MeasuredConstant(2.0, 1.5, 2.5)}


def test_there_is_one_round_however_little_time_there_is(setting):
    calls = []
    measure({"one": lambda _: calls.append(1) or {}}, setting, rounds=1000, budget_s=0)
    assert len(calls) == 1


def test_progress_is_told_before_each_group(setting):
    told = []
    groups = {"a": lambda _: {}, "b": lambda _: {}}
    measure(groups, setting, 2, 60, lambda done, total, what: told.append((done, total, what)))
    assert told == [(0, 4, "a"), (1, 4, "b"), (2, 4, "a"), (3, 4, "b")]


def visits_of(group, *seen):
    return [Visit(group, {group: value}, hand_offs) for value, *hand_offs in seen]


def test_what_was_measured_in_a_rarer_state_of_the_machine_is_left_out():
    seen = found(
        visits_of(
            "a", (1.0, 24.0, 26.0), (3.0, 26.0, 25.0), (50.0, 120.0, 118.0), (40.0, 25.0, 121.0)
        )
    )
    assert (seen.constants, seen.visits, seen.left_out) == (
        {"a": MeasuredConstant(2.0, 1.5, 2.5)},
        4,
        2,
    )


def test_the_state_is_the_one_of_most_measurements_over_all_groups():
    seen = found(
        [*visits_of("a", (1.0, 24.0), (9.0, 120.0)), *visits_of("b", (8.0, 121.0), (7.0, 119.0))]
    )
    assert seen.constants == {"a": MeasuredConstant(9.0, 9.0, 9.0), "b": summary([8.0, 7.0])}


def test_a_group_never_measured_in_that_state_keeps_what_it_found():
    seen = found([*visits_of("a", (1.0, 24.0), (2.0, 24.0)), *visits_of("b", (8.0, 121.0))])
    assert (seen.constants["b"].value, seen.left_out, seen.other_state) == (8.0, 0, ("b",))


def test_where_one_core_may_be_used_everything_counts():
    assert found(visits_of("a", (1.0,), (2.0,))).constants == {"a": summary([1.0, 2.0])}


def test_the_hand_off_is_measured_before_and_after_each_group(setting, monkeypatch):
    hand_offs = iter([25.0, 25.0, 120.0, 26.0, 24.0])
    monkeypatch.setattr(rounds_of, "hand_off_ns", lambda host: next(hand_offs))
    values = iter([1.0, 50.0, 60.0, 2.0])
    seen = measure({"a": lambda _: {"a": next(values)}}, setting, rounds=4, budget_s=60)
    assert (seen.constants, seen.left_out) == ({"a": summary([1.0, 2.0])}, 2)


@pytest.mark.parametrize(
    ("values", "noisy"),
    [([1.0, 1.0, 1.1, 1.1], False), ([1.0, 1.0, 1.5, 1.5], True), ([2.0], False)],
)
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
