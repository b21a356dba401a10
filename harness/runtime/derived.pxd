# derived.pxd - what follows from a layout and from the queues that are on; see derived.pyx.

from libc.stdint cimport int64_t, uint32_t

from harness.runtime.native cimport (
    BurstState,
    Chosen,
    Contexts,
    MergeState,
    SinkState,
    Sizes,
    SourceState,
)

# memory of an engine, zeroed, which lives as long as `owner`
ctypedef char* (*Block)(void* owner, size_t bytes) except NULL

cdef Contexts* contexts_of(object layout) except? NULL
cdef Sizes* sizes_of(object layout) except NULL

cdef Chosen* chosen_of(object operator, uint32_t index, Block block, void* owner) except? NULL
cdef int fill_source(
    SourceState* state, object operator, object limit, size_t slot_bytes, size_t stride,
    int64_t tick, Block block, void* owner
) except -1
cdef int fill_sink(SinkState* state, uint32_t paths, Block block, void* owner) except -1
cdef int fill_merge(
    MergeState* state, size_t slots, size_t marks, size_t stride, Block block, void* owner
) except -1
cdef int fill_bursts(BurstState* state, object operator, Block block, void* owner) except -1
