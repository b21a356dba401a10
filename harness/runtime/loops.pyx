# loops.pyx - operators with a loop of their own, which ask for the tuples that they need (C-Stream
# s2.3, Algorithms 1 to 3).
#
#   loop_body   a co-routine: the operator's function, then the end of its streams, then what it has
#               left at its input ports
#   wait        waits until enough tuples are there; it keeps the thread if they are there already
#   pop, push   of one tuple each. Pushed ones are collected, and those of all output ports are sent
#               together: when those of one port are a batch, before the co-routine stops for
#               anything, and when they are due (native/coarse_clock.hpp)
#
# A compiled function runs on the co-routine's stack, so it may wait wherever it is.
# python_loops.pyx has those in Python.
#
# The oracle. It cannot know which tuples a loop makes of those it takes. So a tuple ends where it
# is popped, checked as at a sink, and a pushed tuple begins there: each output port numbers its
# tuples and fills their payloads as a source does, and the tuples that arrive behind it are
# compared with that (ONCE, ORDER). Typed tuples are checked and sealed as everywhere (typed.pyx).
# Tuples that a loop leaves behind when it returns end there too, once its streams have.
#
# A loop may return when a wait has said that it is over, or when the run is. Else it would silently
# drop the tuples still to come.

from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from libc.stdio cimport snprintf
from libc.string cimport memcpy
from libcpp.atomic cimport memory_order_acq_rel, memory_order_acquire, memory_order_relaxed, memory_order_release

from harness.runtime.coroutine cimport born_ns_of, check_for_preemption, need, tuples_taken, wait_for
from harness.runtime.native cimport (
    DATA,
    WINDOW,
    LoopFunction,
    LoopInput,
    LoopOutput,
    LoopState,
    Operator,
    Run,
    SinkState,
    Target,
    Tuple,
    TypedState,
    Worker,
    batch_is_due,
    enter_pushed,
    enter_typed,
    fingerprint,
    make_array,
    millrace_context,
    millrace_loop,
    millrace_tuple,
    payload_of,
    set_problem,
)
from harness.runtime.operators cimport mark_sink, sink
from harness.runtime.protocol cimport most_at_once
from harness.runtime.python_loops cimport call_of, run_python
from harness.runtime.states cimport States
from harness.runtime.submit cimport begin, close_operator, end, end_run, hand_over
from harness.runtime.typed cimport deliver_all as deliver_typed
from harness.runtime.typed cimport take as take_typed
from harness.runtime.users cimport control_value


# -- a loop's calls --------------------------------------------------------------------------------


cdef bint stopped(LoopState* state) noexcept nogil:
    return state.worker.stop.load(memory_order_acquire)


cdef bint has(LoopInput* from_, uint32_t count) noexcept nogil:
    """Return True if `count` tuples wait. It reads the queue, whose line a sender writes to, only
    if it has not seen as many before.
    """
    return from_.looked >= from_.place() + from_.marks + count or from_.at_hand() >= count


cdef int32_t verdict_on(LoopState* state, bint any_) noexcept nogil:
    """Return DONE if the tuples that `counts` ask for are there, OVER if they never will be, or
    BLOCKED.
    """
    cdef uint32_t i, count
    cdef LoopInput* from_
    cdef bint later = False
    for i in range(state.context.inputs):
        count = state.counts[i]
        if count == 0:
            continue
        from_ = &state.inputs[i]
        if has(from_, count):
            if any_:
                return DONE
        elif not from_.ended():
            later = True
        elif not any_:
            return OVER
    if later:
        return BLOCKED
    return OVER if any_ else DONE


cdef int32_t wait(LoopState* state, bint any_) noexcept nogil:
    """On the co-routine's stack."""
    cdef Worker* worker = state.worker
    cdef LoopInput* from_
    cdef uint32_t i, count
    cdef int32_t verdict
    while True:
        if stopped(state):
            return OVER
        verdict = verdict_on(state, any_)
        if verdict != BLOCKED:
            break
        if deliver_all(state):
            continue
        for i in range(state.context.inputs):
            from_ = &state.inputs[i]
            give_back(state, from_)
            count = state.counts[i]
            if count > 0 and any_ and from_.ended():
                count = 0
            elif count > 0:
                if count + from_.marks > from_.port.ring.capacity():
                    compact(state, from_)
                count += from_.marks
            need(worker, i, count)
        wait_for(worker, any_)
    waited(state, verdict)
    return verdict


cdef void waited(LoopState* state, int32_t verdict) noexcept nogil:
    state.born_ns = 0
    if verdict == OVER:
        state.over = True


