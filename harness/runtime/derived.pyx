# derived.pyx - contexts (native/contexts.hpp) and sizes of batches (native/sizes.hpp). Both follow
# from a layout and from the queues that are on, so they are computed again whenever a queue comes
# or goes. Both engines get theirs here; the caller deletes them.

from libc.stdint cimport uint32_t

from harness.runtime.native cimport NO_QUEUE, Contexts, Sizes

from harness.graph.kinds import SOURCE
from harness.models import Queue


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
        layout.stride, <uint32_t> len(layout.operators), <uint32_t> len(layout.queues)
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
