"""Machine and software profiles as the whole numbers that the simulation uses: picoseconds, and
1/1024 for ratios.

The highest clock of the machine is the reference: costs of instructions are given for a core alone
at that clock, and what a busier core or socket adds is a table of slow-downs. Software costs,
measured or estimated on another core, are scaled by clock and instructions in a cycle.
"""

from libc.stdint cimport int64_t, uint32_t

from harness.simulator.native cimport (
    DRAM_LOCAL,
    DRAM_REMOTE,
    L3,
    OWN_L1,
    OWN_L2,
    Domain,
    IdleState,
    Machine,
    Software,
)

from harness.errors import UserError
from harness.machines.machine import WORKING_SET_KIB

DISTANCE_NAMES = ("same_core", "same_chip", "same_module", "other_socket")
PLACE_NAMES = (
    "own_l1", "own_l2", "l3", "modified_same_chip", "modified_same_module", "modified_other_socket",
    "dram_local", "dram_remote",
)

RATIO_OF_ONE = 1024  # a ratio of 1

LONGEST_PS = 1 << 62  # ps; 53 days, and twice as long is still a time


cdef void fill_machine(Machine* to, object machine) except *:
    """`machine`: a harness.machines.machine.Machine."""
    cdef IdleState state
    cdef Domain domain
    cdef uint32_t i
    to.sockets, to.chips_per_socket, to.cores_per_chip = (
        machine.sockets, machine.chips_per_socket, machine.cores_per_chip
    )
    to.smt, to.cores = machine.smt, machine.cores
    to.line, to.l1, to.l2 = (
        int(machine["cache.line"]), int(machine["cache.l1d"]), int(machine["cache.l2"])
    )
    share = {
        "chip": machine.cores_per_chip, "socket": machine.cores_per_chip * machine.chips_per_socket,
        "machine": machine.cores,
    }
    to.l3, to.l3_cores = int(machine["cache.l3"]), share[machine["cache.l3_shared_by"]]
    clock = interpolated(
        machine.table("core.clock_ghz"), machine.chips_per_socket * machine.cores_per_chip
    )
    best = max(clock)
    for ghz in clock:
        to.slow_clock.push_back(round(best / ghz * RATIO_OF_ONE))
    for hardware_threads in range(machine.smt + 1):
        busy = max(hardware_threads, 1)
        to.slow_fp.push_back(round(busy / machine[f"core.smt_fp.{busy}"] * RATIO_OF_ONE))
        to.slow_mixed.push_back(round(busy / machine[f"core.smt_mixed.{busy}"] * RATIO_OF_ONE))
    to.flop = ps(machine["core.fmul_latency_cycles"] / best)
    for i, distance in enumerate(DISTANCE_NAMES):
        # where a machine has no such distance, nothing is that far away
        to.load[i] = ps(machine.get(f"transfer.load.{distance}", 0))
        to.rmw[i] = ps(machine.get(f"transfer.rmw.{distance}", 0))
        to.returned_call[i] = ps(machine.get(f"copy.returned.call.{distance}", 0))
    to.rmw_local, to.cas_local = ps(machine["atomic.rmw_local"]), ps(machine["atomic.cas_local"])
    to.reserves = bool(machine.get("atomic.reserves", False))
    most = max(machine.cpus, 2)
    for value in interpolated(machine.table("atomic.contended"), most):
        to.contended.push_back(ps(value))
    for value in interpolated(machine.table("atomic.cas_factor"), most):
        to.cas_slow.push_back(round(value * RATIO_OF_ONE))
    to.copy_call = ps(machine["copy.call"])
    copies(machine, to)
    for name, i in (("l2", OWN_L2), ("l3", L3), ("dram", DRAM_LOCAL), ("dram_remote", DRAM_REMOTE)):
        to.latency[i] = ps(machine.get(f"latency.{name}", machine["latency.dram"]))
    to.dram_kib = kib(machine["copy.socket_dram"])

    def us(name):
        return ps(1e3 * machine[f"os.{name}_us"])

    to.sched_latency, to.min_granularity = us("sched_latency"), us("sched_min_granularity")
    to.wakeup_granularity = us("sched_wakeup_granularity")
    to.base_slice = ps(1e3 * machine.get("os.sched_base_slice_us", 0))
    to.wake_elsewhere = ps(1e3 * machine.get("os.wake_elsewhere_us", machine["os.wake_queued_us"]))
    to.woken_elsewhere = ps(1e3 * machine.get("os.woken_elsewhere_us", 0.0))
    to.preempt, to.interrupt = (
        ps(1e3 * machine.get("os.preempt_us", 0)), ps(1e3 * machine.get("os.interrupt_us", 0))
    )
    to.switch_time, to.wake, to.wake_caller, to.sleep = (
        us("switch"), us("wake"), us("wake_caller"), us("sleep")
    )
    to.wake_queued, to.migration_cost = us("wake_queued"), us("sched_migration_cost")
    to.tick, to.idle_search = us("tick"), <uint32_t> round(machine["os.idle_search_pct"])
    to.yield_time, to.timer_slack, to.bucket_hold = (
        us("yield"), us("timer_slack"), us("bucket_hold")
    )
    to.bucket_waiter = ps(machine["os.bucket_waiter_ns"])
    to.refill = ps(
        1e3 * min(machine["os.refill_us_per_kib"] * WORKING_SET_KIB, machine["os.refill_us_max"])
    )
    to.near_refill = to.refill * to.latency[OWN_L2] // max(to.latency[L3], 1)
    residency = machine.named("os.idle_residency_us")
    for least, exit_ in sorted(
        [(residency[name], value) for name, value in machine.named("os.idle_exit_us").items()]
    ):
        state.residency, state.exit = ps(1e3 * least), ps(1e3 * exit_)
        to.idle_states.push_back(state)
    if (balance_ms := machine.get("os.balance_ms", 0)) > 0:
        for cpus in sorted({machine.smt, machine.smt * to.l3_cores} - {1}):
            domain.cpus, domain.every = (
                cpus, min(max(to.tick, ps(1e6 * cpus * balance_ms) - to.tick), LONGEST_PS)
            )
            to.domains.push_back(domain)


