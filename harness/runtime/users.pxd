# users.pxd - functions of users in Python; see users.pyx.

from harness.runtime.native cimport PythonState, TypedState

cdef str failure_of(error, str when)
cdef void connect_python(PythonState* state, PythonCall owner) noexcept
cdef void connect_typed_python(TypedState* state, TypedCall owner) noexcept


cdef class UsersCode:
    cdef str what        # what it is, and its name
    cdef str first       # error, None: there was none
    cdef str unspoken    # replaces it if there is no memory for it
    cdef void describe(self, str kind, str name)
    cdef bint fails(self) noexcept
    cdef bint has_failed(self) noexcept
    cdef void say(self, str error) noexcept


cdef class PythonCall(UsersCode):
    cdef object function
    cdef bint controlled


cdef class TypedCall(UsersCode):
    cdef object function, end, items
    cdef tuple takes, gives
