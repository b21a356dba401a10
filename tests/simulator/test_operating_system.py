"""The model of the operating system: who gets a CPU, for how long, and what it takes to sleep and
to wake.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.simulator.probes import Bench

from harness.machines.machine import Machine, load_machine

MICROSECOND, MILLISECOND, SECOND = 1e3, 1e6, 1e9  # ns


def machine_of(cpus: int, **constants: float) -> Machine:
    """A socket of the xeon with so many cores, no SMT and one clock for all. Its profile need not
    have all `constants`.
    """
    xeon = load_machine("xeon").with_constants(
        {f"core.clock_ghz.{busy}": 3.0 for busy in (1, 2, 8, 22)}
    )
    given = {
        path: replace(xeon.constants["os.tick_us"], value=value)
        for path, value in constants.items()
    }
    return replace(xeon, sockets=1, cores_per_chip=cpus, smt=1, constants=xeon.constants | given)


def busy(cpus: int, threads: int, until: float, **constants: float) -> Bench:
    """So many threads compute on so many CPUs, for longer than they are let."""
    bench = Bench(machine_of(cpus, **constants), threads)
    for _ in range(threads):
        bench.compute(1000 * SECOND, step=50 * MICROSECOND)
    bench.run(until)
    return bench


EEVDF = {"os.sched_base_slice_us": 1400, "os.tick_us": 4000}
"""Linux from 6.6 on, on two CPUs."""


@pytest.mark.parametrize("threads", [2, 3, 7, 40])
@pytest.mark.parametrize("scheduler", [{}, EEVDF], ids=["CFS", "EEVDF"])
def test_threads_of_one_cpu_share_it_equally(threads: int, scheduler: dict[str, float]) -> None:
    bench = busy(1, threads, until=20 * SECOND, **scheduler)
    done = [bench.done(thread) for thread in range(threads)]
    assert sum(done) == pytest.approx(20 * SECOND, rel=0.01)
    assert max(done) - min(done) <= 2 * 24 * MILLISECOND + 0.01 * max(
        done
    )  # two of the longest slices


@pytest.mark.parametrize(("threads", "slice_ms"), [(2, 12.0), (3, 10.0), (10, 10.0)])
def test_a_slice_is_the_latency_over_the_threads_and_at_least_the_granularity(
    threads: int, slice_ms: float
) -> None:
    """Latency 24 ms, granularity 10 ms: a thread waits for the slices of all others, and a CPU is
    given away once a slice.
    """
    bench = busy(1, threads, until=10 * SECOND)
    assert bench.switches == pytest.approx(10 * SECOND / (slice_ms * MILLISECOND), rel=0.05)
    for thread in range(threads):
        assert bench.longest_gap(thread) == pytest.approx(
            (threads - 1) * slice_ms * MILLISECOND, rel=0.2
        )


@pytest.mark.parametrize(
    ("request_ms", "slice_ms"), [(1.4, 4.0), (3.9, 4.0), (4.1, 8.0), (6.0, 8.0)]
)
def test_with_eevdf_a_thread_runs_until_the_tick_at_which_its_request_is_done(
    request_ms: float, slice_ms: float
) -> None:
    """Measured: two threads that compute take turns of 4 ms where each asks for 1.4 ms and a tick
    is 4 ms.
    """
    bench = busy(
        1, 2, until=10 * SECOND, **{"os.sched_base_slice_us": 1000 * request_ms, "os.tick_us": 4000}
    )
    assert bench.switches == pytest.approx(10 * SECOND / (slice_ms * MILLISECOND), rel=0.05)


def moves(threads: int, until_ms: int, **constants: float) -> int:
    """So many threads compute on two CPUs: at how many milliseconds they are not where they were
    one before.
    """
    bench = Bench(machine_of(2, **constants), threads)
    for _ in range(threads):
        bench.compute(1000 * SECOND, step=50 * MICROSECOND)
    changes, before = 0, None
    for ms in range(1, until_ms):
        bench.run(ms * MILLISECOND)
        where = [bench.cpu(thread) for thread in range(threads)]
        changes += before is not None and where != before
        before = where
    return changes


@pytest.mark.parametrize("migration_us", [500, 1e6], ids=["cold", "hot"])
def test_of_three_threads_on_two_cpus_each_has_one_to_itself_in_turn(migration_us: float) -> None:
    constants = EEVDF | {"os.sched_migration_cost_us": migration_us}
    bench = busy(2, 3, until=10 * SECOND, **constants, **{"os.balance_ms": 16})
    assert [bench.done(thread) for thread in range(3)] == pytest.approx(
        [2 / 3 * 10 * SECOND] * 3, rel=0.1
    )
    bench = busy(2, 3, until=10 * SECOND, **constants, **{"os.balance_ms": 0})
    assert max(bench.done(thread) for thread in range(3)) == pytest.approx(10 * SECOND, rel=0.01)


@pytest.mark.parametrize(
    ("scheduler", "balance_ms", "every_ms"),
    [(EEVDF, 16, 56), (EEVDF, 64, 248), ({}, 16, 31 / 2)],
    ids=["EEVDF", "slow", "CFS"],
)
def test_who_leaves_a_cpu_with_less_to_do_than_the_other_is_taken_at_every_second_look_and_with_cfs_at_each(
    scheduler: dict[str, float], balance_ms: float, every_ms: float
) -> None:
    """Traced on Linux 6.18, where a CPU looks every 28 ms: another one of the three is alone 14 to
    19 times a second.
    """
    assert moves(3, 5000, **scheduler, **{"os.balance_ms": balance_ms}) == pytest.approx(
        5000 / every_ms, rel=0.15
    )


def test_a_cpu_that_looks_for_the_first_time_after_weeks_takes_nobody() -> None:
    assert (
        moves(3, 2000, **EEVDF, **{"os.balance_ms": 1e12}) == 0
    )  # the most that a profile may say


@pytest.mark.parametrize("threads", [1, 2, 4, 16])
def test_where_no_cpu_has_more_to_do_than_the_other_nobody_moves(threads: int) -> None:
    assert moves(threads, 2000, **EEVDF, **{"os.balance_ms": 16}) == 0


def test_a_thread_that_has_a_cpu_to_itself_is_never_taken_off_it() -> None:
    bench = busy(4, 4, until=SECOND)
    assert bench.switches == 0
    assert all(bench.longest_gap(thread) == 50 * MICROSECOND for thread in range(4))


@pytest.mark.parametrize(("cpus", "threads"), [(2, 3), (4, 5), (4, 16), (22, 100)])
def test_nobody_starves_and_no_cpu_is_idle_while_there_are_more_threads_than_cpus(
    cpus: int, threads: int
) -> None:
    bench = busy(cpus, threads, until=5 * SECOND)
    assert bench.cpu_time == pytest.approx(cpus * 5 * SECOND, rel=0.01)
    assert all(bench.done(thread) > 0.3 * cpus / threads * 5 * SECOND for thread in range(threads))


@pytest.mark.parametrize(("cpus", "threads"), [(2, 7), (5, 13)])
def test_an_idle_cpu_takes_a_thread_that_waits_elsewhere(cpus: int, threads: int) -> None:
    """Work conservation: CPUs are idle at the end only, when fewer threads are left than there are
    CPUs.
    """
    bench = Bench(machine_of(cpus), threads)
    for thread in range(threads):
        bench.compute((1 + thread) * 30 * MILLISECOND, step=50 * MICROSECOND)
    bench.run(10 * SECOND)
    ends = sorted(bench.ended(thread) for thread in range(threads))
    work = sum((1 + thread) * 30 * MILLISECOND for thread in range(threads))
    until_a_cpu_is_idle = ends[threads - cpus]
    assert until_a_cpu_is_idle >= (work - cpus * threads * 30 * MILLISECOND) / cpus
    assert bench.cpu_time == pytest.approx(work, rel=0.01)
    assert ends[-1] <= work / cpus + threads * 30 * MILLISECOND


@pytest.mark.parametrize("seed", range(5))
def test_a_woken_thread_runs_on_an_idle_cpu_after_the_time_of_a_wake_up(seed: int) -> None:
    machine = machine_of(4)
    bench = Bench(machine, 2, seed)
    sleeper, waker = bench.wait(), bench.wake(at=SECOND)
    bench.run(2 * SECOND)
    deepest = max(machine.named("os.idle_exit_us").values())
    took = (bench.ended(sleeper) - bench.began(waker)) / MICROSECOND
    assert 0.75 * machine["os.wake_us"] + deepest <= took <= 1.25 * machine["os.wake_us"] + deepest
    assert bench.ended(waker) - bench.began(waker) == pytest.approx(
        1e3 * machine["os.wake_caller_us"], rel=0.01
    )


@pytest.mark.parametrize(("sockets", "cpu"), [(1, 1), (2, 0)])
def test_a_woken_thread_looks_for_an_idle_cpu_in_its_socket_alone(sockets: int, cpu: int) -> None:
    """Linux: select_idle_sibling looks among the CPUs that share a cache. Others take who waits
    when they look themselves.
    """
    bench = Bench(replace(machine_of(2 // sockets), sockets=sockets), 3)
    sleeper = bench.nap(100.3 * MILLISECOND)
    bench.compute(50 * MILLISECOND)  # has the other CPU, which is idle from then on
    bench.compute(10 * SECOND)
    bench.run(100.5 * MILLISECOND)
    assert bench.cpu(sleeper) == cpu


def test_who_is_woken_runs_no_earlier_than_if_the_waker_had_come_to_it() -> None:
    """A waker owes the time of what it has done before: the wake-up begins once that has passed."""
    machine, work_us = machine_of(4), 300.0
    bench = Bench(machine, 2)
    sleeper, waker = bench.wait(), bench.wake(at=SECOND, work=work_us * MICROSECOND)
    bench.run(2 * SECOND)
    latest = 1.25 * machine["os.wake_us"] + max(machine.named("os.idle_exit_us").values())
    took = (bench.ended(sleeper) - bench.began(waker)) / MICROSECOND
    assert work_us + 0.75 * machine["os.wake_us"] < took < work_us + latest


def test_who_asks_for_a_bucket_that_it_needs_later_takes_it_from_nobody_who_needs_it_now() -> None:
    """Three wake, a nanosecond apart, the second one after some work: the third waits for the first
    alone.
    """
    machine = machine_of(8)

    def paid_us(works_us: list[float]) -> float:
        """Return what the last of those wakers paid, in us."""
        bench = Bench(machine, 2 * len(works_us))
        for _ in works_us:
            bench.wait()
        wakers = [
            bench.wake(at=SECOND + place, work=work_us * MICROSECOND)
            for place, work_us in enumerate(works_us)
        ]
        bench.run(2 * SECOND)
        return (bench.ended(wakers[-1]) - bench.began(wakers[-1])) / MICROSECOND

    alone = paid_us([0.0])
    waits = machine["os.bucket_hold_us"] + machine["os.bucket_waiter_ns"] / 1000
    assert paid_us([0.0, 0.0]) - alone == pytest.approx(waits, abs=0.003)
    assert paid_us([0.0, 30.0, 0.0]) - alone == pytest.approx(waits, abs=0.003)
    assert paid_us([30.0, 0.0]) == pytest.approx(alone)


@pytest.mark.parametrize(("idle_us", "state"), [(10, "C1"), (50, "C1E"), (300, "C3"), (5000, "C6")])
def test_a_cpu_takes_longer_to_wake_up_the_longer_it_was_idle(idle_us: float, state: str) -> None:
    machine = machine_of(2)
    bench = Bench(machine, 2)
    sleeper, waker = (
        bench.wait(),
        bench.wake(at=(idle_us + 8) * MICROSECOND),
    )  # which the sleeper takes to begin
    bench.run(SECOND)
    took = (bench.ended(sleeper) - bench.began(waker)) / MICROSECOND
    assert took == pytest.approx(
        machine["os.wake_us"] + machine[f"os.idle_exit_us.{state}"],
        abs=0.26 * machine["os.wake_us"],
    )


@pytest.mark.parametrize("length_us", [1, 70, 1000, 50_000])
def test_a_timed_sleep_ends_on_time(length_us: float) -> None:
    machine = machine_of(2)
    bench = Bench(machine, 1)
    thread = bench.nap(length_us * MICROSECOND)
    bench.run(SECOND)
    late = (bench.ended(thread) - bench.began(thread)) / MICROSECOND - length_us
    latest = 1.25 * machine["os.wake_us"] + max(machine.named("os.idle_exit_us").values())
    assert 0.75 * machine["os.wake_us"] <= late <= latest


@pytest.mark.parametrize("until_us", [50, 104.5, 200, 20_200, 30_000])
def test_cpu_time_is_that_of_threads_and_not_what_a_cpu_takes_to_wake_up(until_us: float) -> None:
    """A thread works, sleeps for 20 ms and ends; on a CPU of its own it starts and wakes up from
    the deepest idle state.
    """
    machine = machine_of(2)
    bench = Bench(machine, 1)
    thread = bench.nap(20 * MILLISECOND, work=100 * MICROSECOND)
    bench.run(until_us * MICROSECOND)
    began = bench.began(thread) / MICROSECOND
    worked = min(until_us - began, 100 + machine["os.sleep_us"])
    assert bench.cpu_time / MICROSECOND == pytest.approx(worked, abs=0.002)


def test_kernel_time_is_that_of_calls_and_not_of_work() -> None:
    """A thread works and sleeps, and one that has kept its CPU until then wakes it."""
    machine = machine_of(4)
    bench = Bench(machine, 2)
    bench.wait(work=100 * MICROSECOND)
    bench.wake(at=SECOND)
    bench.run(2 * SECOND)
    calls_us = machine["os.sleep_us"] + machine["os.wake_caller_us"]
    assert bench.kernel_time / MICROSECOND == pytest.approx(calls_us, rel=0.01)


@pytest.mark.parametrize("scheduler", [{}, EEVDF], ids=["CFS", "EEVDF"])
def test_who_has_slept_comes_before_who_has_computed(scheduler: dict[str, float]) -> None:
    """On one CPU a woken thread need not wait for the slice of one that computes to end."""
    bench = Bench(machine_of(1, **scheduler), 2)
    bench.compute(1000 * SECOND, step=50 * MICROSECOND)
    sleeper = bench.nap(500 * MILLISECOND)
    bench.run(SECOND)
    assert bench.ended(sleeper) - bench.began(sleeper) < 501 * MILLISECOND


@pytest.mark.parametrize(
    ("scheduler", "lingers"), [({}, False), (EEVDF, True)], ids=["CFS", "EEVDF"]
)
def test_with_eevdf_who_went_to_sleep_in_debt_is_woken_where_it_was_though_another_cpu_is_idle(
    scheduler: dict[str, float], lingers: bool
) -> None:
    """Delayed dequeue: it is in that CPU's run queue until the other thread has caught up, so no
    CPU is chosen for it.
    """
    bench = Bench(machine_of(2, **scheduler), 3)
    sleeper = bench.nap(MILLISECOND, work=3 * MILLISECOND)
    bench.compute(3.5 * MILLISECOND)  # has the other CPU, which is idle from then on
    other = bench.compute(SECOND)
    bench.run(4.9 * MILLISECOND)
    assert (bench.ended(sleeper) is None) == lingers
    assert (bench.cpu(sleeper) == bench.cpu(other)) == lingers


@pytest.mark.parametrize(("nap_ms", "lingers"), [(4.9, True), (5.1, False), (30, False)])
def test_with_eevdf_who_sleeps_in_debt_leaves_the_run_queue_at_the_tick_at_which_it_would_be_its_turn(
    nap_ms: float, lingers: bool
) -> None:
    """At the tick of 8 ms the other one, which has the CPU to itself, has run longer. Who is woken
    later finds the idle CPU.
    """
    bench = Bench(machine_of(2, **EEVDF), 3)
    sleeper = bench.nap(nap_ms * MILLISECOND, work=3 * MILLISECOND)
    bench.compute(3.5 * MILLISECOND)
    other = bench.compute(SECOND)
    bench.run(50 * MILLISECOND)
    assert (bench.cpu(sleeper) == bench.cpu(other)) == lingers


def test_with_eevdf_who_is_woken_where_it_lingers_is_offered_to_an_idle_cpu_at_the_next_tick() -> (
    None
):
    """The other one's request takes long, so the CPU where it lingers is not free by then."""
    bench = Bench(machine_of(2, **EEVDF | {"os.sched_base_slice_us": 20_000}), 3)
    sleeper = bench.nap(MILLISECOND, work=3 * MILLISECOND)
    bench.compute(3.5 * MILLISECOND)  # has the other CPU, which is idle from then on
    other = bench.compute(SECOND)
    bench.run(8.9 * MILLISECOND)
    assert bench.ended(sleeper) > 4.9 * MILLISECOND
    assert bench.cpu(sleeper) != bench.cpu(other)


