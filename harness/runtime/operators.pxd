# operators.pxd - the kernels of the operators; see operators.pyx.

from libc.stdint cimport uint64_t

from harness.runtime.native cimport Kernel, Operator, SourceState, Tuple

cdef Kernel kernel_for(str kind, unsigned int outputs) except *
cdef void make_tuple(SourceState* source, Tuple* tuple_, unsigned int payload) noexcept nogil
cdef double multiply(double value, double factor, unsigned int cost) noexcept nogil


cdef class PythonCall:
    cdef object function
    cdef str name
    cdef readonly str error
