"""Sampler of what threads do: it looks often at the word in which each says that
(native/activity.hpp), and the system counts how long each runs.
"""

from contextlib import suppress

cimport cython
from libc.stdint cimport int64_t, uint32_t, uint64_t
from libcpp cimport bool
from libcpp.atomic cimport atomic, memory_order_acquire, memory_order_release
from libcpp.vector cimport vector

from harness.runtime.native cimport Parking, Run, Thread, delete_array, make_array, now_ns
from harness.runtime.plan cimport Plan

from harness.engine.time_use import ThreadTime, TimeUse

cdef extern from "activity.hpp" namespace "millrace" nogil:
    enum: ACTIVITY_SHIFT, OF_OPERATOR
    cpdef enum class Activity(uint32_t):
        NONE, WORK, MAKE, MOVE, SEARCH, TUPLES, ROOM, LOCK, PAUSE, READY

cdef extern from * nogil:
    """
    #include "time_use.hpp"
    namespace millrace {
    struct Looking {
      Run* run;
      TimeUse use;
      std::atomic<bool> stop;
      Parking pause;
      Thread thread;
    };
    inline int64_t cpu_ns(clockid_t clock) noexcept {
      timespec time;
      clock_gettime(clock, &time);
      return static_cast<int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
    }
    }
    """
    int64_t cpu_ns "millrace::cpu_ns"(int clock) noexcept
    enum: CLOCK_PROCESS_CPUTIME_ID, CLOCK_THREAD_CPUTIME_ID
    cdef cppclass Found "millrace::TimeUse::Entry":
        uint32_t thread, word
        uint64_t looks
    cdef cppclass Looks "millrace::TimeUse":
        void look(const Run& run) noexcept
        uint64_t read(vector[Found]* entries) except +
    cdef cppclass Looking "millrace::Looking":
        Run* run
        Looks use
        atomic[bool] stop
        Parking pause
        Thread thread

cdef enum:
    SHORTEST_REST_NS = 1_000_000  # between two looks; a look takes about 10 us of CPU time
    LONGEST_REST_NS = 10_000_000
    # CPU time of the process for that of the sampler, above which it looks as often as it may. If
    # others leave few CPUs to the process, or it has many threads, it looks more seldom.
    LEAST_PER_SAMPLING = 100


@cython.no_gc_clear
cdef class TimeUseSampler:
    """Looks at the threads of `plan` between start() and stop(). Raises OSError if the system
    refuses a thread.
    """

    cdef Looking* looking
    cdef Plan plan  # the sampling thread reads its memory
    cdef bint running
    cdef int64_t began_ns

    def __cinit__(self, Plan plan):
        self.plan = plan
        self.looking = make_array[Looking](1)
        self.looking.run = plan.run

    def start(self):
        self.began_ns = now_ns()
        cdef int error = self.looking.thread.start(body, self.looking, 65536, b"time use")
        if error != 0:
            raise OSError(error, "no thread that looks what others do")
        self.running = True

    def stop(self):
        if self.running:
            self.running = False
            self.looking.stop.store(True, memory_order_release)
            self.looking.pause.wake_all()
            with nogil:
                self.looking.thread.join()

    def read(self):
        """Return the `TimeUse` since the start."""
        cdef vector[Found] found
        cdef uint64_t looks = self.looking.use.read(&found)
        cdef uint32_t i
        spent = {}
        for i in range(found.size()):
            spent.setdefault(found[i].thread, {})[meaning(found[i].word)] = found[i].looks
        threads = []
        for i in sorted(spent):
            ran_s, ready_s = system_times(self.plan.run.workers[i].thread.id())
            threads.append(
                ThreadTime(i, self.plan.layout.thread_name(i), spent[i], ran_s, ready_s)
            )
        return TimeUse((now_ns() - self.began_ns) / 1e9, tuple(threads), looks)

    def __dealloc__(self):
        self.stop()
        delete_array[Looking](self.looking)


def meaning(uint32_t word):
    """Return the activity and the operator's place that a thread's word says."""
    cdef uint32_t place = word & OF_OPERATOR
    return Activity(word >> ACTIVITY_SHIFT).name.lower(), place - 1 if place > 0 else None


def system_times(int thread):
    """Return the seconds for which a thread of this process has run, and for which it waited for a
    CPU; None where the system does not say.
    """
    with suppress(OSError, ValueError):
        with open(f"/proc/self/task/{thread}/schedstat", "rb") as file:
            ran_ns, ready_ns, _ = file.read().split()
        return int(ran_ns) / 1e9, int(ready_ns) / 1e9
    return None, None


cdef void* body(void* argument) noexcept nogil:
    cdef Looking* looking = <Looking*> argument
    cdef int64_t rest_ns = SHORTEST_REST_NS
    cdef int64_t begun_ns = cpu_ns(CLOCK_PROCESS_CPUTIME_ID)
    while not looking.stop.load(memory_order_acquire):
        looking.use.look(looking.run[0])
        if LEAST_PER_SAMPLING * cpu_ns(CLOCK_THREAD_CPUTIME_ID) > (
            cpu_ns(CLOCK_PROCESS_CPUTIME_ID) - begun_ns
        ):
            rest_ns = min(2 * rest_ns, <int64_t> LONGEST_REST_NS)
        else:
            rest_ns = max(rest_ns // 2, <int64_t> SHORTEST_REST_NS)
        looking.pause.sleep_for(rest_ns, looking.stop)
    looking.thread.finish()
    return NULL