@pytest.mark.parametrize(("woken_ms", "follows"), [(61, False), (121, True)])
def test_with_eevdf_who_lingers_is_load_of_its_cpu(woken_ms: float, follows: bool) -> None:
    """It is in the run queue for 8 ms, of which it runs 3 and lingers 5.

    It follows its waker if its load, by which the waker's CPU would have more, is less than 8 % of
    what that has: 8 of 121 ms, not 8 of 61, but 3 of 61 would be. No cache is cold, so that nobody
    is taken to another CPU later.
    """
    bench = Bench(machine_of(2, **EEVDF, **{"os.sched_migration_cost_us": 1e6}), 3)
    sleeper, waker = bench.wait(work=3 * MILLISECOND), bench.wake(at=woken_ms * MILLISECOND)
    other = bench.compute(10 * SECOND, step=50 * MICROSECOND)
    bench.run((woken_ms + 0.1) * MILLISECOND)
    assert bench.cpu(waker) != bench.cpu(other)
    assert bench.cpu(sleeper) == bench.cpu(waker if follows else other)


def test_with_eevdf_a_woken_thread_follows_its_waker_if_no_more_is_to_do_there() -> None:
    """Each CPU has one thread that computes; with two beside the waker it stays (the test of
    interrupts).
    """
    bench = Bench(machine_of(2, **EEVDF), 3)
    sleeper, waker = bench.wait(), bench.wake(at=101 * MILLISECOND)
    other = bench.compute(10 * SECOND)
    bench.run(101.1 * MILLISECOND)
    assert bench.cpu(sleeper) == bench.cpu(waker) != bench.cpu(other)


