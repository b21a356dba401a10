# compiled.pxd - objects of native/operator.hpp for Python; see compiled.pyx.

from libc.stdint cimport int32_t, uint32_t, uint64_t
from libcpp cimport bool
from libcpp.string cimport string
from libcpp.string_view cimport string_view


cdef extern from "operator.hpp" namespace "millrace::operators" nogil:
    cdef cppclass Left:
        pass
    cdef struct Example:
        uint64_t number
        string content
    cdef cppclass Pieces:
        bool put(string_view, double seconds) except +
        void end() except +
    cdef cppclass Retained:
        void set_records(uint64_t) noexcept
    cdef cppclass Operator:
        Pieces* pieces() noexcept
        Retained* retained() noexcept
        uint64_t counted(uint32_t) noexcept
        uint64_t left_out(Left) noexcept
        const Example* example(Left) noexcept
        void send_late(uint32_t) noexcept
    cdef cppclass Collect(Operator):
        Collect(size_t bytes, uint64_t most) except +
        const char* data() noexcept
        size_t size() noexcept


cdef class Compiled:
    cdef Operator* operator
    cdef object owners
    cdef public object takes  # schema of its tuples, for examples of those that it leaves out
    cdef public object noted  # what else it has left out: numbers by name, or None
    cdef public object results  # of a sink: the schema of its results; None: that of its tuples
    cdef Compiled own(self, Operator* operator, object owners)
