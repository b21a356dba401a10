# operators.pxd - the kernels of the operators; see operators.pyx.

from libc.stdint cimport uint64_t

from harness.runtime.native cimport Kernel, MarkKernel, SourceState, Tuple

cdef Kernel kernel_for(object operator) except? NULL
cdef MarkKernel mark_kernel_for(str kind) noexcept
cdef void make_tuple(SourceState* source, Tuple* tuple_, unsigned int payload) noexcept nogil


cdef class PythonCall:
    cdef object function
    cdef str name
    cdef bint controlled
    cdef readonly str error