cdef void give_back(LoopState* state, LoopInput* from_) noexcept nogil:
    """The slots of what was popped."""
    if from_.popped > 0:
        release(state, from_, from_.popped)
        from_.popped = 0


cdef void release(LoopState* state, LoopInput* from_, uint32_t count) noexcept nogil:
    from_.port.ring.release(count)
    tuples_taken(state.worker.run, from_.port)
    if from_.port.room != NULL:
        from_.port.room.wake_one()


cdef void compact(LoopState* state, LoopInput* from_) noexcept nogil:
    """Make room if the tuples that it waits for do not fit beside the punctuations. Their place
    among the tuples is then not checked.
    """
    cdef uint32_t count, first
    cdef uint64_t capacity = from_.port.ring.capacity()
    cdef Tuple* front
    # so that the ring has seen all that it has looked at, and lets go of it
    from_.port.ring.front(capacity, &front)
    count = from_.compact((<SinkState*> state.op.own).windows)
    first = <uint32_t> min(<uint64_t> count, capacity - from_.port.ring.head().load(memory_order_relaxed) % capacity)
    if first > 0:
        release(state, from_, first)
    if count > first:
        release(state, from_, count - first)


cdef Tuple* pop(LoopState* state, LoopInput* from_) noexcept nogil:
    """Return the next tuple, which stays in place until the next pop or wait; null if there is
    none. Punctuations before it end here.
    """
    cdef Operator* op = state.op
    cdef Tuple* tuple_
    while True:
        if from_.popped >= from_.port.batch.load(memory_order_relaxed) or from_.at_end():
            give_back(state, from_)
        tuple_ = from_.next()
        if tuple_ == NULL:
            return NULL
        if tuple_.kind == DATA:
            break
        if tuple_.kind == WINDOW:
            mark_sink(op, state.worker, tuple_)
    if from_.port.stamps != NULL:
        state.worker.born_ns = born_ns_of(from_.port, from_.place() - 1)
    if from_.taken_out != NULL:  # the queue is shorter than a batch
        memcpy(from_.taken_out, tuple_, from_.port.ring.stride())
        tuple_ = from_.taken_out
        give_back(state, from_)
    op.processed.add(1)
    state.worker.taken += 1
    if tuple_.born_ns != 0 and (state.born_ns == 0 or tuple_.born_ns < state.born_ns):
        state.born_ns = tuple_.born_ns
    from_.sequence = tuple_.sequence
    if op.typed != NULL:
        take_typed(op.typed, tuple_)
    else:
        sink(op, state.worker, tuple_, 1)
    return tuple_


cdef uint32_t filled(LoopState* state, uint32_t output) noexcept nogil:
    """Tuples pushed to an output port and not yet sent."""
    return state.outputs[output].filled if state.op.typed == NULL else state.op.typed.outgoing[output].filled


cdef bint enter(LoopState* state, uint32_t output) noexcept nogil:
    """Complete the typed tuple in the room of an output port. Returns True if the port's slots are
    full.
    """
    return enter_typed(state.op.typed, output, state.born_ns, state.outputs[output].most)


cdef bint deliver_all(LoopState* state) noexcept nogil:
    """Sends what was pushed, on the co-routine's stack; whether there was anything."""
    cdef Worker* worker = state.worker
    cdef Target* before = worker.begun
    cdef uint32_t output
    cdef bint some = False
    worker.collects = False
    if state.op.typed != NULL:
        some = deliver_typed(state.op.typed)
    else:
        for output in range(state.context.outputs):
            if state.outputs[output].filled > 0:
                begin_port(state, output)
                some = True
        end(worker, before)
    if some:
        hand_over(worker)  # its function may take long now
        worker.at.store(state.op.index + 1, memory_order_relaxed)
    return some


cdef void begin_port(LoopState* state, uint32_t output) noexcept nogil:
    cdef LoopOutput* out = &state.outputs[output]
    cdef Operator* op = state.op
    cdef Worker* worker = state.worker
    cdef uint32_t i, count = out.filled
    out.filled = 0
    # cut short: what came before may have been given up, so this is not sent
    if worker.run.over.load(memory_order_acquire):
        worker.run.gave_up.store(True, memory_order_relaxed)
        return
    for i in range(count):
        out.fingerprints += fingerprint(out.sent + i)
    out.sent += count
    op.routes[output].sent.add(count)
    op.emitted.add(count)
    begin(worker, &op.routes[output], out.slots, worker.run.stride, count)


cdef void let_go(LoopState* state) noexcept nogil:
    """Send the pushed tuples, and give back all slots but that of the last popped tuple, before the
    co-routine stops for anything.
    """
    cdef LoopInput* from_
    cdef uint32_t i
    for i in range(state.context.inputs):
        from_ = &state.inputs[i]
        if from_.popped > 1:
            release(state, from_, from_.popped - 1)
            from_.popped = 1
    if state.running:
        deliver_all(state)


