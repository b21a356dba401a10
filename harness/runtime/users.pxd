# users.pxd - functions of users in Python; see users.pyx.

from harness.runtime.native cimport PythonState, TypedState

cdef str failure_of(error, str when)
cdef void connect_python(PythonState* state, PythonCall owner) noexcept
cdef void connect_typed_python(TypedState* state, TypedCall owner) noexcept


cdef class PythonCall:
    cdef object function
    cdef str name
    cdef bint controlled
    cdef readonly str error
    cdef str failed  # replaces `error` if there is no memory for it


cdef class TypedCall:
    cdef readonly str name
    cdef object function, end, items
    cdef tuple takes, gives
    cdef public object error
    cdef object failed
