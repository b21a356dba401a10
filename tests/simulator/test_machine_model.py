"""Tests of what the tables of a machine's profile say comes out of the models of its cores, lines
and copies.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from harness.simulator.costs import interpolated
from tests.simulator.probes import Bench, copied, load, loads, rmw, take, turns

from harness.machines.machine import Machine, load_machine, machine_names

MACHINES = machine_names()
MILLISECOND = 1e6  # ns


def one_socket(
    machine: Machine, chips: int | None = None, cores: int | None = None, smt: int | None = None
) -> Machine:
    """A part of the machine."""
    return replace(
        machine,
        sockets=1,
        chips_per_socket=chips or machine.chips_per_socket,
        cores_per_chip=cores or machine.cores_per_chip,
        smt=smt or machine.smt,
        disabled_cores=0,
    )


def time_of_each(machine: Machine, threads: int, sort: str) -> list[float]:
    """So many threads begin with the same work: how many times as long as alone each of them
    takes.
    """
    bench = Bench(machine, threads)
    for _ in range(threads):
        bench.compute(10 * MILLISECOND, step=1e4, sort=sort)
    bench.run(1e3 * MILLISECOND)
    return [
        (bench.ended(thread) - bench.began(thread)) / (10 * MILLISECOND)
        for thread in range(threads)
    ]


def each(factor: float, threads: int) -> object:
    """Within a percent: the first threads have a few steps to themselves before the others have
    woken up.
    """
    return pytest.approx([factor] * threads, rel=0.01)


@pytest.mark.parametrize("name", MACHINES)
def test_threads_at_one_line_complete_an_operation_at_the_rate_of_the_table(name: str) -> None:
    machine = load_machine(name)
    for contenders, expected in machine.table("atomic.contended").items():
        if 1 < contenders <= machine.cpus:  # alone: atomic.rmw_local
            cores = [thread % machine.cores for thread in range(contenders)]
            assert rmw(machine, cores, 50 * contenders) == pytest.approx(expected, rel=0.05)


@pytest.mark.parametrize("name", MACHINES)
def test_loops_around_a_compare_and_swap_are_slower_by_the_factor_of_the_table(name: str) -> None:
    machine = load_machine(name)
    factors = interpolated(machine.table("atomic.cas_factor"), machine.cpus)
    rates = interpolated(machine.table("atomic.contended"), machine.cpus)
    assert rmw(machine, [0], 50, cas=True) == machine["atomic.cas_local"]
    for contenders in (2, 3, 8, machine.cpus):
        if contenders <= machine.cpus:
            cores = [thread % machine.cores for thread in range(contenders)]
            found = rmw(machine, cores, 50 * contenders, cas=True)
            assert found == pytest.approx(factors[contenders] * rates[contenders], rel=0.05)


@pytest.mark.parametrize("name", MACHINES)
def test_a_line_comes_from_another_core_in_the_time_of_its_distance(name: str) -> None:
    machine = load_machine(name)
    chip, module = machine.cores_per_chip, machine.cores_per_chip * machine.chips_per_socket
    distances = {"same_chip": 1} | ({"same_module": chip} if machine.chips_per_socket > 1 else {})
    distances |= {"other_socket": module} if machine.sockets > 1 else {}
    for distance, core in distances.items():
        assert (
            load(machine, 0, core) == load(machine, core, 0) == machine[f"transfer.load.{distance}"]
        )
        assert (
            take(machine, 0, core) == take(machine, core, 0) == machine[f"transfer.rmw.{distance}"]
        )
    assert load(machine, 0, 0) == 0
    assert take(machine, 0, 0) == machine["atomic.rmw_local"]


def test_a_core_that_has_looked_at_a_line_does_not_pay_again_until_somebody_writes() -> None:
    """However many others have looked since."""
    xeon = load_machine("xeon")
    readers = [1, 2, 70, 3, 2, 1, 70, 3]
    near, far = xeon["transfer.load.same_chip"], xeon["transfer.load.other_socket"]
    assert loads(xeon, 0, readers) == [near, near, far, near, 0, 0, 0, 0]


def test_who_comes_before_an_operation_that_is_still_to_begin_does_not_wait_for_it() -> None:
    """A thread that owes the time of large copies asks for a line long before it uses it."""
    xeon = load_machine("xeon")
    alone, contended = turns(xeon, [(0, 0.0), (1, 0.0)])
    assert contended > alone
    _, early, beside = turns(xeon, [(2, 27_000.0), (0, 0.0), (1, 0.0)])
    assert early == pytest.approx(xeon["transfer.rmw.same_chip"], abs=0.001)
    assert early < beside < 1_000.0, "those that come as early take turns"
    _, _, beside = turns(xeon, [(0, 0.0), (2, 27_000.0), (1, 0.0)])
    assert beside == pytest.approx(contended), "also with who was there before the late one asked"
    late, _, after = turns(xeon, [(2, 27_000.0), (0, 0.0), (1, 27_000.0)])
    assert after > late, "and the late one has its turn"


@pytest.mark.parametrize("name", MACHINES)
def test_a_core_slows_its_threads_down_as_the_table_says_for_those_that_are_busy(name: str) -> None:
    core = one_socket(load_machine(name), 1, 1)
    for busy in range(1, core.smt + 1):
        assert time_of_each(core, busy, "fp") == each(busy / core[f"core.smt_fp.{busy}"], busy)
        assert time_of_each(core, busy, "mixed") == each(
            busy / core[f"core.smt_mixed.{busy}"], busy
        )
        assert time_of_each(core, busy, "waiting") == each(1.0, busy)


@pytest.mark.parametrize("name", MACHINES)
def test_a_socket_slows_its_cores_down_as_their_clock_falls(name: str) -> None:
    socket = one_socket(load_machine(name), smt=1)
    clock = interpolated(socket.table("core.clock_ghz"), socket.cores)
    for busy in {1, 2, socket.cores // 2, socket.cores}:
        assert time_of_each(socket, busy, "mixed") == each(max(clock) / clock[busy], busy)


def test_the_clock_of_a_socket_does_not_depend_on_the_others() -> None:
    """Threads are spread over the sockets: one on each has its highest clock."""
    machine = load_machine("xeon")
    assert time_of_each(machine, machine.sockets, "mixed") == each(1.0, machine.sockets)


@pytest.mark.parametrize("name", MACHINES)
def test_a_copy_takes_as_long_as_the_bandwidth_of_where_the_bytes_are(name: str) -> None:
    machine = load_machine(name)
    bytes_, near = 4096, machine.cores_per_chip
    l1, l2, shared = machine["cache.l1d"], machine["cache.l2"], machine["cache.l3"]
    everywhere = 1e12  # bytes: more than all caches
    beyond_l2 = min(8 * l2, 0.75 * shared)
    # both rings of a copy are in the same place, or the second one in the own second-level cache
    places = {
        "own_l1": copied(machine, 0, 0, bytes_),
        "own_l2": copied(machine, 0, 0, bytes_, queued=l1, room=l1),
        "l3": copied(machine, 0, 0, bytes_, queued=beyond_l2, room=beyond_l2),
        "modified_same_chip": copied(machine, 0, 1, bytes_, room=l1),
        "dram_local": copied(machine, 0, 0, bytes_, queued=everywhere, room=everywhere),
    }
    if machine.chips_per_socket > 1:
        places["modified_same_module"] = copied(machine, 0, near, bytes_, room=l1)
    if machine.sockets > 1:
        other = near * machine.chips_per_socket
        places["modified_other_socket"] = copied(machine, 0, other, bytes_, room=l1)
        places["dram_remote"] = copied(
            machine, 0, other, bytes_, queued=everywhere, room=everywhere
        )
    for place, time in places.items():
        assert time == pytest.approx(
            machine["copy.call"] + bytes_ / machine[f"copy.bandwidth.{place}"], rel=0.01
        ), place


def test_a_shared_cache_holds_nothing_while_its_cores_have_nothing_to_do() -> None:
    """Without a busy core there is one L3 for what queues hold, and not all of the machine's."""
    xeon = load_machine("xeon")
    assert xeon.sockets > 2
    sizes = [share * xeon["cache.l3"] for share in (0.6, 1.4)]
    fits, does_not = (copied(xeon, 0, 0, 4096, queued=size, room=size) for size in sizes)
    assert fits == pytest.approx(xeon["copy.call"] + 4096 / xeon["copy.bandwidth.l3"], rel=0.01)
    assert does_not == pytest.approx(
        xeon["copy.call"] + 4096 / xeon["copy.bandwidth.dram_local"], rel=0.01
    )


