# users.pxd - operators whose logic is a user's; see users.pyx.

from libc.stdint cimport int32_t, uint32_t

from harness.runtime.native cimport Operator, Tuple, Worker

cdef int32_t native(Operator* op, Worker* worker, Tuple* first, uint32_t count) noexcept nogil
cdef int32_t python(Operator* op, Worker* worker, Tuple* first, uint32_t count) noexcept nogil

cdef double control_value(Operator* op) noexcept nogil
cdef void leave(Operator* op, Worker* worker, Tuple* first, uint32_t count) noexcept nogil


cdef str text_of(error)
cdef str failure_of(error, str when)
cdef void on_own_stack(Worker* worker, void (*function)(void*) noexcept nogil, void* argument) noexcept nogil


cdef class PythonCall:
    cdef object function
    cdef str name
    cdef bint controlled
    cdef readonly str error
    cdef str failed  # replaces `error` if there is no memory for it
