# pool.pxd - the level of scheduler threads; see pool.pyx.

from libc.stdint cimport uint32_t

from harness.runtime.native cimport Run, Worker
from harness.runtime.plan cimport Plan

cdef bint is_thread_of(Run* run) noexcept nogil
cdef uint32_t start_threads(Plan plan, uint32_t first, uint32_t count) except? 0


cdef class Pool:
    cdef Plan plan
    cdef object lock            # held by who changes the level
    cdef public bint closed     # the run ends, or its start is broken off
    cdef readonly int requested
    cdef readonly int created
    cdef int review_number
    cdef int extra              # threads that run in the stead of held ones
    cdef double reviewed_s
    # suspended threads: the number of the review before which they were asked to suspend
    cdef dict suspended_since
    cdef list born              # by thread: when it was made [ns]
    cdef list searches          # by thread: Worker::searches at the last review
    cdef set stubborn
    cdef Worker* worker(self, int thread)
