"""Costs of the machine: of its cores, cache lines and copies of slots, and of its operating system,
to sleep, to wake and to switch. native/*.hpp defines each number.

All times are in ns. A list of CPUs says where threads are pinned. Raises OSError if the system
refuses a thread, a CPU or memory.
"""

import os

from libc.stdint cimport int64_t, uint32_t
from libcpp cimport bool
from libcpp.vector cimport vector


cdef extern from "core.hpp" namespace "millrace" nogil:
    cdef enum Work:
        ADDS "millrace::ADDS"
        MULTIPLIES "millrace::MULTIPLIES"
        MIXED "millrace::MIXED"
    double busy_ns(const int* cpus, int count, Work work, uint32_t operations) noexcept


cdef extern from "lines.hpp" namespace "millrace" nogil:
    double fetch_add_ns(uint32_t operations) noexcept
    double compare_exchange_ns(uint32_t operations) noexcept
    double lock_unlock_ns(uint32_t operations) noexcept
    double fence_ns(uint32_t operations) noexcept
    double load_ns(size_t footprint, uint32_t loads) noexcept
    double hand_off_ns(const int* two_cpus, uint32_t rounds) noexcept
    double load_modified_ns(const int* two_cpus, uint32_t rounds) noexcept
    double contended_ns(const int* cpus, int count, bool exchange, int64_t window_ns) noexcept


cdef extern from "copies.hpp" namespace "millrace" nogil:
    cdef enum Before:
        WRITES "millrace::WRITES"
        READS "millrace::READS"
        BOTH "millrace::BOTH"
    double copy_ns(size_t stride, size_t from_, size_t to, size_t bytes_) noexcept
    double copy_far_ns(const int* two_cpus, size_t stride, size_t footprint) noexcept
    double copy_between_ns(
        const int* two_cpus, Before other, size_t stride, size_t from_, size_t to, size_t bytes_
    ) noexcept
    double copy_together(const int* cpus, int count, size_t stride, size_t footprint) noexcept


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


OPERATIONS = {"add": ADDS, "multiply": MULTIPLIES, "mixed": MIXED}
"""An integer add and a double multiply that wait for the one before, a step of scheduling code."""


cdef double checked(double result) except -1.0:
    """A result that is below 0 is an error of the system."""
    if result < 0:
        raise OSError(<int> -result, os.strerror(<int> -result))
    return result


def busy(str operation, vector[int] cpus, uint32_t operations):
    """An operation on each of the CPUs while all of them do the same: the mean."""
    cdef double ns
    cdef Work work = OPERATIONS[operation]
    with nogil:
        ns = busy_ns(cpus.data(), <int> cpus.size(), work, operations)
    return checked(ns)


# -- cache lines -----------------------------------------------------------------------------------


def local_atomics(uint32_t operations):
    """On a line in the own cache: (fetch_add, load and compare-exchange, lock and unlock, store and
    fence).

    The caller must give the process a second thread: else the C library leaves the lock's atomic
    operations out.
    """
    cdef double add, exchange, lock, fence
    with nogil:
        add = fetch_add_ns(operations)
        exchange = compare_exchange_ns(operations)
        lock = lock_unlock_ns(operations)
        fence = fence_ns(operations)
    return add, exchange, lock, fence


def load(size_t footprint, uint32_t loads):
    """Return the time of a load that waits for the one before, from a memory of `footprint`
    bytes.
    """
    cdef double ns
    with nogil:
        ns = load_ns(footprint, loads)
    return checked(ns)


def hand_off(vector[int] two_cpus, uint32_t rounds):
    """A word that two threads change in turn, one way."""
    cdef double ns
    with nogil:
        ns = hand_off_ns(two_cpus.data(), rounds)
    return checked(ns)


def load_modified(vector[int] two_cpus, uint32_t rounds):
    """A load by the first CPU of a line that the second has changed."""
    cdef double ns
    with nogil:
        ns = load_modified_ns(two_cpus.data(), rounds)
    return checked(ns)


def contended(vector[int] cpus, bint exchange, double window_s):
    """Return the time between two completed fetch_adds (or load-and-compare-exchange loops) on one
    word that all CPUs use.
    """
    cdef double ns
    cdef int64_t window_ns = <int64_t> (window_s * 1e9)
    with nogil:
        ns = contended_ns(cpus.data(), <int> cpus.size(), exchange, window_ns)
    return checked(ns)


# -- copies ----------------------------------------------------------------------------------------


def copy(size_t stride, size_t source, size_t target, size_t least_bytes):
    """A slot copied from a ring of `source` bytes to one of `target` bytes."""
    cdef double ns
    with nogil:
        ns = copy_ns(stride, source, target, least_bytes)
    return checked(ns)


OTHERS_WORK = {"source": WRITES, "target": READS, "both": BOTH}
"""Side of a copy where another CPU has worked on the tuple before."""


def copy_between(
    str worked_on, vector[int] two_cpus, size_t stride, size_t source, size_t target,
    size_t least_bytes,
):
    """A slot copied by the first CPU, from a ring of `source` bytes to one of `target` bytes; the
    second CPU has changed the slot that is copied, worked on the tuple where it goes, or both.
    """
    cdef double ns
    cdef Before other = OTHERS_WORK[worked_on]
    with nogil:
        ns = copy_between_ns(two_cpus.data(), other, stride, source, target, least_bytes)
    return checked(ns)


def copy_far(vector[int] two_cpus, size_t stride, size_t footprint):
    """A slot copied by the first CPU between two rings in the memory of the second one's socket."""
    cdef double ns
    with nogil:
        ns = copy_far_ns(two_cpus.data(), stride, footprint)
    return checked(ns)


def copy_rate(vector[int] cpus, size_t stride, size_t footprint):
    """Bytes a ns that all the CPUs copy together, each between rings of `footprint` bytes."""
    cdef double rate
    with nogil:
        rate = copy_together(cpus.data(), <int> cpus.size(), stride, footprint)
    return checked(rate)


# -- operating system ------------------------------------------------------------------------------


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
