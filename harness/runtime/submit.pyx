# submit.pyx - the one path of a tuple to a port: call the operator, queue the tuple, or wait in the model's way and try again.
#
#   execute   hands tuples to an operator, and on through the operators that are called behind it, without recursion along a chain
#   deliver   one output port's tuples to all that subscribe to it
#   send      to one of them: into its queue, or by a call
#   take      what a port's consumer does with tuples at the front of its queue
#   close_operator, end_stream    final punctuation on its way (ENDS)
#
# Batches. A consumer hands an operator up to 32 tuples at once, which it works on where they lie, in the slots of its input queue; they are
# then copied to the next queue in one go and published once. ORDER holds because a batch is a run of the stream and is handled front to
# back. Nothing is held back: what a batch produced is published before the next batch is looked at.
#
# Nesting. A producer that finds a queue full may drain it (dynamic.pyx), and then comes here again for the next queue. Each level is
# further downstream, so levels are bounded by the longest path of the graph, and so is the stack (plan.pyx sizes it).

from libc.stdint cimport int32_t, uint32_t
from libc.string cimport memcpy
from libcpp.atomic cimport memory_order_acquire, memory_order_acq_rel, memory_order_relaxed, memory_order_release

from harness.runtime.native cimport DATA, Operator, Port, Route, Run, Target, Tuple, Worker, fingerprint, slot


cdef void execute(Worker* worker, Operator* op, Tuple* first, uint32_t count) noexcept nogil:
    """Hand `count` data tuples, `stride` apart, to `op`. They may be changed in place, and are not needed any more on return."""
    cdef int32_t route
    cdef uint32_t i
    while op.lock == NULL:
        op.processed.add(count)
        route = op.kernel(op, worker, first, count)
        if route < 0:
            return
        if op.next == NULL:
            deliver(worker, &op.routes[route], first, count)
            return
        if op.next_path_step != 0:
            for i in range(count):
                slot(first, worker.run.stride, i).path += op.next_path_step
        op = op.next
    # More than one thread can reach this operator (P17 s5.2). The lock is held until its tuples are in a queue or through the operators
    # called behind it: else two threads could overtake each other on the way there, against ORDER. Locks are taken in the direction
    # of the streams only, so nobody waits in a circle.
    op.lock.lock()
    op.processed.add(count)
    route = op.kernel(op, worker, first, count)
    if route >= 0:
        deliver(worker, &op.routes[route], first, count)
    op.lock.unlock()


cdef void deliver(Worker* worker, Route* route, Tuple* first, uint32_t count) noexcept nogil:
    """Send `count` tuples to every target of an output port."""
    cdef uint32_t i, called = 0
    cdef size_t bytes
    if route.count == 1:
        send(worker, route.targets, first, count)
        return
    for i in range(route.count):  # queues first: they copy the tuples before a called sibling may change them
        if route.targets[i].port != NULL:
            push(worker, &route.targets[i], first, count)
        else:
            called += 1
    bytes = count * worker.run.stride
    for i in range(route.count):
        if route.targets[i].port == NULL:
            called -= 1
            if called == 0:  # the last one may have the tuples themselves
                send(worker, &route.targets[i], first, count)
            else:
                memcpy(route.scratch, first, bytes)
                send(worker, &route.targets[i], <Tuple*> route.scratch, count)


cdef void send(Worker* worker, Target* target, Tuple* first, uint32_t count) noexcept nogil:
    """Send `count` tuples one way."""
    cdef uint32_t i
    if target.port != NULL:
        push(worker, target, first, count)
        return
    if target.path_step != 0:
        for i in range(count):
            slot(first, worker.run.stride, i).path += target.path_step
    execute(worker, target.op, first, count)


