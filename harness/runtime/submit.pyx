# submit.pyx - the one path of a tuple to a port: call the operator, queue the tuple, or wait in the
# way of the queue's kind and try again.
#
#   execute   hands tuples to an operator, and on through the operators that are called behind it,
#             without recursion along a chain
#   deliver   one output port's tuples to all that subscribe to it
#   send      to one of them: into its queue, or by a call
#   begin, end    several such deliveries at once, of which none waits while another one could go on
#   take      what a port's consumer does with tuples at the front of its queue
#   pass_mark, receive_mark       window punctuation on its way
#   close_operator, end_stream    final punctuation on its way (ENDS)
#
# Batches. A consumer hands an operator up to 32 tuples at once, which it works on where they lie,
# in the slots of its input queue; they are then copied to the next queue in one go and published
# once. ORDER holds because a batch is a run of the stream and is handled front to back. Nothing is
# held back: the tuples that a batch produced are published before the next batch is taken.
#
# Nesting. A producer that finds a queue full may drain it (dynamic.pyx), and then comes here again
# for the next queue. Each level is further downstream, so levels are bounded by the longest path of
# the graph, and so is the stack (plan.pyx sizes it). Control ports, where cycles close, are leaves:
# tuples that arrive there go no further.

from libc.stdint cimport int32_t, uint32_t
from libc.string cimport memcpy
from libcpp.atomic cimport memory_order_acq_rel, memory_order_acquire, memory_order_relaxed, memory_order_release

from harness.runtime cimport coroutine, dedicated, dynamic, modes, typed
from harness.runtime.native cimport (
    DATA,
    FINAL,
    WINDOW,
    Operator,
    Port,
    Route,
    Run,
    Target,
    Tuple,
    Worker,
    fingerprint,
    mutex,
    slot,
)
from harness.runtime.protocol cimport AWAKE, BLOCKED, NOW_CALLED, QUEUED


cdef void execute(Worker* worker, Operator* op, Tuple* first, uint32_t count) noexcept nogil:
    """Hand `count` data tuples, `stride` apart, to `op`. They may be changed in place, and are not
    needed any more on return.
    """
    cdef int32_t route
    cdef uint32_t i
    cdef Operator* next_
    while op.lock == NULL:
        worker.at.store(op.index + 1, memory_order_relaxed)
        op.processed.add(count)
        route = op.kernel(op, worker, first, count)
        if route < 0:
            return
        next_ = op.next.load(memory_order_relaxed)
        if next_ == NULL:
            deliver(worker, &op.routes[route], first, count)
            return
        if op.next_path_step != 0:
            for i in range(count):
                slot(first, worker.run.stride, i).path += op.next_path_step
        op = next_
    # More than one thread can reach this operator (P17 s5.2). The lock is held until its tuples are
    # in a queue or through the operators called behind it: else two threads could overtake each
    # other on the way there, against ORDER. Locks are taken in the direction of the streams only,
    # so no threads wait for each other in a circle.
    acquire(worker, op.lock)
    worker.at.store(op.index + 1, memory_order_relaxed)
    op.processed.add(count)
    route = op.kernel(op, worker, first, count)
    if route >= 0:
        deliver(worker, &op.routes[route], first, count)
    op.lock.unlock()


cdef void hand_over(Worker* worker) noexcept nogil:
    """Wake the threads that this one still owes a wake-up, before it waits or enters users' code:
    its tuples must not wait for it.
    """
    if worker.owed_count > 0:
        dedicated.wake_owed(worker)
    if worker.run.ready != NULL:
        dynamic.announce(worker)
        worker.run.ready.wake_one()


cdef void acquire(Worker* worker, mutex* lock) noexcept nogil:
    if lock.try_lock():
        return
    cdef uint32_t at = worker.at.load(memory_order_relaxed)
    hand_over(worker)
    worker.at.store(0, memory_order_relaxed)  # no operator costs what waiting takes
    worker.rest.store(BLOCKED, memory_order_relaxed)
    worker.idle.start()
    lock.lock()
    worker.idle.stop()
    worker.rest.store(AWAKE, memory_order_relaxed)
    worker.at.store(at, memory_order_relaxed)


