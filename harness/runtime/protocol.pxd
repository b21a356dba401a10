# protocol.pxd - declares native/protocol.hpp, name for name.

from libc.stdint cimport int64_t, uint32_t, uint64_t
from libcpp cimport bool


cdef extern from "policies.hpp" namespace "millrace" nogil:
    cppclass Policy:
        const char* name
        const char* meaning
    const Policy* POLICY_TABLE "millrace::POLICIES"
    enum: POLICY_COUNT "millrace::POLICY_COUNT"


cdef extern from "protocol.hpp" namespace "millrace" nogil:
    cpdef enum: MAX_BATCH, BATCH_BYTES, BATCH_FLOP, CHEAP_BATCH, SLOW_BATCH, BATCHES_IN_SILENCE
    cpdef enum: DRAIN_FLOP, LEAST_RESCHEDULED
    cpdef enum: WARY, REST_NS
    cpdef enum: LIST_YIELDS, SPINS, YIELDS, SHORT_NAPS, NAPS, PATIENCE_NS, PATIENCE_LOOKS, WAKE_FLOP
    cpdef enum: WANTED_CALLED, NOW_CALLED, QUEUED, CLOSING, CALLED, OPENING
    cpdef enum: AWAKE, IDLE, SUSPENDED, BLOCKED
    uint32_t most_at_once "millrace::most_at_once"(size_t stride) noexcept
    uint32_t batch_for(double flop, uint32_t most) noexcept
    uint32_t drain_for(size_t capacity, double flop) noexcept
    uint64_t rescheduled(size_t capacity, uint64_t most) noexcept
    bool lingers(uint32_t& wary, bool had_tuples) noexcept
    bool passes(uint64_t mixed, uint64_t threshold) noexcept
