"""Groups of probes of the machine. A group is a function: one round, constants by their dotted
paths in a profile.

Constants that this machine cannot show are left out: transfers between sockets if there is one,
between cores if one may be used.
"""

from __future__ import annotations

import math
import os
import re
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import psutil

from harness.calibration import machine_costs
from harness.calibration.topology import OTHER_SOCKET, SAME_CORE, Caches, Host
from harness.machines.host.cgroup import ROOT, read_text
from harness.machines.machine import WORKING_SET_KIB

SLOT_BYTES = (192, 4160)
"""Slots of tuples with a payload of 128 and of 4,096 bytes, the sizes that are simulated most
[bytes].
"""

GUESSED_CACHES = Caches(line=64, l1d=32 << 10, l2=512 << 10, l3=16 << 20, l3_shared_by="socket")
"""Cache sizes for the copies if the system does not report its caches: a guess that fits most
servers.
"""

MIN_CONSTANT = 1e-3
"""Replacement for a difference that noise has made negative: profiles hold numbers above 0."""

TRIES = 3

CROWD_THREADS = 16
"""Threads that take turns on a CPU: from four on it takes as long as with many."""

TURN_BYTES = 64 << 10
"""Bytes that a thread of a crowd reads in its turn, so that each finds its caches full of the
others' data.
"""

MOST_READERS = 256
"""Most threads of that crowd: if they cannot fill the caches, each reads more."""

ROUND_PER_CACHE = 2.5
"""Bytes that a crowd reads in a round, as a multiple of a core's own caches."""

MIGRATION_TRIES = 20
"""Tries of a crowd whose threads may move between CPUs: in some of them none moves."""

ROUNDS_PER_WAKE = 4
"""Rounds of a crowd after which each of its threads wakes a companion: about as often as threads
need something shared.
"""

LEAST_SWITCH_SHARE = 0.5
"""Least share of yields that switch to another thread: with fewer, the time of a yield is not that
of a switch.
"""

MOST_CHASED_BYTES = 256 << 20
"""Most memory that is read line by line in a random order [bytes]: it takes long to prepare."""

LEAST_SLOWDOWN = 1.3
"""Least ratio of a copy's time from memory to that from a shared cache; below it the cache's size
cannot be measured.
"""

SEARCH_FACTOR = 1.1
"""A footprint is known once it lies between two that differ by less than this factor."""

CLOCK_REALTIME_COARSE = 5  # CLOCK_REALTIME_COARSE of Linux, which goes on with each tick

CFS = ("latency", "min_granularity", "wakeup_granularity")
CFS_FILES = ("proc/sys/kernel/sched_{}_ns", "sys/kernel/debug/sched/{}_ns")
"""Files of the kernel: until Linux 5.12, and from then on, for root alone."""

SHORT_IDLE_S = 10e-6
"""A wake-up from no idle state, or the first one."""

Values = dict[str, float]


@dataclass(frozen=True)
class ProbeSetup:
    """Parameters of the probes."""

    host: Host
    effort: float = 1.0
    """Factor on the repetitions of each probe: 1 is as tuned; tests use less."""
    idle_states: Mapping[str, float] | None = None
    """Idle states that the base profile names: the time after which a CPU is in each [µs]."""

    def times(self, count: int) -> int:
        """Return the repetitions of a probe that are `count` as tuned."""
        return max(8, round(count * self.effort))

    @property
    def caches(self) -> Caches:
        """Sizes of the caches, assumed if the system does not report them."""
        return self.host.caches or GUESSED_CACHES


Group = Callable[[ProbeSetup], Values]
Probe = Callable[..., float]


def least(probe: Probe, *what: object) -> float:
    """Return the shortest time of a few tries: other processes can only lengthen it."""
    return min(probe(*what) for _ in range(TRIES))