cdef void fail(LoopState* state) noexcept nogil:
    state.worker.run.failed.store(True, memory_order_release)
    end_run(state.worker.run)


# -- the co-routine --------------------------------------------------------------------------------


cdef void* loop_body(void* argument) noexcept nogil:
    cdef Worker* worker = <Worker*> argument
    cdef LoopState* state = worker.op.loop
    cdef uint32_t i
    begin_to_end(worker, state)
    for i in range(state.context.inputs):
        give_back(state, &state.inputs[i])
    worker.at.store(0, memory_order_relaxed)
    return NULL


cdef void begin_to_end(Worker* worker, LoopState* state) noexcept nogil:
    cdef Run* run = worker.run
    cdef Operator* op = worker.op
    state.worker = worker
    if op.typed != NULL:
        op.typed.worker = worker
    worker.at.store(op.index + 1, memory_order_relaxed)
    state.running = True
    if state.python != NULL:
        run_python(state)
    else:
        state.answer = state.run(&state.context, state.state)
        if state.answer < 0:
            fail(state)
    state.running = False
    if not state.over and not stopped(state):
        check_end(state)
    if stopped(state):
        deliver_all(state)  # gives it up
        return
    # its streams end here; it has ended when those into it have
    run.open_operators.fetch_add(1, memory_order_acq_rel)
    deliver_all(state)
    close_operator(worker, op)
    worker.at.store(op.index + 1, memory_order_relaxed)
    absorb(state)
    if run.open_operators.fetch_sub(1, memory_order_acq_rel) == 1:
        end_run(run)


cdef void check_end(LoopState* state) noexcept nogil:
    cdef uint32_t i
    cdef LoopInput* from_
    cdef uint64_t waiting
    cdef char[200] text
    for i in range(state.context.inputs):
        from_ = &state.inputs[i]
        waiting = from_.at_hand()
        if waiting == 0 and from_.ended():
            continue
        snprintf(
            text, sizeof(text), "returned, though %llu tuples wait at input port %u%s: it must go on until a wait says that it is over",
            <unsigned long long> waiting, i, b"" if from_.ended() else b" and more may come",
        )
        set_problem(state, text)
        fail(state)
        return


cdef void absorb(LoopState* state) noexcept nogil:
    """Take the tuples that still come after the function has returned."""
    cdef uint32_t i, open_
    cdef LoopInput* from_
    while not stopped(state):
        open_ = 0
        for i in range(state.context.inputs):
            from_ = &state.inputs[i]
            while pop(state, from_) != NULL:
                pass
            give_back(state, from_)
            need(state.worker, i, 0 if from_.ended() else 1)
            open_ += not from_.ended()
        if open_ == 0:
            return
        wait_for(state.worker, True)


# -- compiled --------------------------------------------------------------------------------------


cdef int32_t refuse(LoopState* state, const char* text) noexcept nogil:
    set_problem(state, text)
    fail(state)
    return ERROR


cdef bint lacks(LoopState* state, uint32_t port, uint32_t count, const char* call, const char* kind) noexcept nogil:
    """Return True if a call is refused: there is no such port, or the function has returned."""
    cdef char[200] text
    if not state.running:
        snprintf(text, sizeof(text), "%s: its run has returned", call)
    elif port >= count:
        snprintf(text, sizeof(text), "%s: %s port must be from 0 to %d, not %u", call, kind, <int> count - 1, port)
    else:
        return False
    refuse(state, text)
    return True


cdef int32_t asked(millrace_loop* context, const uint32_t* counts, bint any_, const char* call) noexcept nogil:
    cdef LoopState* state = <LoopState*> context
    cdef uint32_t i
    cdef bint some = False
    cdef int32_t verdict
    cdef char[200] text
    if lacks(state, 0, 1, call, b""):
        return ERROR
    for i in range(context.inputs):
        some = some or counts[i] > 0
        if counts[i] > state.inputs[i].port.ring.capacity():
            snprintf(
                text, sizeof(text), "%s: count must be at most %llu, the capacity of the queue before input port %u, not %u",
                call, <unsigned long long> state.inputs[i].port.ring.capacity(), i, counts[i],
            )
            return refuse(state, text)
        state.counts[i] = counts[i]
    if not some:
        snprintf(text, sizeof(text), "%s: counts must be above 0 for one port at least", call)
        return refuse(state, text)
    verdict = wait(state, any_)
    if batch_is_due(state.worker):
        deliver_all(state)
    check_for_preemption(state.worker)
    return verdict