cdef void deliver(Worker* worker, Route* route, Tuple* first, uint32_t count) noexcept nogil:
    """Send `count` tuples to every target of an output port. A replica may have to hold them back
    until its turn comes.
    """
    if worker.replica and not coroutine.is_first(worker):
        hold_back(worker, first, count)
    else:
        deliver_now(worker, route, first, count)


cdef void hold_back(Worker* worker, Tuple* first, uint32_t count) noexcept nogil:
    """Hold back what a replica sends that is not the first: it goes downstream after all tuples
    that others send before. Its targets have queues.
    """
    cdef uint32_t i, held = coroutine.send_in_turn(worker, first, count)
    if held < count:
        for i in range(worker.op.routes[0].count):
            give_up(worker, worker.op.routes[0].targets[i].port, slot(first, worker.run.stride, held), worker.run.stride, count - held)


cdef void send_held(Worker* worker, Tuple* first, uint32_t count) noexcept nogil:
    """Send tuples or a punctuation that were held back; any replica whose turn it is may do so."""
    if first.kind == DATA:
        deliver_now(worker, worker.op.routes, first, count)
    else:
        pass_mark_now(worker, worker.op, first)


cdef void deliver_now(Worker* worker, Route* route, Tuple* first, uint32_t count) noexcept nogil:
    """Push to targets with queues first, because a call may take long. The last called target works
    in place; others get copies.
    """
    cdef uint32_t i, called = 0
    cdef Target* target = worker.begun
    if route.count == 1:
        send(worker, route.targets, first, route.stride, count, NULL)
        return
    if worker.run.coroutines != NULL:
        begin(worker, route, first, route.stride, count)
        end(worker, target)
        return
    for i in range(route.count):
        target = &route.targets[i]
        target.early = target.port != NULL and target.port.mode.load(memory_order_relaxed) == QUEUED
        if target.early:
            send(worker, target, first, route.stride, count, route.scratch)
        else:
            called += 1
    if called > 0 and worker.run.ready != NULL:
        dynamic.announce(worker)
    for i in range(route.count):
        target = &route.targets[i]
        if not target.early:
            called -= 1
            send(worker, target, first, route.stride, count, route.scratch if called > 0 else NULL)


cdef void deliver_every(Worker* worker, Route* route, Tuple* first, uint32_t count, uint32_t every) noexcept nogil:
    """Deliver `count` tuples, every `every`th in the slots."""
    cdef uint32_t i
    if every == 1 or route.count > 1:
        for i in range(count):
            deliver(worker, route, slot(first, worker.run.stride, i * every), 1)
    else:
        send(worker, route.targets, first, worker.run.stride * every, count, NULL)


cdef void send(Worker* worker, Target* target, Tuple* first, size_t spacing, uint32_t count, char* scratch) noexcept nogil:
    """Send `count` tuples, `spacing` bytes apart, one way. With `scratch` they are still needed, so
    that a called operator gets copies.
    """
    if target.port == NULL or (target.direct.load(memory_order_relaxed) and first.kind == DATA):
        call(worker, target, first, spacing, count, scratch)
    else:
        push(worker, target, first, spacing, count, scratch)


cdef void call(Worker* worker, Target* target, Tuple* first, size_t spacing, uint32_t count, char* scratch) noexcept nogil:
    """Execute the target's operator. Other targets never see its changes: if some are still to be
    served it works on copies.
    """
    cdef size_t stride = target.stride
    cdef uint32_t i, at_once = count if spacing == stride else 1
    cdef uint32_t begin = 0
    cdef Tuple* batch
    while begin < count:
        batch = slot(first, spacing, begin)
        if scratch != NULL:
            memcpy(scratch, batch, at_once * stride)
            batch = <Tuple*> scratch
        if target.path_step != 0:
            for i in range(at_once):
                slot(batch, stride, i).path += target.path_step
        worker.input = target.input
        execute(worker, target.op, batch, at_once)
        begin += at_once


