# One tuple from each of two input ports makes one: their sum (C-Stream, Listing 2).
from libc.stdint cimport int32_t, uint32_t

cdef extern from "millrace.h" nogil:
    ctypedef struct millrace_tuple:
        double value
    ctypedef struct millrace_loop:
        int32_t (*wait_all)(millrace_loop*, const uint32_t*) noexcept nogil
        int32_t (*pop)(millrace_loop*, uint32_t, millrace_tuple*) noexcept nogil
        int32_t (*push)(millrace_loop*, uint32_t, double) noexcept nogil

cdef api int32_t barrier(millrace_loop* loop, void* state) noexcept nogil:
    cdef uint32_t[2] counts = [1, 1]
    cdef millrace_tuple left, right
    while loop.wait_all(loop, counts) > 0:
        loop.pop(loop, 0, &left)
        loop.pop(loop, 1, &right)
        loop.push(loop, 0, left.value + right.value)
    return 0
