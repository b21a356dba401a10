# operators.pxd - the kernels of the operators; see operators.pyx.

from libc.stdint cimport uint32_t

from harness.runtime.native cimport Kernel, MarkKernel, Operator, SourceState, Tuple, Worker

cdef Kernel kernel_for(object operator) except? NULL
cdef MarkKernel mark_kernel_for(str kind) noexcept
cdef void make_tuple(SourceState* source, Tuple* tuple_, unsigned int payload) noexcept nogil
cdef void pass_on(Operator* op, Worker* worker, Tuple* first, uint32_t count) noexcept nogil