def cores(setting: ProbeSetup) -> Values:
    """Clock, multiply, and hardware threads that share a core."""
    host = setting.host
    adds, multiplies, steps = setting.times(400_000), setting.times(200_000), setting.times(20_000)
    one = host.numbers[:1]
    socket = host.cores[0][0].socket
    together = [core[0].number for core in host.cores if core[0].socket == socket]
    cycle_ns = machine_costs.busy("add", one, adds)
    values = {
        "core.clock_ghz.1": 1 / cycle_ns,
        "core.fmul_latency_cycles": machine_costs.busy("multiply", one, multiplies) / cycle_ns,
    }
    if len(together) > 1:
        values[f"core.clock_ghz.{len(together)}"] = 1 / machine_costs.busy("add", together, adds)
    siblings = max(host.cores, key=len)
    numbers = [cpu.number for cpu in siblings]
    for path, operation, times in (
        ("core.smt_fp", "multiply", multiplies),
        ("core.smt_mixed", "mixed", steps),
    ):
        alone = machine_costs.busy(operation, numbers[:1], times)
        for count in range(2, len(numbers) + 1):
            values[f"{path}.{count}"] = (
                count * alone / machine_costs.busy(operation, numbers[:count], times)
            )
    return values


def lines(setting: ProbeSetup) -> Values:
    """Cache lines: atomic operations on an own line, on one that another core has changed, and on
    one that many cores use.
    """
    rmw, cas, lock, fence = machine_costs.local_atomics(setting.times(20_000))
    values = {
        "atomic.rmw_local": rmw,
        "atomic.cas_local": cas,
        "atomic.lock_unlock_local": lock,
        "atomic.fence": fence,
    }
    for level, footprint in footprints(setting.caches).items():
        values[f"latency.{level}"] = least(machine_costs.load, footprint, setting.times(20_000))
    values["latency.dram"] = machine_costs.load(
        min(2 * setting.caches.l3, MOST_CHASED_BYTES), setting.times(20_000)
    )
    for distance, pair in setting.host.pairs().items():
        values[f"transfer.rmw.{distance}"] = least(
            machine_costs.hand_off, pair, setting.times(5000)
        )
        values[f"transfer.load.{distance}"] = least(
            machine_costs.load_modified, pair, setting.times(200)
        )
    numbers = setting.host.numbers
    for count in contenders(len(numbers)):
        added = machine_costs.contended(numbers[:count], False, 0.002 * setting.effort)
        exchanged = machine_costs.contended(numbers[:count], True, 0.002 * setting.effort)
        values[f"atomic.contended.{count}"] = added
        values[f"atomic.cas_factor.{count}"] = exchanged / added
    return values


