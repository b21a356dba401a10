# The operator with the longest input queue goes on next, but none that has less than half a batch;
# sources go on where nothing else can.
from libc.stdint cimport uint32_t, uint64_t

cdef extern from "millrace.h" nogil:
    ctypedef struct millrace_ready:
        uint32_t source, batch
        uint64_t queued

cdef api double long_queues(const millrace_ready* ready, void* state) noexcept nogil:
    if ready.source or 2 * ready.queued < ready.batch:
        return -1
    return ready.queued
