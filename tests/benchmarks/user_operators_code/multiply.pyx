from libc.stdint cimport int32_t, uint64_t


cdef api int32_t multiply(
    uint64_t sequence, double* value, char* payload, uint64_t payload_bytes, double control, double* state
) noexcept nogil:
    value[0] *= state[0]
    return 1
