"""The numbers on which both engines and the tests have to agree, for Python: those of
native/protocol.hpp, which explains each.
"""

cimport harness.runtime.native as native

cdef extern from *:
    """
    #if defined(__clang__)
    #define MILLRACE_COMPILER "clang " __clang_version__
    #elif defined(__GNUC__)
    #define MILLRACE_COMPILER "gcc " __VERSION__
    #else
    #define MILLRACE_COMPILER "unknown"
    #endif
    """
    const char* MILLRACE_COMPILER
    const char* MILLRACE_FLAGS


def slot_stride(payload):
    """Return the bytes from a slot to the next, for tuples with `payload` bytes of payload."""
    return native.slot_stride(payload)


def latency_bounds_ns():
    """The largest duration [ns] that each bucket of `Sample.latency_counts` holds."""
    return [native.Histogram.upper_bound(bucket) for bucket in range(native.BUCKETS)]


def build_info():
    """Return the compiler and the flags of the engines: {"compiler": …, "flags": …}."""
    return {"compiler": MILLRACE_COMPILER.decode(), "flags": MILLRACE_FLAGS.decode()}


POLICIES = {
    POLICY_TABLE[i].name.decode(): POLICY_TABLE[i].meaning.decode() for i in range(POLICY_COUNT)
}
"""The scheduling policies of co-routines, name and meaning: those of native/policies.hpp."""
