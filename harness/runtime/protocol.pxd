# protocol.pxd - declares native/protocol.hpp, name for name.

from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from libcpp cimport bool


cdef extern from "millrace.h" nogil:
    struct SeenPort "millrace_port":
        uint64_t queued, room
        double per_s
    struct Seen "millrace_ready":
        uint32_t index, source, batch, inputs, outputs
        const SeenPort* input_ends "input"
        const SeenPort* output_ends "output"
        int64_t scheduled_ns, enqueued_ns, born_ns, ran_ns, quantum_ns
        uint64_t queued, room, queued_behind
        double reads_per_s, writes_per_s, gain_per_s, waits_for_all

cdef extern from "policies.hpp" namespace "millrace" nogil:
    ctypedef double (*Score)(const Seen* seen, void* state) noexcept nogil
    ctypedef void (*Judge)(
        const Seen* seen, size_t count, double* scores, void* state
    ) noexcept nogil
    ctypedef int32_t (*Preempts)(const Seen* running, void* state) noexcept nogil
    cppclass Policy:
        const char* name
        const char* meaning
        Score score
        uint32_t looks
        Judge judge
        Preempts preempts
        void* preempts_state
        void* state
    struct UsersScore:
        Score score
        void* state
    void judge_each(const Seen* seen, size_t count, double* scores, void* users) noexcept nogil
    enum: ALL_LOOKS "millrace::ALL_LOOKS"
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
