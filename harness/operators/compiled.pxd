# compiled.pxd - objects of native/operator.hpp for Python; see compiled.pyx.

from libc.stdint cimport int32_t, uint32_t, uint64_t


cdef extern from "operator.hpp" namespace "millrace::operators" nogil:
    cdef cppclass Left:
        pass
    cdef cppclass Operator:
        uint64_t counted(uint32_t) noexcept
        uint64_t left_out(Left) noexcept
    cdef cppclass Collect(Operator):
        Collect(size_t bytes, uint64_t most) except +
        const char* data() noexcept
        size_t size() noexcept


cdef class Compiled:
    cdef Operator* operator
    cdef object owners
    cdef Compiled own(self, Operator* operator, object owners)
