# dedicated.pxd - threaded ports; see dedicated.pyx.

from libc.stdint cimport uint32_t

from harness.runtime.native cimport Port, Target, Worker

cdef void* port_body(void* argument) noexcept nogil
cdef void wait_for_room(Worker* worker, Port* port, uint32_t* round_) noexcept nogil
cdef void tuples_published(Worker* worker, Target* target) noexcept nogil
cdef void wake_owed(Worker* worker) noexcept nogil