def footprints(sizes: Caches) -> dict[str, int]:
    """Return sizes that fit in a cache level and not in the one before it [bytes]."""
    return {"l2": sizes.l2 // 2, "l3": min(4 * sizes.l2, sizes.l3 // 2)}


def contenders(cpus: int) -> list[int]:
    """Return the numbers of threads that contend for one line: powers of two, and all."""
    return sorted({2**power for power in range(cpus.bit_length())} | {cpus})


def copies(setting: ProbeSetup) -> Values:
    """Slots copied from ring to ring: the fixed time of a copy, and its rate by the place that the
    bytes come from.
    """
    sizes = setting.caches
    levels = footprints(sizes)
    footprint = {"own_l1": sizes.l1d // 2, "own_l2": levels["l2"], "l3": levels["l3"]}
    nearest = footprint["own_l1"] // 2
    bytes_ = setting.times(2 << 20)
    size = footprint["own_l1"] // 2
    call, _ = line_of_copies(
        [least(machine_costs.copy, stride, size, size, bytes_) for stride in SLOT_BYTES]
    )
    values = {"copy.call": max(MIN_CONSTANT, call)}
    for level, size in footprint.items():
        values[f"copy.bandwidth.{level}"] = rate(
            [
                least(machine_costs.copy, stride, size // 2, size // 2, bytes_)
                for stride in SLOT_BYTES
            ],
            call,
        )
    for distance, pair in setting.host.pairs().items():
        if distance == SAME_CORE:
            continue
        held, left = footprint["own_l2"] // 2, footprint["l3"]

        def times(side: str, source: int, target: int, pair: Sequence[int] = pair) -> list[float]:
            return [
                least(machine_costs.copy_between, side, pair, stride, source, target, bytes_)
                for stride in SLOT_BYTES
            ]

        values[f"copy.bandwidth.modified_{distance}"] = rate(times("source", held, held), call)
        returned_call, returned_rate = line_of_copies(times("target", held, held))
        values[f"copy.returned.call.{distance}"] = max(MIN_CONSTANT, returned_call)
        values[f"copy.returned.bandwidth.{distance}"] = returned_rate
        values[f"copy.evicted.fetch.{distance}"] = rate(times("source", left, nearest), call)
        values[f"copy.evicted.store.{distance}"] = rate(times("target", nearest, left), call)
        values[f"copy.evicted.through.{distance}"] = rate(times("both", left // 2, left // 2), call)
    beyond = out_of_caches(sizes.l3)
    values["copy.bandwidth.dram_local"] = rate(
        [machine_costs.copy(stride, beyond // 2, beyond // 2, 0) for stride in SLOT_BYTES], call
    )
    for level, size in (("l3", levels["l3"]), ("dram_local", beyond)):
        values[f"copy.fetch.{level}"] = rate(
            [machine_costs.copy(stride, size, nearest, bytes_) for stride in SLOT_BYTES], call
        )
        values[f"copy.store.{level}"] = rate(
            [machine_costs.copy(stride, nearest, size, bytes_) for stride in SLOT_BYTES], call
        )

    values["cache.l3"] = shared_cache(sizes)
    if OTHER_SOCKET in setting.host.pairs():
        far = setting.host.pairs()[OTHER_SOCKET]
        values["copy.bandwidth.dram_remote"] = rate(
            [machine_costs.copy_far(far, stride, beyond) for stride in SLOT_BYTES], call
        )
    socket = [
        core[0].number
        for core in setting.host.cores
        if core[0].socket == setting.host.cores[0][0].socket
    ]
    values["copy.socket_dram"] = machine_costs.copy_rate(
        socket, SLOT_BYTES[1], max(beyond // len(socket), 2 * sizes.l2)
    )
    return values


def shared_cache(sizes: Caches) -> float:
    """Return the size of the shared cache that copies find at the moment [bytes], at least that of
    a core's own.

    On a virtual machine it changes with the load of the other machines on the host.
    """

    def together(size: int) -> float:
        return least(machine_costs.copy, SLOT_BYTES[1], size // 2, size // 2, 0)

    near, beyond = (
        (size, together(size)) for size in (footprints(sizes)["l3"], out_of_caches(sizes.l3))
    )
    return max(float(sizes.l2), capacity(together, near, beyond, sizes.l3))


def line_of_copies(times_ns: list[float]) -> tuple[float, float]:
    """Return the fixed time [ns] and the rate [bytes/ns] of the line through the times of slots of
    SLOT_BYTES.
    """
    slope = (times_ns[1] - times_ns[0]) / (SLOT_BYTES[1] - SLOT_BYTES[0])
    return times_ns[0] - slope * SLOT_BYTES[0], 1 / max(slope, 1e-6)


def rate(times_ns: list[float], call_ns: float) -> float:
    """Return the bytes a ns without the call: the geometric mean over SLOT_BYTES."""
    rates = [
        stride / max(time - call_ns, 0.1 * time)
        for stride, time in zip(SLOT_BYTES, times_ns, strict=True)
    ]
    return math.sqrt(rates[0] * rates[1])


def capacity(
    copy_ns: Callable[[int], float],
    near: tuple[int, float],
    beyond: tuple[int, float],
    reported: int,
) -> float:
    """Return the size of a shared cache for this machine [bytes]: the footprint whose copies take
    half way from `near` to `beyond`.

    Both are a footprint and the time of a copy there [ns]. A virtual machine sees the size of its
    host's whole cache, which others use as well. The result is at most `reported`; it is `reported`
    if the two times do not differ enough.
    """
    (small, fast_ns), (large, slow_ns) = near, beyond
    if slow_ns < LEAST_SLOWDOWN * fast_ns:
        return float(reported)
    half_ns = (fast_ns + slow_ns) / 2
    while large > small * SEARCH_FACTOR:
        middle = round(math.sqrt(small * large))
        if copy_ns(middle) < half_ns:
            small = middle
        else:
            large = middle
    return min(float(reported), math.sqrt(small * large))


def out_of_caches(l3: int) -> int:
    """Return a footprint that no cache holds, or as much of it as the memory here allows
    [bytes].
    """
    return min(max(4 * l3, 64 << 20), 1 << 30, psutil.virtual_memory().available // 8)


def system(setting: ProbeSetup) -> Values:
    """The operating system: calls, switches, sleeping and waking."""
    cpu = setting.host.numbers[0]
    calls, rounds = setting.times(2000), setting.times(1000)
    yield_ns = least(machine_costs.yield_to_nobody, calls)
    yields = [machine_costs.yield_to_other(cpu, rounds) for _ in range(TRIES)]
    switches = [
        (call_ns - yield_ns) / share for call_ns, share in yields if share > LEAST_SWITCH_SHARE
    ]
    near = setting.host.nearest()
    hand_over_ns = least(machine_costs.hand_over, [cpu], 2, rounds)
    # on two CPUs at once, as threads of a graph are: some lines of a process in the kernel are
    # common to all CPUs
    crowd_ns = least(
        machine_costs.hand_over,
        near[1] if near else [cpu],
        CROWD_THREADS,
        max(1, rounds // CROWD_THREADS),
    )
    near_call_ns, _ = machine_costs.wake([cpu, cpu], setting.times(300), 0.0)
    choice_ns = _choice_ns(near[1], max(1, rounds // CROWD_THREADS)) if near else 0.0
    values = {
        "os.syscall_us": least(machine_costs.wake_nobody, calls) / 1000,
        "os.yield_us": yield_ns / 1000,
        "os.timer_slack_us": max(1.0, machine_costs.timer_slack(setting.times(20), 50e-6)) / 1000,
        "os.wake_queued_us": (near_call_ns + choice_ns) / 1000,
        # where there is another core, _wakes has a better one
        "os.wake_caller_us": (near_call_ns + choice_ns) / 1000,
        "os.refill_us_per_kib": max(MIN_CONSTANT, _refill_ns(setting, cpu))
        / 1000
        / WORKING_SET_KIB,
    }
    if (asked_ms := slice_of_eevdf()) is not None:
        values["os.sched_base_slice_us"] = 1000 * asked_ms
    elif not has_eevdf(os.uname().release):
        slice_us = machine_costs.slice_(cpu, 0.15 if setting.times(1000) == 1000 else 0.02) / 1000
        values["os.sched_latency_us"] = 2 * slice_us  # each of two threads runs once in it
        values |= of_cfs()
    if sys.platform == "linux":
        values["os.tick_us"] = 1e6 * time.clock_getres(CLOCK_REALTIME_COARSE)
    if switches:
        switch_ns = min(switches)
        # two threads in turn find all their data of the kernel in the nearest cache; a thread of a
        # crowd does not
        values["os.switch_us"] = (
            max(MIN_CONSTANT, switch_ns + max(0.0, crowd_ns - hand_over_ns)) / 1000
        )
        values["os.sleep_us"] = (
            max(hand_over_ns - near_call_ns - switch_ns, 1000 * values["os.syscall_us"]) / 1000
        )
        values |= _interrupts(setting, 2 * switch_ns + 1000 * values["os.sleep_us"], choice_ns)
    values |= _wakes(setting, choice_ns)
    return values


def has_eevdf(release: str) -> bool:
    """Return True if a Linux of that release has EEVDF instead of CFS."""
    version = re.match(r"(\d+)\.(\d+)", release)
    return version is not None and tuple(map(int, version.groups())) >= (6, 6)


def of_cfs(root: Path = ROOT) -> Values:
    """Return the parameters of CFS [µs] that the kernel shows to this process; they cannot be
    measured with threads.
    """
    values = {}
    for name, path in ((name, path) for name in CFS for path in CFS_FILES):
        text = read_text(root / path.format(name))
        if text is not None and text.isdecimal():
            values[f"os.sched_{name}_us"] = max(MIN_CONSTANT, int(text) / 1000)
    return values


def slice_of_eevdf(path: Path = Path("/proc/self/sched")) -> float | None:
    """Return the slice that this thread requests of EEVDF [ms]; None if the kernel shows none, as
    with CFS (before Linux 6.6).
    """
    try:
        text = path.read_text(encoding="ascii")
    except OSError:
        return None
    found = re.search(r"^se\.slice\s*:\s*(\d+)$", text, re.MULTILINE)
    return None if found is None else int(found.group(1)) / 1e6


def _interrupts(setting: ProbeSetup, woken_ns: float, choice_ns: float) -> Values:
    """A thread woken on the nearest other core, which is busy. `woken_ns`: time of two switches and
    of the woken thread's work.
    """
    near = setting.host.nearest()
    if near is None:
        return {}
    _, pair = near
    queued_ns, _, _ = machine_costs.wake_on_busy(
        pair, setting.times(200), SHORT_IDLE_S, takes=False
    )
    _, taken_ns, lost_ns = machine_costs.wake_on_busy(
        pair, setting.times(200), SHORT_IDLE_S, takes=True
    )
    return {
        "os.wake_elsewhere_us": (queued_ns + choice_ns) / 1000,
        "os.preempt_us": taken_ns / 1000,
        "os.interrupt_us": max(MIN_CONSTANT, (lost_ns - woken_ns) / 1000),
        "os.woken_elsewhere_us": max(
            MIN_CONSTANT, median(_woken_elsewhere_ns(setting, pair) for _ in range(TRIES)) / 1000
        ),
    }


def _refill_ns(setting: ProbeSetup, cpu: int) -> float:
    """Return the extra time of a turn if the thread's data, and the kernel's data about it, have
    left the core's own caches.

    It is the time of threads that read, less the switches and the reading alone.
    """
    a_round = ROUND_PER_CACHE * setting.caches.l2
    threads = min(max(2, math.ceil(a_round / TURN_BYTES)), MOST_READERS)
    turn = max(TURN_BYTES, math.ceil(a_round / threads))
    rounds = max(1, setting.times(8000) // threads)
    both, switches, reading = (
        least(machine_costs.read_by_turns, cpu, threads, rounds, *what)
        for what in ((turn, True), (0, True), (turn, False))
    )
    return both - switches - reading


def _choice_ns(pair: Sequence[int], rounds: int) -> float:
    """Return the waker's extra time for a wake-up if the thread may run on several CPUs, on two
    CPUs with a crowd on each.

    The other probes bind their threads to a CPU, so that their results are of known CPUs; a graph's
    threads are not bound. In most tries some threads move, and that takes several times as long:
    the shortest of many tries is one in which none moved. If all threads started on one CPU, the
    system would take that for the busier one.
    """
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, pair)
    try:
        bound_ns, free_ns = (
            min(
                machine_costs.hand_over(pair, CROWD_THREADS, rounds, free)
                for _ in range(MIGRATION_TRIES)
            )
            for free in (False, True)
        )
    finally:
        os.sched_setaffinity(0, before)
    return max(0.0, free_ns - bound_ns)


def _woken_elsewhere_ns(setting: ProbeSetup, pair: Sequence[int]) -> float:
    """Return the extra time of a switch to a thread that was woken from another CPU, where both
    CPUs switch all the time.

    The waker's own extra time is `os.wake_elsewhere_us`.
    """
    rounds = max(ROUNDS_PER_WAKE, setting.times(4000) // CROWD_THREADS)
    here_ns, here_call_ns = machine_costs.hand_over_and_tell(
        pair, CROWD_THREADS, rounds, ROUNDS_PER_WAKE, elsewhere=False
    )
    there_ns, there_call_ns = machine_costs.hand_over_and_tell(
        pair, CROWD_THREADS, rounds, ROUNDS_PER_WAKE, elsewhere=True
    )
    return ROUNDS_PER_WAKE * (there_ns - here_ns) - (there_call_ns - here_call_ns)


def _wakes(setting: ProbeSetup, choice_ns: float) -> Values:
    """A thread woken on another core, the nearest, that is idle: for a moment, and for as long as
    each idle state asks for.
    """
    near = setting.host.nearest()
    if near is None:
        return {}
    _, pair = near
    call_ns, soon_ns = machine_costs.wake(pair, setting.times(200), SHORT_IDLE_S)
    values = {"os.wake_caller_us": (call_ns + choice_ns) / 1000, "os.wake_us": soon_ns / 1000}
    for name, residency_us in (setting.idle_states or {}).items():
        idle_s = max(3 * residency_us * 1e-6, 2 * SHORT_IDLE_S)
        _, late_ns = machine_costs.wake(
            pair, setting.times(min(200, int(0.02 / idle_s) + 1)), idle_s
        )
        values[f"os.idle_exit_us.{name}"] = max(MIN_CONSTANT, (late_ns - soon_ns) / 1000)
    return values


GROUPS: dict[str, Group] = {"cores": cores, "lines": lines, "copies": copies, "system": system}