cdef void push(Worker* worker, Target* target, Tuple* first, uint32_t count) noexcept nogil:
    """Copy `count` tuples into a port's queue; a full queue is back-pressure (BOUND)."""
    cdef Run* run = worker.run
    cdef Port* port = target.port
    cdef size_t pushed
    cdef bint waited = False
    while True:
        # Where the plan has proved one producer the flag is left alone, and a push needs no read-modify-write.
        if not port.shared or port.producing.try_lock():
            pushed = port.ring.push(first, count, target.path_step)
            if pushed > 0:
                port.pushes.add(1)
                if waited:
                    port.blocked.add(1)
                    waited = False
            if port.shared:
                port.producing.unlock()
            if pushed > 0:
                if run.published != NULL:
                    run.published(worker, target)
                count -= <uint32_t> pushed
                if count == 0:
                    return
                first = slot(first, run.stride, pushed)
        if worker.stop.load(memory_order_acquire):
            give_up(worker, port, first, count)
            return
        waited = True
        run.wait_for_space(worker, port)


cdef void give_up(Worker* worker, Port* port, Tuple* first, uint32_t count) noexcept nogil:
    """The run was cut short while a producer was blocked: its tuples are dropped, and accounted for (ONCE)."""
    cdef uint32_t i, data = 0
    cdef Tuple* tuple_
    for i in range(count):
        tuple_ = slot(first, worker.run.stride, i)
        if tuple_.kind == DATA:
            data += 1
            worker.given_up_fingerprints += fingerprint(tuple_.sequence) * port.op.copies
    port.given_up.fetch_add(data, memory_order_relaxed)


cdef void take(Worker* worker, Port* port, Tuple* first, uint32_t count) noexcept nogil:
    """Execute the port's operator on `count` queued tuples. The caller is the port's only consumer at this time (ALONE)."""
    cdef uint32_t i, start = 0
    cdef size_t stride = worker.run.stride
    for i in range(count):
        if slot(first, stride, i).kind != DATA:
            if i > start:
                execute(worker, port.op, slot(first, stride, start), i - start)
            start = i + 1
            port.open_streams -= 1
            end_stream(worker, port.op)
    if count > start:
        execute(worker, port.op, slot(first, stride, start), count - start)


cdef void end_stream(Worker* worker, Operator* op) noexcept nogil:
    """One stream into `op` has ended; the last one closes it."""
    cdef bint last
    if op.lock != NULL:
        op.lock.lock()
    op.open_streams -= 1
    last = op.open_streams == 0
    if op.lock != NULL:
        op.lock.unlock()
    if last:
        close_operator(worker, op)


cdef void close_operator(Worker* worker, Operator* op) noexcept nogil:
    """Send final punctuation on every stream out of `op`; the last operator to close ends the run (ENDS)."""
    cdef Run* run = worker.run
    cdef Target* target
    cdef uint32_t route, i
    cdef bint last
    while True:
        for route in range(op.outputs):
            if op.next == NULL:
                for i in range(op.routes[route].count):
                    target = &op.routes[route].targets[i]
                    if target.port != NULL:
                        push(worker, target, run.final_punctuation, 1)
                    else:
                        end_stream(worker, target.op)
        if run.open_operators.fetch_sub(1, memory_order_acq_rel) == 1:
            end_run(run)
        if op.next == NULL:
            return
        op = op.next  # a chain of calls is walked, not climbed: 10,000 operators deep must not need 10,000 frames
        if op.lock != NULL:
            op.lock.lock()
        op.open_streams -= 1
        last = op.open_streams == 0
        if op.lock != NULL:
            op.lock.unlock()
        if not last:
            return


cdef void end_run(Run* run) noexcept nogil:
    """Tell every thread that the run is over, each by its own flag (P17 s4.1.2), and wake those that sleep."""
    cdef uint32_t i
    run.over.store(True, memory_order_release)
    for i in range(run.worker_count):
        run.workers[i].stop.store(True, memory_order_release)
    for i in range(run.port_count):
        if run.ports[i].arrivals != NULL:
            run.ports[i].arrivals.wake_all()
            run.ports[i].room.wake_all()
    run.idle.wake_all()
    run.nap.wake_all()
    run.ended.wake_all()
