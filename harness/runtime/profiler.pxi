# profiler.pxi - sampling profiler of operators' costs: it looks often at the operator that each
# thread executes (M19 §3); part of engine.pyx.
#
# Every thread keeps the index of the operator that it executes in a word of its own (Worker::at; a
# plain store to a line that only this thread writes). A sampling thread reads all words many times
# a second and counts. An operator's share of the counts is its share of the work.
#
# Counts are of a recent window (native/windows.hpp). Time without looks, for example while the
# machine is suspended, is not counted.

cimport cython
from libc.stdint cimport int64_t, uint32_t
from libcpp cimport bool as flag
from libcpp.atomic cimport atomic, memory_order_acquire, memory_order_release

from harness.runtime.native cimport (
    Parking,
    Run,
    Thread,
    Windows,
    delete_array,
    make_array,
    now_ns,
    operator_of,
)
from harness.runtime.plan cimport Plan

from harness.engine.sample import PROFILE_WINDOW_S

LOOKS_S = 0.001
"""Time between two looks [s]. IBM's implementation looks 100 times a second, at periods of 10 s;
ours are shorter, and 1,000 looks a second take less than a hundredth of a CPU."""


cdef extern from *:
    """
    #include "windows.hpp"
    struct Sampling {
      millrace::Run* run;
      millrace::Windows seen;  // by operator: how often a thread was seen in it
      int64_t period_ns;
      std::atomic<bool> stop;
      millrace::Parking pause;
      millrace::Thread thread;
    };
    """
    cdef cppclass Sampling:
        Run* run
        Windows seen
        int64_t period_ns
        atomic[flag] stop
        Parking pause
        Thread thread


@cython.no_gc_clear
cdef class Profiler:
    """Samples the threads of `plan` between start() and stop(). Raises OSError if the system
    refuses a thread.
    """

    cdef Sampling* sampling
    cdef object plan
    cdef bint running

    def __cinit__(self, Plan plan, double period_s=LOOKS_S, double window_s=PROFILE_WINDOW_S):
        self.plan = plan  # the sampling thread reads its memory
        self.sampling = make_array[Sampling](1)
        self.sampling.run = plan.run
        self.sampling.period_ns = <int64_t> (period_s * 1e9)
        self.sampling.seen.init(plan.run.operator_count, <int64_t> (window_s * 1e9))

    def start(self):
        cdef int error = self.sampling.thread.start(
            sampling_body, self.sampling, 65536, b"profiler"
        )
        if error != 0:
            raise OSError(error, "no thread for the profiler")
        self.running = True

    def stop(self):
        if self.running:
            self.running = False
            self.sampling.stop.store(True, memory_order_release)
            self.sampling.pause.wake_all()
            with nogil:
                self.sampling.thread.join()

    def counts(self):
        """Return, by operator, the looks within the last window that found a thread in it."""
        return self.sampling.seen.read()

    def __dealloc__(self):
        if self.running:
            self.sampling.stop.store(True, memory_order_release)
            self.sampling.pause.wake_all()
            with nogil:
                self.sampling.thread.join()
        delete_array[Sampling](self.sampling)


cdef void* sampling_body(void* argument) noexcept nogil:
    cdef Sampling* sampling = <Sampling*> argument
    cdef Run* run = sampling.run
    cdef uint32_t i, at
    while not sampling.stop.load(memory_order_acquire):
        sampling.seen.pass_time(now_ns())
        for i in range(run.worker_count):
            at = operator_of(run.workers[i])
            if at > 0:
                sampling.seen.count(at - 1)
        sampling.pause.sleep_for(sampling.period_ns, sampling.stop)
    sampling.thread.finish()
    return NULL
