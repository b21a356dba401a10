"""Runs in the state of the machine that the profile describes: waited for, made again, given up."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from harness.calibration.probes import GUESSED_CACHES
from harness.cli.validate import PATIENCE_S
from harness.errors import RunFailed
from harness.machines.machine import load_machine
from harness.validation import state
from harness.validation.state import (
    MAX_RUN_ATTEMPTS,
    MAX_WAIT_UNSEEN_S,
    SameStateRunner,
    constants_beside,
    fits,
)
from tests.validation.made_runs import HOST, PIPELINE, made_in, measured

PROFILE = SimpleNamespace(get={"transfer.rmw.same_chip": 25.0}.get)


class Machine:
    """Hands lines over in the times given, one after the other, and then in the last of them. Its
    clock stands but in sleep.
    """

    def __init__(self, monkeypatch, *hand_offs_ns):
        self.hand_offs_ns = list(hand_offs_ns)
        self.now_s = 0.0
        monkeypatch.setattr(state, "hand_off_constant", lambda host: "transfer.rmw.same_chip")
        monkeypatch.setattr(state, "hand_off_ns", lambda host: self.next())
        monkeypatch.setattr(state.time, "sleep", self.sleep)
        monkeypatch.setattr(state.time, "monotonic", lambda: self.now_s)
        self.looks = 0
        monkeypatch.setattr(state, "shared_cache", self.shared_cache)

    def next(self):
        return self.hand_offs_ns.pop(0) if len(self.hand_offs_ns) > 1 else self.hand_offs_ns[0]

    def sleep(self, seconds):
        self.now_s += seconds

    def shared_cache(self, sizes):
        self.looks += 1
        return 90e6 + self.looks * 10e6


class Runs:
    """A run after the other; each takes a second."""

    def __init__(self, machine, **changes):
        self.machine, self.changes, self.count = machine, changes, 0

    def __call__(self):
        self.count += 1
        self.machine.now_s += 1.0
        return measured(PIPELINE, float(self.count), **self.changes)[0]


def made(machine, patience_s=PATIENCE_S, **changes):
    told, runs, of = [], Runs(machine, **changes), SameStateRunner(PROFILE, patience_s)
    record = of.run(runs, told.append)
    return (
        record["sink_tuples_per_s"],
        record["host"].get("hand_offs_ns"),
        runs.count,
        of.repeated,
        told,
    )


def test_a_run_in_the_profiles_state_is_made_once(monkeypatch):
    assert made(Machine(monkeypatch, 24.0, 27.0)) == (1.0, [24.0, 27.0], 1, 0, [])


def test_a_run_waits_for_the_profiles_state_and_says_so(monkeypatch):
    machine = Machine(monkeypatch, 120.0, 119.0, 26.0, 25.0)
    told = [
        f"waiting: a line takes {ns} ns from core to core, where the profile says 25"
        for ns in (120, 119)
    ]
    assert made(machine) == (1.0, [26.0, 25.0], 1, 0, told)


def test_a_run_during_which_the_state_changed_is_made_again(monkeypatch):
    told = ["once more: the machine has changed its state"]
    assert made(Machine(monkeypatch, 25.0, 120.0, 25.0, 26.0)) == (2.0, [25.0, 26.0], 2, 1, told)


def test_runs_that_are_made_again_use_up_patience_too(monkeypatch):
    machine = Machine(monkeypatch, *[25.0, 120.0] * MAX_RUN_ATTEMPTS)
    assert made(machine, patience_s=1.0)[:4] == (2.0, [25.0, 120.0], 2, 1)


def test_a_run_that_is_always_spoilt_is_told_as_it_was(monkeypatch):
    rate, hand_offs_ns, count, repeated, _ = made(
        Machine(monkeypatch, *[25.0, 120.0] * MAX_RUN_ATTEMPTS)
    )
    assert (rate, hand_offs_ns, count, repeated) == (
        MAX_RUN_ATTEMPTS,
        [25.0, 120.0],
        MAX_RUN_ATTEMPTS,
        MAX_RUN_ATTEMPTS - 1,
    )


def test_patience_ends_and_runs_are_made_all_the_same(monkeypatch):
    machine = Machine(monkeypatch, 25.0, 25.0, 120.0)
    of, runs, told = SameStateRunner(PROFILE, 8.0), Runs(machine), []
    of.run(runs, told.append)
    record = of.run(runs, told.append)
    assert (runs.count, of.repeated, of.unseen_ns) == (2, 0, None)
    assert record["host"]["hand_offs_ns"] == [120.0, 120.0]
    assert machine.now_s == pytest.approx(2.0 + 8.0) and len(told) == 32


def test_a_state_that_is_never_seen_is_not_waited_for_twice(monkeypatch):
    machine = Machine(monkeypatch, 120.0)
    of, runs, told = SameStateRunner(PROFILE, PATIENCE_S), Runs(machine), []
    records = [of.run(runs, told.append) for _ in range(3)]
    assert (runs.count, of.repeated, of.unseen_ns) == (3, 0, 120.0)
    assert machine.now_s == pytest.approx(3.0 + MAX_WAIT_UNSEEN_S)
    assert {tuple(record["host"]["hand_offs_ns"]) for record in records} == {(120.0, 120.0)}


def test_a_run_that_failed_is_not_made_again(monkeypatch):
    assert made(Machine(monkeypatch, 25.0, 120.0), error="no memory", correct=False)[2:4] == (1, 0)


def test_a_profile_or_a_machine_that_tells_nothing_takes_every_run(monkeypatch):
    machine = Machine(monkeypatch, 120.0)
    monkeypatch.setattr(state, "hand_off_constant", lambda host: None)
    assert made(machine) == (1.0, None, 1, 0, [])
    monkeypatch.setattr(state, "hand_off_constant", lambda host: "transfer.rmw.other_socket")
    assert made(machine) == (1.0, None, 1, 0, [])


def test_the_hand_off_is_the_number_in_the_profile(monkeypatch):
    monkeypatch.setattr(state, "hand_off_constant", lambda host: "transfer.rmw.same_chip")
    profile = load_machine("local")
    assert SameStateRunner(profile, PATIENCE_S).expected_ns == profile["transfer.rmw.same_chip"]


def test_what_the_shared_cache_holds_is_looked_at_between_runs_every_few_seconds(monkeypatch):
    """A run takes a second here. Where only one core may be used, and no line is handed over, it is
    looked at all the same.
    """
    machine = Machine(monkeypatch, 25.0)
    for constant in ("transfer.rmw.same_chip", None):
        monkeypatch.setattr(state, "hand_off_constant", lambda host, constant=constant: constant)
        machine.looks = 0
        of, runs = SameStateRunner(PROFILE, PATIENCE_S), Runs(machine)
        records = [of.run(runs, print) for _ in range(21)]
        assert [record["host"]["shared_cache_bytes"] for record in records] == [100e6] * 10 + [
            110e6
        ] * 10 + [120e6]


def test_a_system_that_refuses_the_memory_for_a_look_is_told_in_a_line(monkeypatch):
    Machine(monkeypatch, 25.0)

    def refuse(sizes):
        raise OSError(12, "Cannot allocate memory")

    monkeypatch.setattr(state, "shared_cache", refuse)
    with pytest.raises(
        RunFailed,
        match=r"^the system refuses to measure what the shared cache holds: Cannot allocate "
        r"memory$",
    ):
        SameStateRunner(PROFILE, PATIENCE_S).run(lambda: pytest.fail("no run"), print)


@pytest.mark.parametrize(
    ("caches", "asked"), [((1024, 2048), (1024, 2048)), (None, GUESSED_CACHES)]
)
def test_a_look_goes_by_the_caches_of_the_host_where_it_tells_them(monkeypatch, caches, asked):
    Machine(monkeypatch, 25.0)
    looked = []
    monkeypatch.setattr(state, "shared_cache", lambda sizes: looked.append(sizes) or 1e6)
    monkeypatch.setattr(state, "Host", SimpleNamespace(here=lambda: SimpleNamespace(caches=caches)))
    SameStateRunner(PROFILE, PATIENCE_S).run(lambda: measured(PIPELINE, 1.0)[0], print)
    assert looked == [asked]


def test_a_share_that_is_less_than_the_profiles_own_caches_is_no_number_for_it(monkeypatch):
    """Else it would be refused once all is measured."""
    profile = load_machine("local")
    Machine(monkeypatch, profile["transfer.rmw.same_chip"])
    monkeypatch.setattr(state, "shared_cache", lambda sizes: 1000.0)
    record = SameStateRunner(profile, PATIENCE_S).run(lambda: measured(PIPELINE, 1.0)[0], print)
    assert profile.with_constants(constants_beside([record]))["cache.l3"] == profile["cache.l2"]


def test_predictions_go_by_the_median_of_what_the_shared_cache_held():
    runs = [
        record
        for mb in (80, 90, 200)
        for record in measured(PIPELINE, 1.0, host=HOST | {"shared_cache_bytes": mb * 10**6})
    ]
    assert constants_beside(runs) == {"cache.l3": 90e6}
    assert constants_beside(runs[:1] + measured(PIPELINE, 1.0)) == {"cache.l3": 80e6}
    assert constants_beside(measured(PIPELINE, 1.0)) == {}  # of a version that did not look


def test_a_system_that_refuses_a_thread_is_told_in_a_line(monkeypatch):
    Machine(monkeypatch, 25.0)

    def refuse(host):
        raise OSError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(state, "hand_off_ns", refuse)
    with pytest.raises(
        RunFailed,
        match=r"^the system refuses to measure the hand-off of a cache line: Resource temporarily "
        r"unavailable$",
    ):
        SameStateRunner(PROFILE, PATIENCE_S).run(lambda: pytest.fail("no run"), print)


@pytest.mark.parametrize(
    ("seen", "expected_ns", "good"),
    [
        ([24.0, 26.0], 25.0, True),
        ([24.0, 90.0], 25.0, False),
        ([90.0, 24.0], 25.0, False),
        ([90.0, 90.0], None, True),
    ],
)
def test_both_hand_offs_have_to_be_the_profiles(seen, expected_ns, good):
    assert fits(made_in(seen, 5.0)[0], expected_ns) is good


def test_a_run_that_does_not_tell_is_taken():
    assert fits(measured(PIPELINE, 5.0)[0], 25.0)
