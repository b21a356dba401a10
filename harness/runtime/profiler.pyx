"""What operators cost, by looking often at what each thread is doing (M19 §3).

Every thread keeps the index of the operator that it executes in a word of its own (Worker::at; a plain store to a line that only this
thread writes). A sampling thread reads all words many times a second and counts. An operator's share of the counts is its share of
the work.

Two windows overlap by half: each sample is counted in both, and every half window the older one is emptied and becomes the younger. The
older one is read, so a reader sees at least half a window of samples, and never an empty one once there have been any.
"""

cimport cython
from libc.stdint cimport int64_t, uint32_t
from libcpp.atomic cimport memory_order_acquire, memory_order_relaxed, memory_order_release

from harness.runtime.native cimport Counter, Run, delete_array, make_array, now_ns
from harness.runtime.plan cimport Plan

from harness.engine import PROFILE_WINDOW_S

PERIOD_S = 0.001
"""Between two looks. IBM's implementation looks 100 times a second, at periods of 10 s; ours are shorter, and 1,000 looks a second take
less than a hundredth of a CPU."""


@cython.no_gc_clear
cdef class Profiler:
    """Samples the threads of `plan` between start() and stop(). Raises OSError if the system refuses a thread."""

    def __cinit__(self, Plan plan, double period_s=PERIOD_S, double window_s=PROFILE_WINDOW_S):
        self.plan = plan  # the sampling thread reads its memory
        self.sampling = make_array[Sampling](1)
        self.sampling.run = plan.run
        self.sampling.period_ns = <int64_t> (period_s * 1e9)
        self.sampling.half_ns = <int64_t> (window_s * 1e9 / 2)
        for window in range(2):
            self.sampling.counts[window] = make_array[Counter](plan.run.operator_count)

    def start(self):
        cdef int error = self.sampling.thread.start(sampling_body, self.sampling, 65536, b"profiler")
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
        """By operator: how often a thread was seen in it, within the last window. Again if that was emptied meanwhile."""
        cdef uint32_t older
        while True:
            older = self.sampling.older.load(memory_order_acquire)
            counts = [self.sampling.counts[older][i].read() for i in range((<Plan> self.plan).run.operator_count)]
            if older == self.sampling.older.load(memory_order_acquire):
                return counts

    def __dealloc__(self):
        if self.running:
            self.sampling.stop.store(True, memory_order_release)
            self.sampling.pause.wake_all()
            with nogil:
                self.sampling.thread.join()
        for window in range(2):
            delete_array[Counter](self.sampling.counts[window])
        delete_array[Sampling](self.sampling)


cdef void* sampling_body(void* argument) noexcept nogil:
    cdef Sampling* sampling = <Sampling*> argument
    cdef Run* run = sampling.run
    cdef int64_t next_flip = now_ns() + sampling.half_ns
    cdef uint32_t older, i, at
    cdef Counter* emptied
    while not sampling.stop.load(memory_order_acquire):
        older = sampling.older.load(memory_order_relaxed)
        if now_ns() >= next_flip:
            next_flip += sampling.half_ns
            sampling.older.store(1 - older, memory_order_release)  # first: readers turn away from what is now emptied
            emptied = sampling.counts[older]
            for i in range(run.operator_count):
                emptied[i].add(-emptied[i].read())
        for i in range(run.worker_count):
            at = run.workers[i].at.load(memory_order_relaxed)
            if at > 0:
                sampling.counts[0][at - 1].add(1)
                sampling.counts[1][at - 1].add(1)
        sampling.pause.sleep_for(sampling.period_ns, sampling.stop)
    sampling.thread.finish()
    return NULL
