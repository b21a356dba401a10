"""Steps of the runtime that need no plan: the list of ready ports, flags, locks, pauses,
multiplies. As in steps.pyx, all times are ns a repetition, the shortest of a few tries.
"""

from libc.stdint cimport int64_t, uint32_t

from harness.calibration.steps cimport shortest
from harness.runtime.native cimport (
    CACHE_LINE,
    ReadyPorts,
    TryFlag,
    Tuple,
    Worker,
    delete_array,
    make_array,
    multiply_batch,
    mutex,
    now_ns,
    opaque_one,
    slot,
)
from harness.runtime.path cimport acquire

from harness.calibration.steps import TRIES

cdef extern from "coroutine_steps.hpp" namespace "millrace" nogil:
    double c_switch_ns "millrace::switch_ns"(uint32_t times)
    double c_fence_ns "millrace::fence_ns"(uint32_t times)
    cppclass CoroutineSteps:
        CoroutineSteps(uint32_t count) except +
        double wait_ns(uint32_t times)
        double turn_ns(uint32_t policy, uint32_t times)
        double looks()

COROUTINES = 64
"""Co-routines that take turns: their records and stacks fit in a second-level cache."""

POLICY_MIN_LATENCY = 2
"""Index in POLICIES (policies.hpp) of min_latency, which looks at each ready co-routine. The first
policy chooses by chance.
"""

LISTED_PORTS = 1024
"""Ports of the list of ready ports: its nodes fit in a first-level cache."""


def list_steps():
    """A port put on the list, one taken from it, and a look at the empty list: (push, pop,
    search).
    """
    cdef ReadyPorts* ready = new ReadyPorts(LISTED_PORTS)
    cdef int64_t begin, middle, end
    cdef uint32_t _, i
    push = pop = search = None
    clock = clock_ns()
    try:
        for _try in range(8 * TRIES):
            begin = now_ns()
            for i in range(LISTED_PORTS):
                ready.push(i)
            middle = now_ns()
            for _ in range(LISTED_PORTS):
                ready.pop()
            end = now_ns()
            push, pop = (
                shortest(push, middle - begin, LISTED_PORTS),
                shortest(pop, end - middle, LISTED_PORTS)
            )
            begin = now_ns()
            for _ in range(LISTED_PORTS):
                ready.pop()
            search = shortest(search, now_ns() - begin, LISTED_PORTS)
    finally:
        del ready
    return tuple(step - clock / LISTED_PORTS for step in (push, pop, search))


def clock_ns(uint32_t times=1000):
    """A look at the clock."""
    cdef int64_t begin
    cdef uint32_t _
    best = None
    for _try in range(TRIES):
        begin = now_ns()
        for _ in range(times):
            now_ns()
        best = shortest(best, now_ns() - begin, times)
    return best


def flag_ns(uint32_t times):
    """A flag taken and released."""
    cdef TryFlag flag
    cdef int64_t begin
    cdef uint32_t _
    best = None
    for _try in range(TRIES):
        begin = now_ns()
        for _ in range(times):
            if flag.try_lock():
                flag.unlock()
        best = shortest(best, now_ns() - begin, times)
    return best


def lock_ns(uint32_t times):
    """An operator's lock taken and released. The caller must give the process a second thread
    (lines.hpp).
    """
    cdef mutex lock
    cdef int64_t begin
    cdef uint32_t _
    cdef Worker* worker = make_array[Worker](1)
    best = None
    for _try in range(TRIES):
        begin = now_ns()
        for _ in range(times):
            acquire(worker, &lock, NULL)
            lock.unlock()
        best = shortest(best, now_ns() - begin, times)
    delete_array[Worker](worker)
    return best


def work_ns(uint32_t cost, uint32_t times, uint32_t at_once=32):
    """The FLOP of a tuple at an operator of `cost` FLOP, which gets `at_once` of 32 tuples at a
    time.
    """
    cdef char[33 * CACHE_LINE] memory
    cdef Tuple* first = <Tuple*> ((<size_t> memory + CACHE_LINE) // CACHE_LINE * CACHE_LINE)
    cdef int64_t begin
    cdef uint32_t i
    cdef double factor = opaque_one()
    for i in range(32):
        slot(first, CACHE_LINE, i).value = 1.5
    best = None
    for _try in range(TRIES):
        begin = now_ns()
        for _ in range(times):
            for i in range(0, 32, at_once):
                multiply_batch(slot(first, CACHE_LINE, i), CACHE_LINE, at_once, factor, cost)
        best = shortest(best, now_ns() - begin, times * 32)
    return best


def coroutine_steps(uint32_t times):
    """Steps of co-routines on one thread: (a switch one way, a full fence, a wait that is
    satisfied, a turn by chance, the extra time of a turn for each look of a policy at a ready
    co-routine)."""
    cdef CoroutineSteps* steps = new CoroutineSteps(COROUTINES)
    best = [None] * 5
    try:
        for _try in range(TRIES):
            turn = steps.turn_ns(0, times)
            look = (steps.turn_ns(POLICY_MIN_LATENCY, times) - turn) / steps.looks()
            found = (c_switch_ns(times), c_fence_ns(times), steps.wait_ns(times), turn, look)
            best = [ns if least is None else min(least, ns) for least, ns in zip(best, found)]
    finally:
        del steps
    return tuple(best)
