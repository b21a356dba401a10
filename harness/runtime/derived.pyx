# derived.pyx - what both engines make of a layout in the same way.
#
# Contexts (native/contexts.hpp) and sizes of batches (native/sizes.hpp) follow from the queues that
# are on, so they are computed again whenever a queue comes or goes; the caller deletes them. States
# of operators (native/state.hpp) are filled here, in memory that the engine gives.

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

from harness.runtime.native cimport (
    NO_QUEUE,
    BurstState,
    Chosen,
    Contexts,
    MergeState,
    Pace,
    SinkState,
    Sizes,
    SourceState,
    Tuple,
)
from harness.runtime.protocol cimport most_at_once

from harness.graph.kinds import SOURCE
from harness.models import Queue
from harness.models.layout import chosen_by, ends_of, paces_of


cdef Contexts* contexts_of(object layout) except? NULL:
    """NULL: no port is fed from more than one context, whatever queues are on."""
    cdef uint32_t index
    cdef Contexts* contexts
    if not layout.divided:
        return NULL
    contexts = new Contexts(<uint32_t> len(layout.operators), <uint32_t> len(layout.queues))
    for index in layout.order:
        contexts.add_operator(index)
    for way in layout.ways:
        contexts.add_stream(
            way.source, way.target, NO_QUEUE if way.queue is None else <uint32_t> way.queue
        )
    for index, queue in enumerate(layout.queues):
        if queue.on:
            contexts.begin_on(index)
    contexts.settle()
    return contexts


cdef Sizes* sizes_of(object layout) except NULL:
    cdef uint32_t index
    cdef Sizes* sizes = new Sizes(
        layout.stride, layout.at_once, <uint32_t> len(layout.operators),
        <uint32_t> len(layout.queues),
    )
    for index in layout.order:
        operator = layout.operators[index]
        sizes.add_operator(
            index, layout.flop[index], operator.outputs, operator.kind is SOURCE,
            operator.kind.balances,
        )
    for way in layout.ways:
        sizes.add_way(
            way.source, way.target, NO_QUEUE if way.queue is None else <uint32_t> way.queue
        )
    for index, queue in enumerate(layout.queues):
        sizes.add_queue(
            index, queue.operator, queue.capacity, queue.kind in (Queue.THREADED, Queue.RESUMED)
        )
    return sizes


# -- states of operators ---------------------------------------------------------------------------


cdef Chosen* chosen_of(object operator, uint32_t index, Block block, void* owner) except? NULL:
    """Return the rule by which an operator passes tuples on; NULL: it passes all."""
    cdef Chosen* chosen
    choice = chosen_by(operator, index)
    if choice is None:
        return NULL
    chosen = <Chosen*> block(owner, sizeof(Chosen))
    chosen.seed, chosen.threshold = choice
    return chosen


cdef int fill_source(
    SourceState* state, object operator, object limit, size_t slot_bytes, size_t stride,
    int64_t tick, Block block, void* owner
) except -1:
    """Fill the state of a source that sends at most `limit` tuples, None: no bound. Its batches are
    for slots of so many bytes, and lie `stride` apart. `tick`: of its clock, in a nanosecond.
    """
    state.limit = <uint64_t> -1 if limit is None else limit
    state.window = operator.window
    state.room = most_at_once(slot_bytes)
    state.buffer = <Tuple*> block(owner, state.room * stride)
    paces = paces_of(operator)
    if paces:
        state.paces = <Pace*> block(owner, len(paces) * sizeof(Pace))
        state.pace_count = <uint32_t> len(paces)
        for i, (length_ns, gap_ns) in enumerate(paces):
            state.paces[i].length = length_ns * tick
            state.paces[i].gap = gap_ns * tick
    return 0


cdef int fill_sink(SinkState* state, uint32_t paths, Block block, void* owner) except -1:
    """Fill the state of a sink to which so many paths lead; 0: their order is not checked."""
    state.paths = paths
    if paths > 0:
        state.next_of_path = <uint64_t*> block(owner, paths * sizeof(uint64_t))
    return 0


cdef int fill_merge(
    MergeState* state, size_t slots, size_t marks, size_t stride, Block block, void* owner
) except -1:
    """Fill the state of a merge with so many slots, a power of two, and punctuations."""
    state.mask = slots - 1
    state.slots = block(owner, slots * stride + marks * sizeof(Tuple))
    state.waiting.init(state.slots + slots * stride, marks, sizeof(Tuple))
    state.present = <uint8_t*> block(owner, slots)
    state.mark = <Tuple*> block(owner, stride)
    return 0


cdef int fill_bursts(BurstState* state, object operator, Block block, void* owner) except -1:
    """Fill the state of an operator whose cost comes in bursts."""
    ends = ends_of(operator)
    state.count = <uint32_t> len(ends)
    state.ends = <uint64_t*> block(owner, state.count * sizeof(uint64_t))
    state.costs = <uint32_t*> block(owner, state.count * sizeof(uint32_t))
    for i, (end, cost) in enumerate(ends):
        state.ends[i] = end
        state.costs[i] = cost
    return 0
