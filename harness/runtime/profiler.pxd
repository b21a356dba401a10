# profiler.pxd - which operators cost how much; see profiler.pyx.

from libc.stdint cimport int64_t
from libcpp cimport bool
from libcpp.atomic cimport atomic

from harness.runtime.native cimport Parking, Run, Thread, Windows

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
        atomic[bool] stop
        Parking pause
        Thread thread


cdef class Profiler:
    cdef Sampling* sampling
    cdef object plan
    cdef bint running
