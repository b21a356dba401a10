# pacing.pxd - when a source sends; see pacing.pyx.

from libc.stdint cimport int64_t, uint32_t

from harness.runtime.native cimport SourceState, Worker

cdef uint32_t due(Worker* worker, SourceState* source, uint32_t most) noexcept nogil
cdef void sleep_until(Worker* worker, int64_t time_ns, int64_t now) noexcept nogil
