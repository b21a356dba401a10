# states.pxd - what each kind of operator keeps; see states.pyx.

from libc.stdint cimport uint64_t

from harness.runtime.native cimport BarrierState, Operator, TypedState


cdef class States:
    cdef size_t stride
    cdef list regions            # (address, size) of memory from the system
    cdef char* free              # of the last one, what is not in a block
    cdef size_t left             # bytes of it
    cdef list made               # (kind, address)
    cdef readonly list calls     # PythonCall objects, kept alive
    cdef list natives            # NativeFunction objects, kept alive
    cdef char* block(self, size_t size) except NULL
    cdef int give(
        self, Operator* op, object operator, object limit, object paths, bint changed, size_t slots,
        size_t marks
    ) except -1
    cdef void* _source(self, operator, limit) except NULL
    cdef void* _sink(self, paths, bint changed) except NULL
    cdef void* _merge(self, size_t slots, size_t marks) except NULL
    cdef BarrierState* barrier(self, Operator* op, place, strides, bint changed) except NULL
    cdef int columns(self, BarrierState* state, typed) except -1
    cdef int by(self, TypedState* state, schema, names) except -1
    cdef void* _split(self, uint64_t keys) except NULL
    cdef void* _balance(self, operator) except NULL
    cdef void* _bursts(self, operator) except NULL
    cdef void* _native(self, operator) except NULL


cdef int make_typed(States states, Operator* op, object operator, object layout) except -1
cdef int make_loop(
    States states, Operator* op, object operator, object layout, object limit
) except -1
cdef int make_for_replicas(
    States states, Operator* op, Operator* first, object operator, object layout
) except -1