def test_what_is_about_as_large_as_a_shared_cache_is_found_there_in_part() -> None:
    machine = load_machine("local")
    sizes = [part * machine["cache.l3"] for part in (0.5, 0.6, 1.0, 1.4, 2.0)]
    times = [copied(machine, 0, 0, 4096, queued=size, room=size) for size in sizes]
    assert times[0] == pytest.approx(times[1], rel=0.01)
    assert times[1] < times[2] < times[3] == pytest.approx(times[4], rel=0.01)
    assert times[2] == pytest.approx((times[0] + times[4]) / 2, rel=0.01)


@pytest.fixture
def overlapping() -> Machine:
    """To fetch and to leave overlap in its shared cache, and more so in its memory [GB/s]."""
    rates = {"bandwidth.l3": 8.0, "fetch.l3": 10.0, "store.l3": 12.0}
    rates |= {
        "bandwidth.dram_local": 4.0,
        "fetch.dram_local": 7.0,
        "store.dram_local": 5.0,
        "socket_dram": 40.0,
    }
    return load_machine("template").with_constants(
        {f"copy.{name}": rate for name, rate in rates.items()}
    )


def of_shared(machine: Machine, queued: float, room: float) -> float:
    """A copy of 4,096 bytes between what is so many times as large as the shared cache [ns]."""
    return copied(
        machine, 0, 0, 4096, queued=queued * machine["cache.l3"], room=room * machine["cache.l3"]
    )


