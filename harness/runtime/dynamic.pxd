# dynamic.pxd - scheduler threads; see dynamic.pyx.

from libc.stdint cimport uint32_t, uint64_t

from harness.runtime.native cimport Port, Target, Worker

cdef void* scheduler_body(void* argument) noexcept nogil
cdef uint64_t drain(Worker* worker, Port* port, uint64_t most, bint yielding) noexcept nogil
cdef void release(Worker* worker, Port* port) noexcept nogil
cdef void reschedule(Worker* worker, Port* port, uint32_t* round_) noexcept nogil
cdef void tuples_published(Worker* worker, Target* target) noexcept nogil
cdef void announce(Worker* worker) noexcept nogil
cdef void wait_a_little(Worker* worker, uint32_t* round_) noexcept nogil
