"""Costs of the machine without its operating system: cores, cache lines, copies of slots.
native/*.hpp defines each number.

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
        NOTHING "millrace::NOTHING"
        WRITES "millrace::WRITES"
        READS "millrace::READS"
        BOTH "millrace::BOTH"
    double copy_ns(size_t stride, size_t from_, size_t to, size_t bytes_) noexcept
    double copy_far_ns(const int* two_cpus, size_t stride, size_t footprint) noexcept
    double copy_between_ns(
        const int* two_cpus, Before other, size_t stride, size_t from_, size_t to, size_t bytes_
    ) noexcept
    double copy_together(const int* cpus, int count, size_t stride, size_t footprint) noexcept


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


def copy_modified(
    vector[int] two_cpus, size_t stride, size_t source, size_t target, size_t least_bytes
):
    """A slot copied by the first CPU that the second has changed, from a ring of `source` bytes to
    one of `target` bytes.
    """
    cdef double ns
    with nogil:
        ns = copy_between_ns(two_cpus.data(), WRITES, stride, source, target, least_bytes)
    return checked(ns)


def copy_returned(
    vector[int] two_cpus, size_t stride, size_t source, size_t target, size_t least_bytes
):
    """A slot of the own cache copied by the first CPU to a slot where the second has worked on the
    tuple before; rings as above.
    """
    cdef double ns
    with nogil:
        ns = copy_between_ns(two_cpus.data(), READS, stride, source, target, least_bytes)
    return checked(ns)


def copy_through(
    vector[int] two_cpus, size_t stride, size_t source, size_t target, size_t least_bytes
):
    """A slot that the second CPU has changed, copied by the first to a slot where the second has
    worked on the tuple before; rings as above.
    """
    cdef double ns
    with nogil:
        ns = copy_between_ns(two_cpus.data(), BOTH, stride, source, target, least_bytes)
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
