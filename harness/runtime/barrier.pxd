# barrier.pxd - a tuple of each input for one that goes on; see barrier.pyx.

from libc.stdint cimport int32_t, uint32_t
from libcpp cimport bool

from harness.runtime.native cimport Operator, Tuple, Worker

cdef int32_t barrier(Operator* op, Worker* worker, Tuple* first, uint32_t count) noexcept nogil
cdef uint32_t room_of_input(Operator* op, uint32_t input_) noexcept nogil
cdef bool mark_barrier(Operator* op, Worker* worker, Tuple* mark) noexcept nogil
cdef void input_ended(Operator* op, Worker* worker) noexcept nogil
