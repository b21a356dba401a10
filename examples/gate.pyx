from libc.stdint cimport int32_t, uint64_t

cdef struct Gate:
    double threshold
    uint64_t seen, kept

cdef api int32_t gate(
    uint64_t sequence, double* value, char* payload, uint64_t payload_bytes, double control, Gate* state
) noexcept nogil:
    state.seen += 1
    if control > 0:
        state.threshold = control
    if value[0] < 0:
        return -22
    if value[0] < state.threshold:
        return 0
    value[0] *= 2
    state.kept += 1
    return 1