@pytest.mark.parametrize(("queued", "room"), [(0.6, 1.4), (1.4, 0.6)])
def test_to_fetch_in_one_place_and_to_leave_in_another_do_not_overlap(
    overlapping: Machine, queued: float, room: float
) -> None:
    near, fetched, left = (
        of_shared(overlapping, *sizes) for sizes in ((0, 0), (queued, 0), (0, room))
    )
    assert of_shared(overlapping, queued, room) == pytest.approx(fetched + left - near, rel=0.01)


@pytest.mark.parametrize(
    ("fetched", "left"),
    [((0.75, 1.25), (1.25, 1.25)), ((0.75, 0.75), (0.75, 1.25)), ((0.75, 1.25), (0.75, 1.25))],
)
def test_where_half_is_in_a_shared_cache_and_half_in_memory_a_copy_costs_half_of_each(
    overlapping: Machine, fetched: tuple[float, float], left: tuple[float, float]
) -> None:
    """Half of the cost of fetching, of where a copy is left, or of both."""
    one, other = (
        of_shared(overlapping, queued, room) for queued, room in zip(fetched, left, strict=True)
    )
    mixed = of_shared(overlapping, sum(fetched) / 2, sum(left) / 2)
    assert mixed == pytest.approx((one + other) / 2, rel=0.01)


