"""Probes of the machine and of the runtime's steps: what each group finds, not how much."""

from __future__ import annotations

import json
import math
import os
from dataclasses import replace
from types import SimpleNamespace

import pytest
from harness.calibration.steps import TRIES

from harness.calibration import graphs, machine_costs, probes
from harness.calibration.probes import (
    GROUPS,
    GUESSED_CACHES,
    SLOT_BYTES,
    ProbeSetup,
    capacity,
    contenders,
    copies,
    cores,
    has_eevdf,
    line_of_copies,
    lines,
    of_cfs,
    rate,
    shared_cache,
    slice_of_eevdf,
    system,
)
from harness.calibration.rounds import second_thread
from harness.calibration.software import software
from harness.calibration.topology import Caches, Cpu, Host
from harness.errors import RunFailed
from harness.files.checked_yaml import SCHEMAS

pytestmark = pytest.mark.heavy

EFFORT = 0.02
CACHES = Caches(64, 32 << 10, 256 << 10, 2 << 20, "chip")
HERE = Host.here()
FIRST, LAST = HERE.numbers[0], HERE.numbers[-1]
two = pytest.mark.skipif(FIRST == LAST, reason="two CPUs are needed")


def machine(*places):
    """A host whose CPUs, real ones, are said to be at (socket, chip, core)."""
    return ProbeSetup(
        Host(
            tuple(
                Cpu(number, *place) for number, place in zip((FIRST, LAST), places, strict=False)
            ),
            CACHES,
        ),
        EFFORT,
    )


def constants(schema, *rooms):
    """The names below a place of a schema."""
    inner = json.loads((SCHEMAS / f"{schema}.schema.json").read_text(encoding="utf-8"))
    for room in rooms:
        inner = inner["properties"][room]
    return set(inner["properties"])


def check(values):
    assert values
    assert all(math.isfinite(value) and value > 0 for value in values.values()), values


# -- what each group finds -------------------------------------------------------------------------


def test_one_core_shows_its_clock_and_its_multiply():
    found = cores(machine((0, 0, 0)))
    check(found)
    assert set(found) == {"core.clock_ghz.1", "core.fmul_latency_cycles"}
    assert found["core.clock_ghz.1"] < 10


@two
def test_two_cores_show_the_clock_of_both_busy():
    found = cores(machine((0, 0, 0), (0, 0, 1)))
    check(found)
    assert set(found) == {"core.clock_ghz.1", "core.clock_ghz.2", "core.fmul_latency_cycles"}


@two
def test_hardware_threads_of_a_core_are_compared_with_one():
    found = cores(machine((0, 0, 0), (0, 0, 0)))
    check(found)
    assert set(found) == {
        "core.clock_ghz.1",
        "core.fmul_latency_cycles",
        "core.smt_fp.2",
        "core.smt_mixed.2",
    }


def test_one_cpu_shows_only_its_own_lines():
    with second_thread():
        found = lines(machine((0, 0, 0)))
    check(found)
    assert set(found) == {
        *(f"atomic.{name}" for name in ("rmw_local", "cas_local", "lock_unlock_local", "fence")),
        *(f"latency.{level}" for level in ("l2", "l3", "dram")),
        "atomic.contended.1",
        "atomic.cas_factor.1",
    }


@two
@pytest.mark.parametrize(
    ("places", "distance"),
    [
        (((0, 0, 0), (0, 0, 0)), "same_core"),
        (((0, 0, 0), (0, 0, 1)), "same_chip"),
        (((0, 0, 0), (0, 1, 0)), "same_module"),
        (((0, 0, 0), (1, 0, 0)), "other_socket"),
    ],
)
def test_two_cpus_show_transfers_by_their_distance(places, distance):
    with second_thread():
        found = lines(machine(*places))
    check(found)
    assert {path for path in found if path.startswith("transfer.")} == {
        f"transfer.load.{distance}",
        f"transfer.rmw.{distance}",
    }
    assert {"atomic.contended.2", "atomic.cas_factor.2"} <= set(found)


