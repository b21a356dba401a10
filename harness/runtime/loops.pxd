# loops.pxd - operators with a loop of their own; see loops.pyx.

from harness.runtime.native cimport Operator
from harness.runtime.states cimport States

cdef void* loop_body(void* argument) noexcept nogil
cdef int make_loop(States states, Operator* op, object operator, object layout) except -1
