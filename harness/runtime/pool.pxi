# pool.pxi - the level of the pool: which scheduler threads run and which are suspended (P17 §4.1.5,
# §4.2.3); part of engine.pyx.
#
# A thread is asked to suspend and does so when it is done with a batch. An operator may keep it for
# long, or for ever. A thread that was asked a period ago and still does not sleep is
# *unsuspendable*: it counts as running, and another one is suspended in its stead. When its
# operator returns after all, it goes to sleep as asked, and the next review evens that out.
#
# FREE: the level is never below one more than the most input ports of an operator that may block
# (a user's own), and than those before barriers; and when every thread that may run is held by such
# operators, or waits for one that is, while ports are ready, one more thread runs, until one of
# them comes back or the level leaves others.
#
# Threads are made when the level first needs them and stay until the end of the run. Any thread of
# the program may read or change the level: one at a time does (`lock`), and none changes it once
# the pool is closed.

import os
import threading
import time

cimport cython
from cpython.exc cimport PyErr_CheckSignals
from libc.stdint cimport uint32_t
from libc.string cimport strncpy
from libcpp.atomic cimport atomic, memory_order_acquire, memory_order_relaxed, memory_order_seq_cst

from harness.runtime.native cimport Run, Worker, now_ns, operator_of
from harness.runtime.path cimport coroutines_of
from harness.runtime.plan cimport Plan
from harness.runtime.protocol cimport BLOCKED, IDLE, SUSPENDED

from harness.errors import RunFailed, UserError
from harness.graph.values import MAX_THREADS


SUSPENSION_S = 0.1
"""The shortest period after which a thread that does not sleep as asked counts as unsuspendable
[s]: many batches, but of users' code.
"""