cdef int32_t c_wait_all(millrace_loop* context, const uint32_t* counts) noexcept nogil:
    return asked(context, counts, False, b"wait_all")


cdef int32_t c_wait_any(millrace_loop* context, const uint32_t* counts) noexcept nogil:
    return asked(context, counts, True, b"wait_any")


cdef int64_t c_waiting(millrace_loop* context, uint32_t port) noexcept nogil:
    cdef LoopState* state = <LoopState*> context
    if lacks(state, port, context.inputs, b"waiting", b"input"):
        return ERROR
    return state.inputs[port].at_hand()


cdef int32_t c_pop(millrace_loop* context, uint32_t port, millrace_tuple* popped) noexcept nogil:
    cdef LoopState* state = <LoopState*> context
    cdef Tuple* tuple_
    if lacks(state, port, context.inputs, b"pop", b"input"):
        return ERROR
    if stopped(state):
        return OVER
    tuple_ = pop(state, &state.inputs[port])
    if tuple_ == NULL:
        return 0
    popped.sequence = tuple_.sequence
    popped.value = tuple_.value if state.op.typed == NULL else 0.0
    popped.payload = payload_of(tuple_)
    return 1


cdef int32_t c_push(millrace_loop* context, uint32_t port, double value) noexcept nogil:
    cdef LoopState* state = <LoopState*> context
    cdef LoopOutput* out = &state.outputs[port]
    if lacks(state, port, context.outputs, b"push", b"output"):
        return ERROR
    if stopped(state):
        state.worker.run.gave_up.store(True, memory_order_relaxed)
        return OVER
    if state.op.typed != NULL:
        return refuse(state, b"push: its streams have schemas: write the tuple into millrace_room, and call millrace_send")
    enter_pushed(state, port, value)
    if out.filled == out.most or batch_is_due(state.worker):
        deliver_all(state)
        check_for_preemption(state.worker)
    return 1


cdef void c_send(millrace_context* context, uint32_t output) noexcept nogil:
    """Send the typed tuple that the function has written."""
    cdef LoopState* state = (<TypedState*> context).op.loop
    if lacks(state, output, state.context.outputs, b"send", b"output"):
        return
    if stopped(state):
        state.worker.run.gave_up.store(True, memory_order_relaxed)
    elif enter(state, output) or batch_is_due(state.worker):
        deliver_all(state)
        check_for_preemption(state.worker)


cdef int32_t c_stopping(millrace_loop* context) noexcept nogil:
    return stopped(<LoopState*> context)


cdef double c_control(millrace_loop* context) noexcept nogil:
    return control_value((<LoopState*> context).op)


# -- before the run --------------------------------------------------------------------------------


cdef int make_loop(States states, Operator* op, object operator, object layout) except -1:
    """Make the state of a loop operator, once it has that of a sink, and of a typed operator if it
    is one.
    """
    cdef LoopState* state = make_array[LoopState](1)
    cdef LoopOutput* out
    cdef uint32_t i
    op.loop = state
    states.made.append(("loop state", <size_t> state))
    state.op = op
    if operator.native is not None:
        state.run = <LoopFunction> <size_t> operator.native.address
        state.state = <void*> <size_t> operator.native.state
        states.natives.append(operator.native)
    else:
        called = call_of(operator)
        states.calls.append(called)
        state.python = <void*> called
    state.context.inputs, state.context.outputs = operator.inputs, operator.outputs
    if op.typed != NULL:
        op.typed.context.send = c_send
        state.context.context = &op.typed.context
    else:
        state.context.payload_bytes = layout.payload
    state.context.wait_all, state.context.wait_any = c_wait_all, c_wait_any
    state.context.waiting, state.context.stopping = c_waiting, c_stopping
    state.context.pop, state.context.push = c_pop, c_push
    state.context.control = c_control
    state.counts = <uint32_t*> states.block(operator.inputs * sizeof(uint32_t))
    state.inputs = <LoopInput*> states.block(operator.inputs * sizeof(LoopInput))
    state.outputs = <LoopOutput*> states.block(operator.outputs * sizeof(LoopOutput))
    for i in range(op.outputs):
        out = &state.outputs[i]
        if op.typed != NULL:
            out.most = op.typed.outgoing[i].most
            continue
        out.most = min(most_at_once(layout.stride), layout.room_behind[op.index][i])
        out.slots = <Tuple*> states.block(out.most * layout.stride)
        copies = [layout.copies[layout.ways[way].target] for way in layout.outgoing[op.index][i]]
        out.copies = 0 if None in copies else sum(copies)
    return 0