cdef void push(Worker* worker, Target* target, Tuple* first, size_t spacing, uint32_t count, char* scratch) noexcept nogil:
    """Copy `count` tuples into a port's queue; a full queue is back-pressure (BOUND). Or call, if
    the queue is switched off.
    """
    cdef Port* port = target.port
    cdef Target* before
    cdef uint32_t pushed, round_ = 0
    cdef bint waited = False
    while True:
        if port.mode.load(memory_order_acquire) != QUEUED and modes.call_instead(worker, target, first, spacing, count, scratch):
            return
        pushed = put(worker, target, first, spacing, count, waited)
        if pushed == count:
            return
        if pushed > 0:
            waited = False
            round_ = 0
            count -= pushed
            first = slot(first, spacing, pushed)
        elif port.mode.load(memory_order_acquire) & NOW_CALLED:
            continue  # the queue was switched off while this thread waited for its turn
        if worker.stop.load(memory_order_acquire):
            give_up(worker, port, first, spacing, count)
            return
        if worker.run.coroutines != NULL:
            before = worker.begun
            put_off(worker, target, first, spacing, count)
            end(worker, before)
            return
        waited = True
        port.discipline.wait_for_room(worker, port, &round_)


cdef uint32_t put(Worker* worker, Target* target, Tuple* first, size_t spacing, uint32_t count, bint waited) noexcept nogil:
    """Copy tuples, or a punctuation, into the target's queue as far as there is room. Returns their
    number. `waited`: the queue was full before.
    """
    cdef Port* port = target.port
    cdef size_t pushed
    # Where the plan has proved one producer the flag is left alone, and a push needs no
    # read-modify-write.
    if port.shared:
        if not port.producing.try_lock():
            return 0
        if port.mode.load(memory_order_acquire) & NOW_CALLED:
            port.producing.unlock()
            return 0
    if first.kind != DATA:
        port.marks.add(1)  # seen with the tuple: edge PUBLISH of the ring
    if port.stamps != NULL:
        coroutine.stamp(worker, port, count)
    pushed = port.ring.push(first, count, spacing, target.path_step)
    if first.kind != DATA:
        if pushed == 0:
            port.marks.add(-1)
        elif first.kind == FINAL:
            # ENDED: a thread that reads 0 sees all tuples that came
            port.unended.fetch_sub(1, memory_order_release)
    if pushed > 0:
        port.pushes.add(1)
        worker.pushed += pushed
        if waited:
            port.blocked.add(1)
    if port.shared:
        # no wake-up is needed: a thread that finds it taken tries again by itself
        port.producing.unlock()
    if pushed > 0:
        port.discipline.published(worker, target)
    return <uint32_t> pushed


# -- several deliveries at once --------------------------------------------------------------------
#
# An operator of the coroutine model may wait for tuples of one port while its queue before another
# one is full (loops.pyx). The worker that fills that queue may also hold the tuples that the
# operator waits for. So a worker never waits while it keeps a tuple for which there is room: all
# deliveries that it has begun are in one list (Worker::begun), and it waits for room at any of the
# queues in that list. Then a graph that ends when each tuple is sent by itself ends with batches
# too: at each moment a sender has sent as much as it would have then.
#
# Called targets are in the list as well, and are called before the worker waits. No operator is
# called twice at a time by that, since in this model only one stream leads to an operator that is
# called (models). The stack has room for all of them (plan.pyx).


cdef void begin(Worker* worker, Route* route, Tuple* first, size_t spacing, uint32_t count) noexcept nogil:
    """Send to all targets of an output port as far as there is room, `end` sends the rest. Under
    other models: send all.
    """
    cdef uint32_t i
    if worker.run.coroutines == NULL:
        deliver(worker, route, first, count)
        return
    for i in range(route.count):
        begin_way(worker, &route.targets[i], first, spacing, count)


cdef void begin_way(Worker* worker, Target* target, Tuple* first, size_t spacing, uint32_t count) noexcept nogil:
    cdef uint32_t handed = 0
    if target.port != NULL:
        handed = put(worker, target, first, spacing, count, False)
    if handed < count:
        put_off(worker, target, slot(first, spacing, handed), spacing, count - handed)


cdef void put_off(Worker* worker, Target* target, Tuple* first, size_t spacing, uint32_t count) noexcept nogil:
    target.rest, target.spacing, target.left = first, spacing, count
    target.below = worker.begun
    worker.begun = target


