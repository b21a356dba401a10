# dynamic.pxd - scheduler threads that execute any port; see dynamic.pyx.

from harness.runtime.native cimport Port, Target, Worker

cdef void* scheduler_body(void* argument) noexcept nogil
cdef void reschedule(Worker* worker, Port* port) noexcept nogil
cdef void tuples_published(Worker* worker, Target* target) noexcept nogil