@pytest.mark.parametrize("told", [True, False])
@pytest.mark.parametrize(
    "scheduler", [{"os.sched_wakeup_granularity_us": 1000}, EEVDF], ids=["CFS", "EEVDF"]
)
def test_a_thread_that_is_to_give_its_cpu_away_is_told_by_an_interrupt_where_the_profile_has_one(
    scheduler: dict[str, float], told: bool
) -> None:
    """The waker pays what it pays to wake an idle CPU, and the woken thread runs after the time of
    a preemption.

    Without an interrupt the CPU pays when it switches to a thread that it had not heard of.
    """
    constants = {"os.balance_ms": 0, "os.woken_elsewhere_us": 3.0}
    constants |= {"os.preempt_us": 12.0, "os.interrupt_us": 7.0} if told else {}
    machine = machine_of(2, **scheduler, **constants)
    bench = Bench(machine, 4)
    waker, sleeper = bench.wake(at=101 * MILLISECOND), bench.wait()  # not at a tick
    bench.compute(
        10 * SECOND
    )  # shares the waker's CPU, so that the sleeper does not follow the waker there
    loser = bench.compute(10 * SECOND)
    bench.run(SECOND)
    assert bench.cpu(sleeper) == bench.cpu(loser) != bench.cpu(waker)
    paid = (bench.ended(waker) - bench.began(waker)) / MICROSECOND
    took = (bench.ended(sleeper) - bench.began(waker)) / MICROSECOND
    assert paid == pytest.approx(
        machine["os.wake_caller_us" if told else "os.wake_queued_us"], rel=0.01
    )
    least = machine["os.switch_us"] + (7.0 if told else 3.0)
    most = (
        least + (1.25 * (12.0 - 7.0 - machine["os.switch_us"]) if told else 0.0) + 1.01
    )  # and a step of who has the CPU
    assert least <= took <= most