def test_what_another_core_has_left_to_a_shared_cache_may_be_further_away() -> None:
    shared = load_machine("template")
    ways = {"fetch": 3.0, "store": 2.0, "through": 1.0}  # GB/s
    apart = shared.with_constants(
        {f"copy.evicted.{way}.same_chip": rate for way, rate in ways.items()}
    )
    far = 8 * shared["cache.l2"]

    def gigabytes_per_second(writer: int, queued: float, room: float, worked: int) -> float:
        took = copied(apart, 0, writer, 4096, queued=queued, room=room, worked=worked)
        return 4096 / (took - apart["copy.call"])

    own = apart["copy.bandwidth.l3"]
    assert gigabytes_per_second(0, far, far, 0) == pytest.approx(own, rel=0.01)
    assert gigabytes_per_second(1, far, 0, 0) == pytest.approx(3.0, rel=0.01)
    assert gigabytes_per_second(0, 0, far, 1) == pytest.approx(2.0, rel=0.01)
    assert gigabytes_per_second(1, far, far, 1) == pytest.approx(1.0, rel=0.01)
    own_slots, others_slots = (
        copied(shared, 0, core, 4096, queued=far, room=far, worked=core) for core in (0, 1)
    )
    assert own_slots < others_slots  # in the template through is slower than l3


def ways(machine: Machine, far: float) -> tuple[float, float, float, float]:
    """A copy of 4,096 bytes from near to near, from far to near, from near to far, and from far to
    far.
    """
    return tuple(
        copied(machine, 0, 0, 4096, queued=queued, room=room)
        for queued, room in ((0, 0), (far, 0), (0, far), (far, far))
    )


@pytest.mark.parametrize("name", ["xeon", "power8"])
def test_to_fetch_what_is_copied_and_to_leave_it_add_up(name: str) -> None:
    machine = load_machine(name)
    near, fetched, left, both = ways(
        machine, min(8 * machine["cache.l2"], 0.75 * machine["cache.l3"])
    )
    assert near < fetched < both
    assert near < left < both
    assert fetched + left == pytest.approx(near + both, rel=0.01)


@pytest.mark.parametrize("name", ["xeon", "power8"])
def test_to_overwrite_memory_takes_two_thirds_of_what_a_copy_of_it_takes(name: str) -> None:
    """Overwritten memory is read as well, and written back."""
    machine = load_machine(name)
    nearest, _, left, whole = (took - machine["copy.call"] for took in ways(machine, 1e12))
    assert left == pytest.approx(2 / 3 * whole + nearest / 2, rel=0.01)


@pytest.mark.parametrize(("place", "far"), [("l3", 2e6), ("dram_local", 1e12)])
def test_a_profile_may_tell_what_it_takes_to_fetch_and_what_to_leave(
    place: str, far: float
) -> None:
    rates = {
        f"copy.bandwidth.{place}": 4.0,
        f"copy.fetch.{place}": 6.0,
        f"copy.store.{place}": 5.0,
    }  # GB/s
    machine = load_machine("template").with_constants(rates | {"copy.socket_dram": 40.0})
    _, *found = (4096 / (took - machine["copy.call"]) for took in ways(machine, far))
    assert found == pytest.approx([6.0, 5.0, 4.0], rel=0.01)


@pytest.mark.parametrize("name", MACHINES)
def test_a_step_takes_as_long_at_once_as_in_parts(name: str) -> None:
    machine = load_machine(name)

    def end(step: float) -> float:
        bench = Bench(machine, 1)
        thread = bench.compute(MILLISECOND, step)
        bench.run(2 * MILLISECOND)
        return bench.ended(thread) - bench.began(thread)

    assert end(MILLISECOND) == pytest.approx(end(100.0), rel=1e-3)


def test_between_two_entries_of_a_table_values_lie_on_a_line_and_outside_they_stay() -> None:
    assert interpolated({2: 10.0, 4: 20.0, 8: 0.0}, 10) == [
        10.0,
        10.0,
        10.0,
        15.0,
        20.0,
        15.0,
        10.0,
        5.0,
        0.0,
        0.0,
        0.0,
    ]
    assert interpolated({1: 3.0}, 3) == [3.0] * 4