def test_one_cpu_shows_copies_by_cache():
    found = copies(machine((0, 0, 0)))
    check(found)
    levels = {f"copy.bandwidth.{name}" for name in ("own_l1", "own_l2", "l3", "dram_local")}
    one_way = {
        f"copy.{way}.{level}" for way in ("fetch", "store") for level in ("l3", "dram_local")
    }
    assert set(found) == {"copy.call", "copy.socket_dram", "cache.l3", *levels, *one_way}


@two
@pytest.mark.parametrize(
    ("places", "distance"),
    [(((0, 0, 0), (0, 0, 1)), "same_chip"), (((0, 0, 0), (1, 0, 0)), "other_socket")],
)
def test_two_cores_show_copies_of_what_the_other_has_changed(places, distance):
    found = copies(machine(*places))
    check(found)
    ways = {
        f"copy.bandwidth.modified_{distance}",
        f"copy.evicted.through.{distance}",
        f"copy.returned.call.{distance}",
    }
    assert ways <= set(found)
    assert ("copy.bandwidth.dram_remote" in found) == (distance == "other_socket")


def test_one_cpu_shows_calls_and_switches():
    found = system(machine((0, 0, 0)))
    check(found)
    assert (
        {"os.syscall_us", "os.yield_us", "os.timer_slack_us", "os.wake_caller_us"}
        <= set(found)
        <= {f"os.{name}" for name in constants("machine", "os")}
    )
    assert "os.wake_us" not in found


@two
def test_two_cores_show_wake_ups_and_what_idle_states_add():
    found = system(ProbeSetup(machine((0, 0, 0), (0, 0, 1)).host, EFFORT, {"deep": 100.0}))
    check(found)
    assert {"os.wake_us", "os.wake_caller_us", "os.idle_exit_us.deep"} <= set(found)
    assert {
        "os.wake_elsewhere_us",
        "os.woken_elsewhere_us",
        "os.preempt_us",
        "os.interrupt_us",
    } <= set(found)


def test_what_a_thread_asks_of_eevdf_is_read_where_the_kernel_tells_it(tmp_path):
    tells, other = tmp_path / "eevdf", tmp_path / "cfs"
    tells.write_text(
        "cat (16519, #threads: 1)\nprio                                         :                  "
        "120\n"
        "se.slice                                     :              1400000\nclock-delta : 70\n"
    )
    other.write_text(
        "cat (16519, #threads: 1)\nse.vruntime                                  :        "
        "353353.145002\n"
    )
    assert slice_of_eevdf(tells) == 1.4
    assert slice_of_eevdf(other) is None
    assert slice_of_eevdf(tmp_path / "none") is None


def test_what_cfs_goes_by_is_what_the_kernel_tells(tmp_path):
    old, new = tmp_path / "old/proc/sys/kernel", tmp_path / "new/sys/kernel/debug/sched"
    for folder in (old, new):
        folder.mkdir(parents=True)
    (old / "sched_min_granularity_ns").write_text("3000000\n")
    (old / "sched_wakeup_granularity_ns").write_text("4000000\n")
    (new / "latency_ns").write_text("24000000\n")
    (new / "min_granularity_ns").write_text("odd\n")
    assert of_cfs(tmp_path / "old") == {
        "os.sched_min_granularity_us": 3000.0,
        "os.sched_wakeup_granularity_us": 4000.0,
    }
    assert of_cfs(tmp_path / "new") == {"os.sched_latency_us": 24000.0}
    assert of_cfs(tmp_path) == {}


@pytest.mark.parametrize(
    ("release", "shown"),
    [("5.14.0-503.el9.x86_64", {"os.sched_latency_us"}), ("6.8.0-45-generic", set())],
)
def test_no_thread_shows_what_only_the_kernel_knows_of_its_scheduler(release, shown, monkeypatch):
    monkeypatch.setattr(probes, "slice_of_eevdf", lambda: None)
    monkeypatch.setattr(probes, "of_cfs", dict)
    monkeypatch.setattr(probes.os, "uname", lambda: SimpleNamespace(release=release))
    assert {path for path in system(machine((0, 0, 0))) if path.startswith("os.sched_")} == shown


