"""Costs of the operating system: to sleep, to wake and to switch. native/futexes.hpp defines each
number.

All times are in ns. Raises OSError if the system refuses a thread or a CPU.
"""

import os

from libc.stdint cimport int64_t, uint32_t
from libcpp.vector cimport vector


cdef extern from "futexes.hpp" namespace "millrace" nogil:
    cppclass Rings:
        double turn_ns
        double call_ns
    cppclass Switching:
        double call_ns
        double switches_a_call
    cppclass Waking:
        double call_ns
        double awake_ns
    cppclass Interrupting:
        double call_ns
        double awake_ns
        double lost_ns
    double wake_nobody_ns(uint32_t calls) noexcept
    double yield_ns(uint32_t calls) noexcept
    double timer_slack_ns(uint32_t sleeps, int64_t ns) noexcept
    Rings rings_ns(
        const int* cpus, int count, int threads, uint32_t rounds, uint32_t every, bint elsewhere,
        bint free,
    ) noexcept
    double reading_ring_ns(
        int cpu, int threads, uint32_t rounds, uint32_t bytes, bint turns
    ) noexcept
    Switching yield_switch_ns(int cpu, uint32_t calls) noexcept
    Waking wake_sleeper_ns(const int* two_cpus, uint32_t calls, int64_t idle_ns) noexcept
    Interrupting wake_on_busy_ns(
        const int* two_cpus, uint32_t calls, int64_t gap_ns, bint takes
    ) noexcept
    double slice_ns(int cpu, int64_t length_ns) noexcept


cdef double checked(double result) except -1.0:
    if result < 0:
        raise OSError(<int> -result, os.strerror(<int> -result))
    return result


def wake_nobody(uint32_t calls):
    """Return the time of a wake when no thread sleeps."""
    return wake_nobody_ns(calls)


def yield_to_nobody(uint32_t calls):
    """Return the time of a yield when no other thread can run."""
    return yield_ns(calls)


def timer_slack(uint32_t sleeps, double sleep_s):
    """Return how much later a short sleep ends because of the timer slack of an ordinary thread."""
    cdef int64_t sleep_ns = <int64_t> (sleep_s * 1e9)
    with nogil:
        slack = timer_slack_ns(sleeps, sleep_ns)
    return slack


def hand_over(vector[int] cpus, int threads, uint32_t rounds, bint free=False):
    """Return the time from one of `threads` on a CPU to the next, where each wakes the next one and
    sleeps: a wake, a sleep and a switch.

    All `cpus` do this at the same time, and so disturb each other as in one process. `free`:
    threads may run on any of them.
    """
    cdef Rings found
    with nogil:
        found = rings_ns(cpus.data(), <int> cpus.size(), threads, rounds, 0, False, free)
    return checked(found.turn_ns)


def hand_over_and_tell(
    vector[int] cpus, int threads, uint32_t rounds, uint32_t every, bint elsewhere
):
    """Return the times of a hand-over where each thread also wakes a companion in every `every`th
    round, which sleeps again.

    The companion is on the thread's CPU, or on the next one if `elsewhere`. Returns (from one
    thread to the next, the call that wakes the companion).
    """
    cdef Rings found
    with nogil:
        found = rings_ns(cpus.data(), <int> cpus.size(), threads, rounds, every, elsewhere, False)
    return checked(found.turn_ns), found.call_ns


def read_by_turns(int cpu, int threads, uint32_t rounds, uint32_t bytes_, bint turns=True):
    """Return the time from one of `threads` on a CPU to the next where each reads `bytes_` of its
    own before it wakes the next.

    If `turns` is False one thread reads all of it, without a switch.
    """
    cdef double found
    with nogil:
        found = reading_ring_ns(cpu, threads, rounds, bytes_, turns)
    return checked(found)


def yield_to_other(int cpu, uint32_t calls):
    """Return, for two threads on a CPU that yield to each other: (the time of a call, the share of
    calls that switch, 0 .. 1).
    """
    cdef Switching found
    with nogil:
        found = yield_switch_ns(cpu, calls)
    return checked(found.call_ns), found.switches_a_call


def wake(vector[int] two_cpus, uint32_t calls, double idle_s):
    """Wake a thread on the second CPU, asleep for `idle_s`, from the first: (time of the call, time
    until it runs).
    """
    cdef Waking found
    cdef int64_t idle_ns = <int64_t> (idle_s * 1e9)
    with nogil:
        found = wake_sleeper_ns(two_cpus.data(), calls, idle_ns)
    return checked(found.call_ns), found.awake_ns


def wake_on_busy(vector[int] two_cpus, uint32_t calls, double gap_s, bint takes):
    """Wake a thread on a CPU where another one works: (time of the call, time until it runs, time
    that the worker loses).

    If `takes`, the woken thread takes the CPU from the worker at once. Else it waits until the CPU
    is given away after the call.
    """
    cdef Interrupting found
    cdef int64_t gap_ns = <int64_t> (gap_s * 1e9)
    with nogil:
        found = wake_on_busy_ns(two_cpus.data(), calls, gap_ns, takes)
    return checked(found.call_ns), found.awake_ns, found.lost_ns


def slice_(int cpu, double length_s):
    """Return the time that one of two threads that share a CPU runs before the other does."""
    cdef double ns
    cdef int64_t length_ns = <int64_t> (length_s * 1e9)
    with nogil:
        ns = slice_ns(cpu, length_ns)
    return checked(ns)
