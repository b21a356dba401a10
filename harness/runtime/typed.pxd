# typed.pxd - operators on tuples with attributes; see typed.pyx.

from libc.stdint cimport int32_t, uint32_t

from harness.runtime.native cimport Operator, Tuple, TypedState, Worker
from harness.runtime.states cimport States


cdef int32_t typed(Operator* op, Worker* worker, Tuple* first, uint32_t count) noexcept nogil
cdef void* typed_source_body(void* argument) noexcept nogil
cdef void take(TypedState* state, Tuple* tuple_) noexcept nogil
cdef bint deliver_all(TypedState* state) noexcept nogil
cdef void finish(Worker* worker, Operator* op) noexcept nogil
cdef int make_typed(States states, Operator* op, object operator, object layout) except -1


cdef class TypedCall:
    cdef readonly str name
    cdef object function, end, items
    cdef tuple takes, gives
    cdef public object error
    cdef object failed