cdef void copies(object machine, Machine* to) except *:
    """Set the times to fetch bytes and to store them, and the time saved by a copy that does both
    in the same place.

    If a profile does not separate these, each is half of a copy. In a copy between rings in memory
    a third of the traffic is the source, which is read; the rest is the target, which is read as
    well and then written back. In the measurement of a slot that another core has changed, the
    target was a ring in the second-level cache.
    """
    cdef uint32_t i
    whole = [
        kib(machine.get(f"copy.bandwidth.{place}", machine["copy.bandwidth.l3"]))
        for place in PLACE_NAMES
    ]
    for i in range(len(PLACE_NAMES)):
        to.fetch_kib[i] = whole[i] // 3 if i in (DRAM_LOCAL, DRAM_REMOTE) else whole[i] // 2
        to.store_kib[i] = whole[i] - to.fetch_kib[i]
    for i, place in ((L3, "l3"), (DRAM_LOCAL, "dram_local")):
        if machine.get(f"copy.fetch.{place}", None) is not None:
            to.fetch_kib[i] = max(0, kib(machine[f"copy.fetch.{place}"]) - to.store_kib[OWN_L1])
            to.store_kib[i] = max(0, kib(machine[f"copy.store.{place}"]) - to.fetch_kib[OWN_L1])
        to.overlap_kib[i] = <int64_t> (to.fetch_kib[i] + to.store_kib[i]) - whole[i]
    to.fetch_kib[DRAM_REMOTE] = max(
        0, whole[DRAM_REMOTE] + to.overlap_kib[DRAM_LOCAL] - to.store_kib[DRAM_LOCAL]
    )
    for i, place in enumerate(PLACE_NAMES):
        if place.startswith("modified_"):
            to.fetch_kib[i] = max(0, whole[i] - to.store_kib[OWN_L2])
    for i, distance in enumerate(DISTANCE_NAMES):
        fetch, store, through = (
            machine.get(f"copy.evicted.{way}.{distance}", None)
            for way in ("fetch", "store", "through")
        )
        to.evicted_fetch_kib[i] = (
            to.fetch_kib[L3] if fetch is None else max(0, kib(fetch) - to.store_kib[OWN_L1])
        )
        to.evicted_store_kib[i] = (
            to.store_kib[L3] if store is None else max(0, kib(store) - to.fetch_kib[OWN_L1])
        )
        both = whole[L3] if through is None else kib(through)
        to.evicted_overlap_kib[i] = (
            <int64_t> (to.evicted_fetch_kib[i] + to.evicted_store_kib[i]) - both
        )
        elsewhere = machine.get(
            f"copy.bandwidth.modified_{distance}", machine["copy.bandwidth.own_l2"]
        )
        to.returned_kib[i] = kib(machine.get(f"copy.returned.bandwidth.{distance}", elsewhere))