@pytest.mark.parametrize(
    ("release", "has"),
    [
        ("6.6.0", True),
        ("6.18.44-x", True),
        ("7.0", True),
        ("6.5.13", False),
        ("3.10.0", False),
        ("odd", False),
    ],
)
def test_eevdf_came_with_linux_6_6(release, has):
    assert has_eevdf(release) is has


def test_every_cost_of_a_software_profile_is_measured():
    with second_thread():
        found = software(machine((0, 0, 0)))
    check(found)
    costs = {f"cost.{name}" for name in constants("software", "cost")}
    assert set(found) == {*costs, "reference.clock_ghz"}


def test_groups_are_of_this_module():
    assert list(GROUPS.values()) == [cores, lines, copies, system]


# -- how numbers are made of times -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("cpus", "numbers"), [(1, [1]), (2, [1, 2]), (6, [1, 2, 4, 6]), (64, [1, 2, 4, 8, 16, 32, 64])]
)
def test_lines_are_contended_by_powers_of_two_and_by_all(cpus, numbers):
    assert contenders(cpus) == numbers


@pytest.mark.parametrize("holds", [3 << 20, 50 << 20, 400 << 20])
def test_a_shared_cache_holds_what_copies_find_there(holds):
    found = capacity(
        lambda size: 300.0 if size <= holds else 700.0,
        (1 << 20, 300.0),
        (1 << 30, 700.0),
        480 << 20,
    )
    assert found == pytest.approx(holds, rel=0.06)


def test_a_shared_cache_holds_no_more_than_the_system_tells():
    assert capacity(lambda size: 300.0, (1 << 20, 300.0), (1 << 30, 700.0), 32 << 20) == 32 << 20


def test_a_shared_cache_that_is_as_slow_as_memory_holds_what_the_system_tells():
    def copied(size):
        raise AssertionError("there is nothing to find")

    assert capacity(copied, (1 << 20, 300.0), (1 << 30, 350.0), 32 << 20) == 32 << 20


def test_a_copy_is_a_call_and_bytes():
    times = [3.0 + stride / 50 for stride in SLOT_BYTES]
    assert line_of_copies(times) == pytest.approx((3.0, 50.0))
    assert rate(times, 3.0) == pytest.approx(50.0)


def test_a_rate_is_one_even_if_noise_made_the_call_take_longer_than_the_copy():
    assert 0 < rate([1.0, 60.0], 3.0) < math.inf


# -- what the system refuses -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "probe",
    [
        lambda: machine_costs.busy("add", [1023], 1000),
        lambda: machine_costs.hand_off([FIRST, 1023], 10),
        lambda: machine_costs.contended([1023], False, 1e-4),
        lambda: machine_costs.copy_between("source", [FIRST, 1023], 64, 4096, 4096, 4096),
        lambda: machine_costs.wake([FIRST, 1023], 10, 0.0),
        lambda: machine_costs.busy("add", [], 1000),
    ],
)
def test_a_cpu_that_may_not_be_used_is_an_error_and_nobody_waits_for_its_thread(probe):
    with pytest.raises(OSError, match="Invalid argument"):
        probe()


# -- the runtime's steps ---------------------------------------------------------------------------


def test_steps_of_a_chain_reach_every_operator_and_no_tuple_is_harmed():
    chain = graphs.chain(128, "work0")
    assert chain.sink("sink", 32, 5) > 0  # raises if the sink finds its tuples wrong
    chain = graphs.chain(128)
    assert chain.execute("work0", 32, 10) > 0
    assert chain.processed("sink") == chain.processed("work0") == TRIES * 10 * 32


def test_a_source_makes_as_many_tuples_as_it_is_asked_for():
    chain = graphs.chain(128, "work0")
    chain.make(8, 25)
    assert chain.processed("work0") == TRIES * 8 * 25
    assert chain.sink("sink", 32, 5) > 0  # the batch at hand is whole again


def test_a_scheduler_thread_takes_every_tuple_of_the_queue_and_ends():
    queues = graphs.queues(32, 256)
    queues.silence("work0")
    assert queues.schedule("source", 8) > 0
    assert queues.processed("work0") == TRIES * 256
    assert queues.drain("source", 8) > 0
    assert queues.processed("work0") == 2 * TRIES * 256


