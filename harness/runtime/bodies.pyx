# bodies.pyx - how threads begin.

import os

from libc.stdint cimport uint32_t
from libc.string cimport strncpy

from harness.runtime.coroutine cimport prepare_thread
from harness.runtime.native cimport Run, Worker
from harness.runtime.plan cimport Plan

from harness.errors import RunFailed

cdef extern from *:
    """
    // The run whose operators this thread executes.
    static thread_local const void* millrace_executes = nullptr;
    static void millrace_begins(const void* run) { millrace_executes = run; }
    static bool millrace_is_of(const void* run) { return millrace_executes == run; }
    """
    void begins "millrace_begins"(const void* run) noexcept nogil
    bint is_of "millrace_is_of"(const void* run) noexcept nogil

cdef extern from "thread_stack.hpp" namespace "millrace" nogil:
    cdef cppclass ThreadStack:
        @staticmethod
        void install_handler() noexcept
        ThreadStack() noexcept
        void begin(const Worker* worker) noexcept

ThreadStack.install_handler()

cdef enum:
    AT_ONCE = 16  # threads that are made before anybody looks whether to go on: some milliseconds
    NAME_BYTES = 16  # the kernel's limit


cdef uint32_t start_threads(Plan plan, uint32_t first, uint32_t count) except? 0:
    """Start the threads of some workers from `first` on, at most `count`, without the interpreter's
    lock; returns how many.

    Raises RunFailed if the system refuses the first of them, or memory for one.
    """
    cdef char names[AT_ONCE][NAME_BYTES]
    cdef size_t stacks[AT_ONCE]
    cdef uint32_t i, made = 0
    cdef int error = 0
    cdef Worker* workers = &plan.run.workers[first]
    count = min(count, <uint32_t> AT_ONCE)
    for i in range(count):
        name = plan.layout.thread_name(first + i).encode()
        strncpy(names[i], name, NAME_BYTES - 1)
        names[i][NAME_BYTES - 1] = 0
        stacks[i] = plan.stack_of(first + i) + sizeof(ThreadStack)
        if workers[i].pooled and plan.run.coroutines != NULL:
            try:
                prepare_thread(&workers[i])
            except MemoryError:
                raise RunFailed(f"the system refuses memory to thread {first + i + 1}, {plan.layout.thread_name(first + i)!r}") from None
    with nogil:
        while made < count and error == 0:
            error = workers[made].thread.start(body, &workers[made], stacks[made], names[made])
            made += error == 0
    if made == 0:
        raise RunFailed(f"the system refuses thread {first + 1}, {plan.layout.thread_name(first)!r}: {os.strerror(error)}")
    return made


cdef bint is_thread_of(Run* run) noexcept nogil:
    """Return True if the caller is an operator of the run: it must not wait for the run's threads,
    because it is on one.
    """
    return is_of(run)


cdef void* body(void* argument) noexcept nogil:
    cdef Worker* worker = <Worker*> argument
    cdef ThreadStack stack
    stack.begin(worker)
    begins(worker.run)
    if worker.run.python:
        with_interpreter(worker)
    else:
        worker.body(worker)
    return NULL


cdef void with_interpreter(Worker* worker) noexcept nogil:
    """Run a body inside an open call of the interpreter, which then keeps the thread's state. Else
    every `with gil` would make and destroy that state, which takes microseconds."""
    with gil:
        with nogil:
            worker.body(worker)