def test_a_thread_that_was_woken_on_the_cpu_that_it_waits_for_is_no_news_there() -> None:
    def took(**constants: float) -> float:
        bench = Bench(machine_of(1, **EEVDF, **constants), 2)
        waker, sleeper = bench.wake(at=101 * MILLISECOND), bench.wait()
        bench.run(SECOND)
        return bench.ended(sleeper) - bench.began(waker)

    assert took(**{"os.woken_elsewhere_us": 3.0}) == took()


def test_an_interrupt_takes_its_time_also_if_nobody_waits_for_the_cpu_any_more() -> None:
    """Between the wake-up and the interrupt another CPU becomes idle and takes who was woken, whose
    cache alone is cold.
    """
    constants = {
        "os.preempt_us": 12.0,
        "os.interrupt_us": 7.0,
        "os.sched_migration_cost_us": 50_000,
    }
    bench = Bench(machine_of(3, **EEVDF, **constants), 5)
    bench.wake(at=101 * MILLISECOND)
    sleeper = bench.wait()
    ender = bench.compute(101 * MILLISECOND)
    bench.compute(
        10 * SECOND
    )  # shares the waker's CPU, so that the sleeper does not follow the waker there
    loser = bench.compute(10 * SECOND)
    bench.run(200 * MILLISECOND)
    assert bench.cpu(sleeper) == bench.cpu(ender)
    assert bench.longest_gap(loser) == 1 * MICROSECOND + 7 * MICROSECOND


