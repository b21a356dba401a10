# profiler.pxd - which operators cost how much; see profiler.pyx.

from libc.stdint cimport int64_t, uint32_t
from libcpp cimport bool
from libcpp.atomic cimport atomic

from harness.runtime.native cimport Counter, Parking, Run, Thread

cdef extern from *:
    """
    struct Sampling {
      millrace::Run* run;
      millrace::Counter* counts[2];  // by window and operator: how often a thread was seen in it
      std::atomic<uint32_t> older;   // the window that is read
      int64_t period_ns, half_ns;
      std::atomic<bool> stop;
      millrace::Parking pause;
      millrace::Thread thread;
    };
    """
    cdef cppclass Sampling:
        Run* run
        Counter* counts[2]
        atomic[uint32_t] older
        int64_t period_ns
        int64_t half_ns
        atomic[bool] stop
        Parking pause
        Thread thread


cdef class Profiler:
    cdef Sampling* sampling
    cdef object plan
    cdef bint running