def test_a_producer_that_waits_leaves_the_queue_as_it_was():
    queues = graphs.queues(32, 256)
    queues.silence("work0")
    assert queues.wait("source", 10) > 0
    assert queues.processed("work0") == 0  # another thread was to drain it
    assert queues.drain("source", 8) > 0  # which may be done now
    assert queues.processed("work0") == TRIES * 256


def test_a_scheduler_thread_that_never_comes_to_the_end_of_its_queue_is_stopped():
    queues = graphs.queues(32, 256)
    with pytest.raises(RunFailed, match=r"has not emptied its queue in 0\.05 s"):
        queues.schedule("source", 0, 0.05)  # turns that take nothing
    assert queues.schedule("source", 8) > 0


def test_a_merge_passes_on_what_came_early():
    join = graphs.join()
    assert join.merge("merge", 10) > 0  # raises if it kept tuples
    assert join.processed("sink") == TRIES * 10 * 32


def test_a_punctuation_leaves_the_batch_as_it_was():
    chain = graphs.chain(128, "work0")
    chain.mark("work0", 10)
    assert chain.sink("sink", 32, 5) > 0


def test_a_shared_cache_that_is_all_taken_by_others_holds_what_a_cores_own_do(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Memory from just above half of it on, as copies tell: what is found then lies in the core's
    own caches.
    """
    monkeypatch.setattr(
        probes.machine_costs,
        "copy",
        lambda stride, source, target, least: 100.0 if source + target < 1.2e6 else 500.0,
    )
    assert shared_cache(replace(CACHES, l2=2 << 20, l3=2 << 20)) == 2 << 20


def test_readers_read_all_that_they_are_told_and_take_turns() -> None:
    """Compare the shortest of a few tries: 64 times as much takes at least 8 times as long, and a
    switch longer than nothing.
    """
    cpu = HERE.numbers[0]
    for _ in range(20):  # others' turns on the CPU make the little one long, but not each time
        little, much, switch = (
            probes.least(machine_costs.read_by_turns, cpu, 4, 100, bytes_, turns)
            for bytes_, turns in ((1 << 10, False), (64 << 10, False), (0, True))
        )
        if much > 8 * little and switch > 2 * little:
            break
    assert much > 8 * little
    assert switch > 2 * little > 0


def test_what_a_thread_finds_cold_is_what_readers_take_more_than_their_switches_and_their_reading(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """They read two and a half times what the caches of a core hold in a round."""
    asked = []

    def read_by_turns(cpu: int, threads: int, rounds: int, bytes_: int, turns: bool) -> float:
        asked.append((cpu, threads, bytes_, turns))
        return (1100.0 if turns else 0.0) + bytes_ / 32 + (560.0 if turns and bytes_ > 0 else 0.0)

    monkeypatch.setattr(probes.machine_costs, "read_by_turns", read_by_turns)
    for l2, threads, turn in (
        (2 << 20, 80, 64 << 10),
        (64 << 20, 256, 640 << 10),
        (1 << 10, 2, 64 << 10),
    ):
        asked.clear()
        setting = ProbeSetup(replace(HERE, caches=replace(GUESSED_CACHES, l2=l2)))
        assert probes._refill_ns(setting, 1) == pytest.approx(560.0)
        assert set(asked) == {
            (1, threads, turn, True),
            (1, threads, 0, True),
            (1, threads, turn, False),
        }


def test_the_choice_of_a_cpu_is_told_by_the_tries_in_which_no_thread_moved(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Most free crowds take several times as long. Who starts them may run on both CPUs, and then
    where it was before.
    """
    before, seen, tries = os.sched_getaffinity(0), [], iter(range(1000))
    pair = sorted(before)[:2]

    def hand_over(cpus: list[int], threads: int, rounds: int, free: bool) -> float:
        seen.append(os.sched_getaffinity(0))
        return 1400.0 + (0.0 if not free else 500.0 if next(tries) % 7 == 5 else 4000.0)

    monkeypatch.setattr(probes.machine_costs, "hand_over", hand_over)
    assert probes._choice_ns(pair, 10) == 500.0
    assert all(allowed == set(pair) for allowed in seen)
    assert os.sched_getaffinity(0) == before