cdef bint hand_on(Worker* worker) noexcept nogil:
    """Send what was begun as far as there is room; whether there was some."""
    cdef Target* target = worker.begun
    cdef uint32_t handed
    cdef bint some = False
    while target != NULL:
        if target.left > 0 and target.port == NULL:
            call_rest(worker, target)
            some = True
        elif target.left > 0:
            handed = put(worker, target, target.rest, target.spacing, target.left, True)
            target.rest = slot(target.rest, target.spacing, handed)
            target.left -= handed
            some = some or handed > 0
        target = target.below
    return some


cdef void call_rest(Worker* worker, Target* target) noexcept nogil:
    cdef uint32_t count = target.left
    target.left = 0
    if target.rest.kind == FINAL:
        worker.input = target.input
        end_stream(worker, target.op)
    else:
        call(worker, target, target.rest, target.spacing, count, target.scratch)


cdef void end(Worker* worker, Target* before) noexcept nogil:
    """Wait until all is sent that was begun since `before` was the last one, or give it up with the
    run.
    """
    cdef Target* target
    cdef uint32_t round_ = 0
    while worker.begun != before:
        target = worker.begun
        if target.left == 0:
            worker.begun = target.below
        elif worker.stop.load(memory_order_acquire):
            if target.port == NULL:
                call_rest(worker, target)
            else:
                give_up(worker, target.port, target.rest, target.spacing, target.left)
                target.left = 0
        elif hand_on(worker):
            round_ = 0
        else:
            coroutine.wait_for_room_of_any(worker, &round_)


cdef void give_up(Worker* worker, Port* port, Tuple* first, size_t spacing, uint32_t count) noexcept nogil:
    """Drop the tuples of a producer that was blocked when the run was cut short, and account for
    them (ONCE).
    """
    cdef uint32_t i, data = 0
    cdef Tuple* tuple_
    for i in range(count):
        tuple_ = slot(first, spacing, i)
        if tuple_.kind == DATA:
            data += 1
            worker.given_up_fingerprints += fingerprint(tuple_.sequence) * port.op.copies
    port.given_up.fetch_add(data, memory_order_relaxed)
    worker.run.gave_up.store(True, memory_order_relaxed)


cdef void take(Worker* worker, Port* port, Tuple* first, uint32_t count) noexcept nogil:
    """Execute the port's operator on `count` queued tuples. The caller is the port's consumer at
    this time (ALONE).
    """
    cdef uint32_t i, start = 0
    cdef size_t stride = port.ring.stride()
    worker.input = port.input
    if port.marks.read() == port.marks_taken:
        execute(worker, port.op, first, count)
        return
    for i in range(count):
        if slot(first, stride, i).kind != DATA:
            if i > start:
                worker.input = port.input
                execute(worker, port.op, slot(first, stride, start), i - start)
            start = i + 1
            port.marks_taken += 1
            take_mark(worker, port, slot(first, stride, i))
    if count > start:
        worker.input = port.input
        execute(worker, port.op, slot(first, stride, start), count - start)


cdef void take_mark(Worker* worker, Port* port, Tuple* mark) noexcept nogil:
    """A punctuation at a port, from its queue or by a call."""
    worker.input = port.input
    if mark.kind == WINDOW:
        receive_mark(worker, port.op, mark)
    else:
        port.open_streams -= 1
        end_stream(worker, port.op)


# -- window punctuation ----------------------------------------------------------------------------


cdef void pass_mark(Worker* worker, Operator* op, Tuple* mark) noexcept nogil:
    """Send a window punctuation on every stream out of `op`; the caller is alone with `op`. `mark`
    is as before on return.
    """
    if worker.replica and not coroutine.is_first(worker):
        hold_back(worker, mark, 1)
    else:
        pass_mark_now(worker, op, mark)


