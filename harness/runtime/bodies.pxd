# bodies.pxd - how threads begin; see bodies.pyx.

from libc.stdint cimport uint32_t

from harness.runtime.native cimport Run
from harness.runtime.plan cimport Plan

cdef bint is_thread_of(Run* run) noexcept nogil
cdef uint32_t start_threads(Plan plan, uint32_t first, uint32_t count) except? 0
