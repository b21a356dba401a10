# loops.pxd - operators with a loop of their own; see loops.pyx.

from libc.stdint cimport int32_t, uint32_t

from harness.runtime.native cimport LoopInput, LoopState, Operator, Tuple
from harness.runtime.states cimport States

cdef enum:
    OVER = 0
    DONE = 1
    BLOCKED = 2
    ERROR = -1

cdef void* loop_body(void* argument) noexcept nogil
cdef int make_loop(States states, Operator* op, object operator, object layout) except -1
cdef bint stopped(LoopState* state) noexcept nogil
cdef bint has(LoopInput* from_, uint32_t count) noexcept nogil
cdef int32_t verdict_on(LoopState* state, bint any_) noexcept nogil
cdef int32_t wait(LoopState* state, bint any_) noexcept nogil
cdef void waited(LoopState* state, int32_t verdict) noexcept nogil
cdef void give_back(LoopState* state, LoopInput* from_) noexcept nogil
cdef Tuple* pop(LoopState* state, LoopInput* from_) noexcept nogil
cdef uint32_t filled(LoopState* state, uint32_t output) noexcept nogil
cdef bint enter(LoopState* state, uint32_t output) noexcept nogil
cdef bint deliver_all(LoopState* state) noexcept nogil
cdef void let_go(LoopState* state) noexcept nogil
cdef void fail(LoopState* state) noexcept nogil