cdef void pass_mark_now(Worker* worker, Operator* op, Tuple* mark) noexcept nogil:
    cdef uint32_t route, i, path = mark.path, order = mark.order
    cdef double value = mark.value
    cdef Target* target = worker.begun
    cdef bint begins = worker.run.coroutines != NULL
    if begins:
        for route in range(op.outputs):
            for i in range(op.routes[route].count):
                if op.routes[route].targets[i].port != NULL:
                    begin_way(worker, &op.routes[route].targets[i], mark, worker.run.stride, 1)
        end(worker, target)
    for route in range(op.outputs):
        for i in range(op.routes[route].count):
            target = &op.routes[route].targets[i]
            if target.port != NULL:
                if begins:
                    continue
                push(worker, target, mark, worker.run.stride, 1, NULL)
            else:
                mark.path += target.path_step
                worker.input = target.input
                receive_mark(worker, target.op, mark)
            mark.path, mark.order, mark.value = path, order, value


cdef void receive_mark(Worker* worker, Operator* op, Tuple* mark) noexcept nogil:
    """Receive a window punctuation. It keeps its place in the stream, because the same thread has
    just delivered the tuples before it.
    """
    if op.lock != NULL:
        acquire(worker, op.lock)
    if op.mark == NULL or op.mark(op, worker, mark):
        pass_mark(worker, op, mark)
    if op.lock != NULL:
        op.lock.unlock()


# -- final punctuation -----------------------------------------------------------------------------


cdef void end_stream(Worker* worker, Operator* op) noexcept nogil:
    """One stream into `op` has ended; the last one closes it."""
    if last_stream(worker, op):
        close_operator(worker, op)


cdef bint last_stream(Worker* worker, Operator* op) noexcept nogil:
    cdef bint last
    if op.lock != NULL:
        acquire(worker, op.lock)
    op.open_streams -= 1
    last = op.open_streams == 0
    if op.stream_ended != NULL:
        op.stream_ended(op, worker)
    if op.lock != NULL:
        op.lock.unlock()
    return last


cdef void send_final(Worker* worker, Operator* op) noexcept nogil:
    """Send final punctuation on every stream out of `op`."""
    cdef uint32_t route, i
    cdef Target* target = worker.begun
    if worker.run.coroutines != NULL:
        for route in range(op.outputs):
            begin(worker, &op.routes[route], worker.run.final_punctuation, worker.run.stride, 1)
        end(worker, target)
        return
    for route in range(op.outputs):
        for i in range(op.routes[route].count):
            target = &op.routes[route].targets[i]
            if target.port != NULL:
                push(worker, target, worker.run.final_punctuation, worker.run.stride, 1, NULL)
            else:
                worker.input = target.input
                end_stream(worker, target.op)


cdef void close_operator(Worker* worker, Operator* op) noexcept nogil:
    """Send final punctuation to all targets, if it has not been sent; the last operator to close
    ends the run (ENDS).
    """
    cdef Run* run = worker.run
    cdef Target* target
    while True:
        if op.typed != NULL:
            typed.finish(worker, op)
        target = NULL
        if op.outputs == 1 and op.routes[0].count == 1 and op.routes[0].targets.port == NULL and not op.ended:
            target = op.routes[0].targets
        elif not op.ended:
            send_final(worker, op)
        if run.open_operators.fetch_sub(1, memory_order_acq_rel) == 1:
            end_run(run)
        if target == NULL:
            return
        worker.input = target.input
        if not last_stream(worker, target.op):
            return
        # a chain of calls is walked, not climbed: 10,000 operators deep must not need 10,000 frames
        op = target.op


cdef void end_run(Run* run) noexcept nogil:
    """Tell every thread that the run is over, each by its own flag (P17 s4.1.2), and wake those
    that sleep.
    """
    cdef uint32_t i
    run.over.store(True, memory_order_release)
    for i in range(run.worker_count):
        run.workers[i].stop.store(True, memory_order_release)
        run.workers[i].pause.wake_all()
    for i in range(run.port_count):
        if run.ports[i].arrivals != NULL:
            run.ports[i].arrivals.wake_all()
        if run.ports[i].room != NULL:
            run.ports[i].room.wake_all()
    if run.coroutines != NULL:
        for i in range(run.co_worker_count):
            run.co_workers[i].stop.store(True, memory_order_release)
        coroutine.end_coroutines(run)
    if run.ready != NULL:
        run.ready.wake_all()
    run.ended.wake_all()
