# manual.pyx - a source's own thread: makes tuples and submits them. Under the manual model that is all there is: everything downstream of
# the source is executed by calls from here (P17 s2.2). The other models give sources the same thread; it ends at the first queue.
#
# The source checks once a batch whether it shall end, and once a tuple where a tuple may take long (manual).

from libc.stdint cimport uint32_t, uint64_t
from libcpp.atomic cimport memory_order_acquire, memory_order_relaxed

from harness.runtime.native cimport Operator, Run, SourceState, Worker, now_ns, slot
from harness.runtime.operators cimport make_tuple
from harness.runtime.submit cimport close_operator, deliver


cdef void* source_body(void* argument) noexcept nogil:
    cdef Worker* worker = <Worker*> argument
    cdef Run* run = worker.run
    cdef Operator* op = worker.op
    cdef SourceState* source = <SourceState*> op.own
    cdef uint32_t i, count
    while not shall_end(worker):
        count = <uint32_t> min(<uint64_t> source.batch, source.limit - source.sent)
        if count == 0:
            break
        if run.one_at_a_time:
            each_to_its_end(worker, source, count)
        else:
            for i in range(count):
                make_tuple(source, slot(source.buffer, run.stride, i), run.payload)
                slot(source.buffer, run.stride, i).born_ns = 0
            source.buffer.born_ns = now_ns()  # one clock reading a batch: its first tuple is the sample
            op.processed.add(count)
            deliver(worker, op.routes, source.buffer, count)
    close_operator(worker, op)
    if run.flush != NULL:
        run.flush(worker)
    worker.thread.finish()
    return NULL


cdef void each_to_its_end(Worker* worker, SourceState* source, uint32_t count) noexcept nogil:
    cdef uint32_t i
    for i in range(count):
        make_tuple(source, source.buffer, worker.run.payload)
        source.buffer.born_ns = now_ns() if i == 0 else 0
        worker.op.processed.add(1)
        deliver(worker, worker.op.routes, source.buffer, 1)
        if shall_end(worker):
            return


cdef inline bint shall_end(Worker* worker) noexcept nogil:
    return worker.run.finishing.load(memory_order_relaxed) or worker.stop.load(memory_order_acquire)
