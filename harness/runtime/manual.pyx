# manual.pyx - a source's own thread: makes tuples and submits them. Under the manual model there is
# nothing else: everything downstream of the source is executed by calls from here (P17 s2.2). The
# other models give sources the same thread; it ends at the first queue. The coroutine model makes a
# co-routine of it.
#
# A source submits up to 32 tuples at once, fewer where the region that it calls is expensive
# (native/sizes.hpp), and checks once a batch if it has to end.

from libc.stdint cimport uint32_t, uint64_t
from libcpp.atomic cimport memory_order_acquire, memory_order_relaxed

from harness.runtime.coroutine cimport check_for_preemption
from harness.runtime.dynamic cimport announce
from harness.runtime.native cimport WINDOW, Operator, Run, SourceState, Tuple, Worker, now_ns, slot
from harness.runtime.operators cimport make_tuple
from harness.runtime.pacing cimport due
from harness.runtime.protocol cimport BATCHES_IN_SILENCE
from harness.runtime.submit cimport close_operator, deliver, hand_over, pass_mark


cdef void* source_body(void* argument) noexcept nogil:
    cdef Worker* worker = <Worker*> argument
    cdef Run* run = worker.run
    cdef Operator* op = worker.op
    cdef SourceState* source = <SourceState*> op.own
    cdef Tuple* tuple_
    cdef uint64_t most
    cdef uint32_t i, count, batches = 0
    while not (run.finishing.load(memory_order_relaxed) or worker.stop.load(memory_order_acquire)):
        most = min(<uint64_t> source.batch.load(memory_order_relaxed), source.limit - source.sent)
        if source.window > 0:
            most = min(most, source.window - source.sent % source.window)
        if most == 0:
            break
        if source.paces != NULL:
            count = due(worker, source, <uint32_t> most)
            if count == 0:
                continue
        else:
            count = <uint32_t> most
            for i in range(1, count):
                slot(source.buffer, run.stride, i).born_ns = 0
            # one clock reading a batch: its first tuple is the sample
            source.buffer.born_ns = now_ns()
        worker.born_ns = source.buffer.born_ns
        worker.at.store(op.index + 1, memory_order_relaxed)
        tuple_ = source.buffer
        for _ in range(count):
            make_tuple(source, tuple_, run.payload)
            tuple_ = slot(tuple_, run.stride, 1)
        op.processed.add(count)
        worker.taken += count
        deliver(worker, op.routes, source.buffer, count)
        batches += 1
        # its tuples may all have gone to other threads than those that still wait to be woken
        if batches % BATCHES_IN_SILENCE == 0:
            hand_over(worker)
        elif count < source.room:  # a slow region
            announce(worker)
        if source.window > 0 and source.sent % source.window == 0:
            send_window(worker, op, source)
        if worker.resumed:
            check_for_preemption(worker)
    close_operator(worker, op)
    hand_over(worker)
    worker.at.store(0, memory_order_relaxed)
    if not worker.resumed:
        worker.thread.finish()
    return NULL


cdef void send_window(Worker* worker, Operator* op, SourceState* source) noexcept nogil:
    cdef Tuple* mark = source.buffer
    source.windows += 1
    mark.sequence = source.sent
    mark.path = 0
    mark.order = 0
    mark.value = 0.0
    mark.kind = WINDOW
    pass_mark(worker, op, mark)