COLD = {"os.switch_us": 300.0, "os.refill_us_max": 200.0, "os.refill_us_per_kib": 1e6}
"""A switch to a thread that finds nothing in the core's own caches takes 500 µs."""


def refill_us(others_touch: float) -> float:
    """Return what a switch takes more than a switch, of three threads on a CPU, where the other two
    touch so many bytes in between.
    """
    machine = machine_of(1, **COLD)
    bench, step = Bench(machine, 3), 50 * MICROSECOND
    slices = 2 * 10 * MILLISECOND / step  # steps of the others: the least granularity each
    for _ in range(3):
        bench.compute(1000 * SECOND, step=step, touching=round(others_touch / slices))
    bench.run(10 * SECOND)
    done = sum(bench.done(thread) for thread in range(3))
    return (10 * SECOND - done) / bench.switches / MICROSECOND - 300.0


def test_a_switch_takes_longer_the_further_away_the_thread_finds_what_it_had() -> None:
    """With one CPU, what is missing from the work that is done are the switches. From a shared
    cache they take 200 µs more.
    """
    xeon = load_machine("xeon")
    near = 200.0 * xeon["latency.l2"] / xeon["latency.l3"]
    assert refill_us(0.0) == pytest.approx(0.0, abs=10.0)
    assert refill_us(0.4 * xeon["cache.l1d"]) == pytest.approx(0.0, abs=10.0)
    assert refill_us(0.7 * xeon["cache.l1d"]) == pytest.approx(near, abs=10.0)
    assert refill_us(0.8 * xeon["cache.l2"]) == pytest.approx(near, abs=10.0)
    assert refill_us(1.2 * xeon["cache.l2"]) == pytest.approx(200.0, abs=10.0)