cdef void fill_software(Software* to, object software, object machine) except *:
    """`software`: a harness.machines.software.Software, for a harness.machines.machine.Machine."""
    scale = software.scale(max(machine.table("core.clock_ghz").values()), machine["core.ipc"])
    how = software

    def cost(name):
        return ps(software[f"cost.{name}"] * scale)

    to.batch = int(how["how.batch"])
    to.printed = how["how.finds_work"] == "walk"
    to.whole_queue, to.queueful = (
        how["how.drain"] == "whole_queue", how["how.drain"] == "queue_capacity"
    )
    idle = "back_off" if to.printed else "sleep"
    if how["how.idle"] != idle:
        raise UserError(
            f"{software.path}: how.idle: must be {idle} with finds_work {how['how.finds_work']}, "
            f"not {how['how.idle']!r}"
        )
    if to.printed:
        to.back_off_first, to.back_off_most = (
            ps(how["how.back_off_first_ns"]), ps(1e6 * how["how.back_off_most_ms"])
        )
        to.back_off_factor = int(how["how.back_off_factor"])
    to.ahead = round(software["cost.flop_ahead"])
    to.overlap = round(software["cost.flop_overlap"] * RATIO_OF_ONE)
    to.clock = cost("clock")
    to.source_batch, to.source_tuple, to.source_byte = (
        cost("source_batch"), cost("source_tuple"), cost("source_byte")
    )
    to.call_batch, to.call_tuple = cost("call_batch"), cost("call_tuple")
    to.push_batch, to.push_tuple, to.take_batch = (
        cost("push_batch"), cost("push_tuple"), cost("take_batch")
    )
    to.drain, to.list_push, to.list_pop, to.flag, to.lock = (
        cost("drain"), cost("list_push"), cost("list_pop"), cost("flag"), cost("lock")
    )
    to.way, to.way_tuple, to.key_tuple = cost("way"), cost("way_tuple"), cost("key_tuple")
    to.filter_tuple, to.filter_run, to.filter_cut = (
        cost("filter_tuple"), cost("filter_run"), cost("filter_cut")
    )
    to.sink_batch, to.sink_tuple, to.sink_byte = (
        cost("sink_batch"), cost("sink_tuple"), cost("sink_byte")
    )
    to.fence, to.coroutine_switch, to.coroutine_turn = (
        cost("fence"), cost("coroutine_switch"), cost("coroutine_turn")
    )
    to.coroutine_wait, to.coroutine_look = cost("coroutine_wait"), cost("coroutine_look")
    to.merge_tuple, to.search, to.wait_round, to.mark = (
        cost("merge_tuple"), cost("search"), cost("wait_round"), cost("mark")
    )


def ps(ns):
    """Whole picoseconds."""
    return round(ns * 1000)


def kib(gigabytes_per_second):
    """Picoseconds for 1,024 bytes."""
    return round(1024 / gigabytes_per_second * 1000)


def interpolated(table, most):
    """Return the values for 0 .. `most`: linear interpolation in a table, and the end values
    outside it.
    """
    known = sorted(table.items())
    values = []
    place = 0
    for number in range(most + 1):
        while place + 1 < len(known) and known[place + 1][0] <= number:
            place += 1
        low, at_low = known[place]
        if number <= low or place + 1 == len(known):
            values.append(at_low)
            continue
        high, at_high = known[place + 1]
        values.append(at_low + (at_high - at_low) * (number - low) / (high - low))
    return values
