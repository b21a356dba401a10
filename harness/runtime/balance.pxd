# balance.pxd - tuples shared out among buffers; see balance.pyx.

from libc.stdint cimport int32_t, uint32_t

from harness.runtime.native cimport BalanceState, Operator, Tuple, Worker

cdef int32_t balance(Operator* op, Worker* worker, Tuple* first, uint32_t count) noexcept nogil
cdef void set_active(BalanceState* state, uint32_t active) noexcept nogil