def test_kernel_time_has_the_switches_but_not_what_threads_then_find_cold() -> None:
    bench = Bench(machine_of(1, **COLD), 3)
    for _ in range(3):
        bench.compute(1000 * SECOND, step=50 * MICROSECOND, touching=8 << 20)
    bench.run(SECOND)
    assert bench.switches > 10
    assert bench.kernel_time == pytest.approx(bench.switches * 300 * MICROSECOND)


def test_who_comes_to_a_core_where_it_has_not_been_finds_nothing_there() -> None:
    """The second of two threads on a CPU begins after the slice of the first, and a switch to one
    that was never there.
    """
    bench = busy(1, 2, until=14 * MILLISECOND, **COLD)
    slice_us = 12_000
    assert bench.switches == 1
    assert bench.began(1) / MICROSECOND - slice_us == pytest.approx(
        300 + 200, abs=51
    )  # a slice ends with a step


@pytest.mark.parametrize(
    ("scheduler", "period_ms"), [({}, 3 + 12), (EEVDF, 4)], ids=["CFS", "EEVDF"]
)
def test_with_eevdf_a_switch_is_run_time_of_who_gets_the_cpu(
    scheduler: dict[str, float], period_ms: float
) -> None:
    """A request of 1.4 ms is done within a switch of 3 ms, so each tick of 4 ms ends a turn; a
    slice of CFS begins after it.
    """
    bench = busy(
        1, 2, until=12 * SECOND, **scheduler, **{"os.switch_us": 3000.0, "os.refill_us_max": 0.0}
    )
    assert bench.switches == pytest.approx(12 * SECOND / (period_ms * MILLISECOND), rel=0.05)


