# modes.pxd - queues that come and go; see modes.pyx.

from libc.stdint cimport uint32_t

from harness.runtime.native cimport Port, Target, Tuple, Worker

cdef bint call_instead(Worker* worker, Target* target, Tuple* first, size_t spacing, uint32_t count, char* scratch) noexcept nogil
cdef void want(Port* port, bint called) noexcept nogil
