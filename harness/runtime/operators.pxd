# operators.pxd - the kernels of the operators; see operators.pyx.

from libc.stdint cimport int32_t, uint32_t
from libcpp cimport bool

from harness.runtime.native cimport Kernel, MarkKernel, Operator, SourceState, Tuple, Worker

cdef Kernel kernel_for(object operator) except? NULL
cdef MarkKernel mark_kernel_for(str kind) noexcept
cdef void make_tuple(SourceState* source, Tuple* tuple_, unsigned int payload) noexcept nogil
cdef int32_t sink(Operator* op, Worker* worker, Tuple* first, uint32_t count) noexcept nogil
cdef bool mark_sink(Operator* op, Worker* worker, Tuple* mark) noexcept nogil
cdef void pass_on(Operator* op, Worker* worker, Tuple* first, uint32_t count) noexcept nogil
