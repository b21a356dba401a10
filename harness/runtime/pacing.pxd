# pacing.pxd - when a source sends; see pacing.pyx.

from libc.stdint cimport uint32_t

from harness.runtime.native cimport SourceState, Worker

cdef uint32_t due(Worker* worker, SourceState* source, uint32_t most) noexcept nogil