def test_going_to_sleep_in_a_herd_takes_each_longer_the_larger_it_is() -> None:
    """All sleep on one futex: each that comes waits for the lock of its hash bucket, and keeps its
    CPU meanwhile, in the kernel.
    """
    machine = load_machine("xeon")

    def times_of_each(threads: int) -> tuple[float, float]:
        """Return the CPU time of each, and the part of it in the kernel."""
        bench = Bench(machine, threads + 1)
        for _ in range(threads):
            bench.wait()
        waker = bench.wake(at=100 * MILLISECOND, count=threads)
        bench.run(SECOND)
        assert all(bench.ended(thread) is not None for thread in range(threads))
        return (bench.cpu_time - bench.ended(waker)) / threads, bench.kernel_time / threads

    for few, many in zip(times_of_each(2), times_of_each(160), strict=True):
        assert many - few > 160 / 2 * 0.8 * machine["os.bucket_hold_us"] * MICROSECOND


@pytest.mark.parametrize(
    ("cpus", "search", "looks"), [(4, 1, True), (4, 117, False), (256, 1, True), (256, 117, False)]
)
def test_where_most_cpus_are_busy_newer_kernels_do_not_look_for_an_idle_one(
    cpus: int, search: int, looks: bool
) -> None:
    """Linux from 5.19 on: (1 - (3/4 x 1.17)^2) 4 is less than one CPU. The sleeper's own CPU has
    another thread by then.

    What 256 CPUs have used in the last while takes more than 64 bits.
    """
    bench = Bench(machine_of(cpus, **{"os.idle_search_pct": search}), cpus + 2)
    sleeper = bench.wait()
    short = bench.compute(900 * MILLISECOND, step=MILLISECOND)
    for _ in range(cpus - 2):
        bench.compute(10 * SECOND, step=MILLISECOND)
    waker = bench.wake(at=SECOND)
    bench.run(1.5 * SECOND)
    assert (bench.cpu(sleeper) == bench.cpu(short)) == looks
    assert bench.ended(sleeper) > bench.began(waker)


@pytest.mark.parametrize("tick_us", [1000, 4000, 10_000])
def test_an_idle_cpu_is_offered_at_the_next_tick_what_waits_elsewhere(tick_us: int) -> None:
    """Three threads on two CPUs, one of which is left by its thread: it may stay idle until a tick,
    and no longer.
    """
    bench = Bench(machine_of(2, **{"os.tick_us": tick_us, "os.sched_migration_cost_us": 100}), 3)
    first = bench.compute(50 * MILLISECOND + 10 * MICROSECOND, step=10 * MICROSECOND)
    others = [bench.compute(SECOND, step=10 * MICROSECOND) for _ in range(2)]
    bench.run(200 * MILLISECOND)
    idle = 2 * 200 * MILLISECOND - bench.cpu_time
    assert bench.ended(first) > 0
    assert idle <= tick_us * MICROSECOND + MILLISECOND
    assert {bench.cpu(other) for other in others} == {0, 1}