@cython.no_gc_clear
cdef class Pool:
    """The scheduler threads of `plan`; none runs before the first set_level()."""

    cdef Plan plan
    cdef object lock            # held by a call that reads or changes what follows
    cdef atomic[bint] closed    # the run ends, or its start is broken off; needs no lock
    cdef int level              # as requested
    cdef int created
    cdef int review_number
    cdef int extra              # threads that run in the stead of held ones
    cdef double reviewed_s
    # suspended threads: the number of the review before which they were asked to suspend
    cdef dict suspended_since
    cdef list born              # by thread: when it was made [ns]
    cdef list searches          # by thread: Worker::searches at the last review
    cdef set stubborn

    def __cinit__(self, Plan plan):
        self.plan = plan
        self.lock = threading.RLock()
        self.suspended_since = {}
        self.born = []
        self.searches = []
        self.stubborn = set()

    def set_level(self, level):
        """Let `level` threads run, or the lowest number that FREE allows; nothing happens if the
        pool is closed, or closes meanwhile.

        Raises UserError if that is no possible level, RunFailed if the system refuses a thread.
        """
        if not isinstance(level, int) or isinstance(level, bool) or not 1 <= level <= MAX_THREADS:
            raise UserError(f"threads must be from 1 to {MAX_THREADS}, not {level!r}")
        with self.lock:
            if not self.is_closed():
                self.level = max(<int> level, <int> self.plan.layout.minimum_threads)
                self._balance(self.level + self.extra)

    def close(self):
        """Close the pool: from now on no thread is made, suspended or woken. Returns when no other
        call is doing so any more.
        """
        self.refuse()
        with self.lock:
            pass

    cdef bint is_closed(self) noexcept:
        return self.closed.load(memory_order_relaxed)

    cdef void refuse(self) noexcept:
        """Close the pool without waiting for a call. Relaxed: the lock is the edge to what calls
        have done.
        """
        self.closed.store(True, memory_order_relaxed)

    def review(self):
        """Find the unsuspendable threads, and let others run or sleep in their stead; less than
        SUSPENSION_S after the last time it does nothing.
        """
        with self.lock:
            if (
                self.level > 0
                and not self.is_closed()
                and time.monotonic() - self.reviewed_s >= SUSPENSION_S
            ):
                self._review()

    def _review(self):
        self.reviewed_s = time.monotonic()
        self.review_number += 1
        due = [
            thread
            for thread, since in self.suspended_since.items()
            if since < self.review_number - 1
        ]
        self.stubborn = {thread for thread in due if not self._asleep(thread)}
        runnable = [thread for thread in range(self.created) if thread not in self.suspended_since]
        held = sum([self._held(thread) for thread in runnable])
        if held == len(runnable) and self._something_ready() and self._someone_in_users_code():
            self.extra += 1
        else:  # those that are needed so that one runs beside the held ones
            beside = held + len(self.stubborn) + 1 - self.level
            self.extra = max(min(self.extra, beside), 0)
        self._balance(self.level + self.extra)
        self.searches = [self.worker(thread).searches.read() for thread in range(self.created)]

    @property
    def requested(self):
        """The level that was requested, or the lowest possible one."""
        with self.lock:
            return self.level

    @property
    def active(self):
        """Threads that run, or would if there were work."""
        with self.lock:
            return sum([not self._asleep(thread) for thread in range(self.created)])

    @property
    def unsuspendable(self):
        with self.lock:
            return len(self.stubborn)

    def use(self):
        """Return, of each thread, the time since it was made in which it was allowed to run, and in
        which it was idle [ns].
        """
        with self.lock:
            return [
                (
                    now_ns() - self.born[thread] - self.worker(thread).asleep.read(),
                    self.worker(thread).idle.read(),
                )
                for thread in range(self.created)
            ]

    def _balance(self, int wanted):
        running = [thread for thread in range(self.created) if thread not in self.suspended_since]
        # at least one can run, whatever the unsuspendable ones do
        excess = len(running) - max(wanted - len(self.stubborn), 1)
        if excess > 0:
            for thread in sorted(running, key=self._reluctance)[:excess]:
                self.suspended_since[thread] = self.review_number
                self._suspend(thread, True)
            if self.plan.run.ready != NULL:
                # those that sleep for want of work sleep for the other reason now
                self.plan.run.ready.wake_all()
            return
        for thread in list(self.suspended_since):
            if excess == 0:
                return
            if thread not in self.stubborn:
                del self.suspended_since[thread]
                self._suspend(thread, False)
                excess += 1
        self._start(-excess)

    def _start(self, int missing):
        """Make `missing` threads, as far as the plan has room for them. A stop or Ctrl-C between
        them ends it.
        """
        while missing > 0 and self.created < MAX_THREADS and not self.is_closed():
            born = now_ns()
            made = start_threads(
                self.plan, self.plan.first_scheduler + self.created,
                min(missing, MAX_THREADS - self.created),
            )
            self.born += [born] * made
            self.created += made
            missing -= made
            PyErr_CheckSignals()

    cdef Worker* worker(self, int thread):
        return &self.plan.run.workers[self.plan.first_scheduler + thread]

    def _suspend(self, int thread, bint suspended):
        """Tell a thread to suspend, or to go on. Those that sleep for want of work are not woken
        for it.
        """
        self.worker(thread).suspended.store(suspended, memory_order_seq_cst)
        if self.plan.run.coroutines != NULL:
            coroutines_of(self.plan.run).suspend(thread, suspended)
        elif not suspended:
            self.worker(thread).pause.wake_all()

    def _something_ready(self):
        if self.plan.run.coroutines != NULL:
            return coroutines_of(self.plan.run).somebody_ready()
        return not self.plan.run.ready.empty()

    def _asleep(self, int thread):
        return self.worker(thread).rest.load(memory_order_acquire) == SUSPENDED

    def _reluctance(self, int thread):
        """Return a sort key: idle threads are suspended first, then the oldest; those that a user's
        operator holds last.
        """
        if self.worker(thread).rest.load(memory_order_relaxed) == IDLE:
            return 0
        return 2 if self._in_users_code(thread) else 1

    def _in_users_code(self, int thread):
        at = operator_of(self.worker(thread)[0])
        return at > 0 and self.plan.operators[at - 1].users

    def _someone_in_users_code(self):
        """Return True if any thread of the run is in users' code. Those of the pool may wait for
        room, or for a lock, that the thread of a source or of a threaded port has.
        """
        return any(
            [
                self._in_users_code(thread)
                for thread in range(-<int> self.plan.first_scheduler, self.created)
            ]
        )

    def _held(self, int thread):
        """Return True if a thread has not looked for work since the last review: users' code holds
        it, or it waits for another thread.
        """
        return (
            thread < len(self.searches)
            and self.worker(thread).searches.read() == self.searches[thread]
            and (
                self.worker(thread).rest.load(memory_order_relaxed) == BLOCKED
                or self._in_users_code(thread)
            )
        )


# -- threads ---------------------------------------------------------------------------------------

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
    AT_ONCE = 16  # threads that are made before the next look whether to go on: some milliseconds
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
                coroutines_of(plan.run).prepare_thread(workers[i].co)
            except MemoryError:
                raise RunFailed(
                    f"the system refuses memory to thread {first + i + 1}, "
                    f"{plan.layout.thread_name(first + i)!r}"
                ) from None
    with nogil:
        while made < count and error == 0:
            error = workers[made].thread.start(body, &workers[made], stacks[made], names[made])
            made += error == 0
    if made == 0:
        raise RunFailed(
            f"the system refuses thread {first + 1}, {plan.layout.thread_name(first)!r}: "
            f"{os.strerror(error)}"
        )
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
    worker.thread.begins()
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
