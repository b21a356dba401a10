# typed.pyx - operators whose tuples have attributes, and that send none, one or many for each that
# they get, on any output port.
#
# Tuples that such an operator sends are collected in slots of each output port. All are delivered
# when those of one port are full, when they are due (native/coarse_clock.hpp), and when the
# operator is done with its batch: then nothing is held back. A delivery in the middle of a call
# waits where a queue is full, as any other does, and so holds up the function that sends (BOUND).
# The slots are the operator's, which is executed by one thread at a time (ALONE), and that thread
# does not come back to it from a delivery, which leads downstream only.
#
# Once a run is cut short nothing more is sent: a sender that found a queue full may have given up
# earlier tuples, and a receiver must not see a gap. The thread that gave up had seen Worker::stop,
# before which Run::over was written, and the thread that executes the operator after it sees both
# (edge HANDOVER, or the operator's lock).
#
# A compiled function runs on the stack of the co-routine, if it is one, since it waits where it
# sends; the stack is as large as a thread's. A callable runs on that of the thread, as the
# interpreter requires: its tuples are taken from it one by one, and sent when it has returned.
#
# As other functions of users (users.pyx) they may take long, so before a call this thread hands on
# the tuples that others could wait for. Tuples sent are counted by output port, numbered and
# sealed, and checked where they arrive (native/typed.hpp).

from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from libc.string cimport memcpy
from libcpp.atomic cimport memory_order_acquire, memory_order_relaxed, memory_order_release

from harness.graph.kinds import LOOP
from harness.runtime.coroutine cimport check_for_preemption
from harness.runtime.dynamic cimport announce
from harness.runtime.native cimport (
    HANDLED,
    MILLRACE_IDLE,
    MILLRACE_MORE,
    Incoming,
    Operator,
    Outgoing,
    ProcessFunction,
    Run,
    SinkState,
    SourceState,
    StepFunction,
    Target,
    Tuple,
    TypedState,
    Worker,
    batch_is_due,
    check,
    enter,
    make_array,
    millrace_context,
    now_ns,
    payload_of,
    port_seed,
    rewind,
    slot,
)
from harness.runtime.pacing cimport sleep_until
from harness.runtime.protocol cimport BATCHES_IN_SILENCE, most_at_once
from harness.runtime.states cimport States
from harness.runtime.submit cimport begin, close_operator, end, end_run, hand_over
from harness.runtime.users cimport on_own_stack, text_of, failure_of

from harness.errors import RunFailed
from harness.models.layout import incoming_of


cdef enum:
    # after which a source that had nothing is asked again; twice as long each time, up to
    IDLE_NS = 50_000
    LONGEST_IDLE_NS = 10_000_000  # (ASLEEP)


cdef int32_t typed(Operator* op, Worker* worker, Tuple* first, uint32_t count) noexcept nogil:
    """Call the function once a tuple. The tuples that a Python callable sends for one go on before
    the next call, which may take long.
    """
    cdef TypedState* state = op.typed
    cdef size_t stride = state.incoming[first.path].stride
    cdef uint32_t i
    cdef int32_t answer
    cdef bint in_python = state.python != NULL
    cdef Tuple* tuple_
    cdef Incoming* incoming
    state.worker = worker
    hand_over(worker)
    for i in range(count):
        tuple_ = slot(first, stride, i)
        if worker.stop.load(memory_order_acquire):
            leave(op, worker, count - i)
            break
        incoming = &check(state, tuple_)
        state.born_ns = tuple_.born_ns
        if in_python:
            state.failed_at = op.processed.read() - (count - i)
            call_python(state, incoming.port, payload_of(tuple_))
        else:
            answer = state.process(&state.context, incoming.port, payload_of(tuple_), state.state)
            if answer < 0:
                fail(state, answer, op.processed.read() - (count - i))
                return HANDLED
        if state.latency != NULL and tuple_.born_ns != 0:
            state.latency.record(now_ns() - tuple_.born_ns)
        if in_python or batch_is_due(worker):
            deliver_all(state)
            hand_over(worker)
    deliver_all(state)
    return HANDLED


cdef void take(TypedState* state, Tuple* tuple_) noexcept nogil:
    """End a tuple that a loop has taken."""
    check(state, tuple_)
    if state.latency != NULL and tuple_.born_ns != 0:
        state.latency.record(now_ns() - tuple_.born_ns)


cdef void leave(Operator* op, Worker* worker, uint32_t count) noexcept nogil:
    """Leave the rest of a batch of a run that was cut short: it counts as not yet given to the
    operator (ONCE).
    """
    op.processed.add(-<uint64_t> count)
    op.left += count
    worker.run.gave_up.store(True, memory_order_relaxed)


cdef void fail(TypedState* state, int32_t answer, uint64_t at) noexcept nogil:
    """End the run because the function has returned an error, at tuple `at` of those that came to
    it.
    """
    state.failed_at = at
    state.error.store(answer, memory_order_release)
    state.worker.run.failed.store(True, memory_order_release)
    end_run(state.worker.run)


# -- sending ---------------------------------------------------------------------------------------


cdef void send(millrace_context* context, uint32_t output) noexcept nogil:
    """Send the tuple that the function has written."""
    cdef TypedState* state = <TypedState*> context
    cdef SourceState* source = state.source
    cdef uint32_t most
    if source == NULL:
        if enter(state, output, state.born_ns, state.outgoing[output].most) or batch_is_due(state.worker):
            deliver_all(state)
            hand_over(state.worker)
        return
    source.sent += 1
    most = min(source.batch.load(memory_order_relaxed), state.outgoing[output].most)
    if enter(state, output, now_ns() if state.outgoing[output].filled == 0 else 0, most) or batch_is_due(state.worker):
        deliver_all(state)
        state.batches += 1
        if state.batches % BATCHES_IN_SILENCE == 0:
            hand_over(state.worker)
        elif most < source.room:  # a region that takes its time
            announce(state.worker)
        if state.worker.resumed:
            check_for_preemption(state.worker)


cdef void* room_of(void* context, int64_t output) noexcept nogil:
    return (<millrace_context*> context).room[output]


cdef void send_from(void* context, int64_t output) noexcept nogil:
    send(<millrace_context*> context, <uint32_t> output)


def addresses():
    """Return the addresses of millrace_room and millrace_send (native/millrace.h), for code that
    cannot include a header.
    """
    return <size_t> <void*> &room_of, <size_t> <void*> &send_from


cdef bint deliver_all(TypedState* state) noexcept nogil:
    """Send on the tuples in the slots of all output ports. Returns True if there were any."""
    cdef Target* before = state.worker.begun
    cdef uint32_t output
    cdef bint some = False
    state.worker.collects = False
    for output in range(state.outputs):
        if state.outgoing[output].filled > 0:
            begin_port(state, output)
            some = True
    end(state.worker, before)
    return some


cdef void begin_port(TypedState* state, uint32_t output) noexcept nogil:
    cdef Outgoing* out = &state.outgoing[output]
    cdef Operator* op = state.op
    cdef uint32_t count = out.filled
    rewind(state, output)  # nothing is written into the slots until all is sent
    # cut short: what came before may have been given up, so this is not sent
    if state.worker.run.over.load(memory_order_acquire):
        state.worker.run.gave_up.store(True, memory_order_relaxed)
        return
    op.routes[output].sent.add(count)
    if state.source != NULL:
        op.processed.add(count)
        state.worker.taken += count
        state.worker.born_ns = out.slots.born_ns
    else:
        op.emitted.add(count)
    begin(state.worker, &op.routes[output], out.slots, out.stride, count)
    state.worker.at.store(op.index + 1, memory_order_relaxed)


cdef void finish(Worker* worker, Operator* op) noexcept nogil:
    """Call an operator's `finish` when its last stream has ended, before its own streams end.
    Nothing in a run that is cut short.
    """
    cdef TypedState* state = op.typed
    cdef int32_t answer = 0
    if state.source != NULL or worker.stop.load(memory_order_acquire):
        return
    state.worker = worker
    state.born_ns = 0
    worker.at.store(op.index + 1, memory_order_relaxed)
    hand_over(worker)
    if state.python != NULL:
        call_python(state, 0, NULL)
    elif state.finish != NULL:
        answer = state.finish(&state.context, state.state)
    if answer < 0:
        fail(state, answer, op.processed.read())
    else:
        deliver_all(state)


# -- sources ---------------------------------------------------------------------------------------


cdef void* typed_source_body(void* argument) noexcept nogil:
    """A source's own thread: calls its function until that has nothing more, the run is over, or
    enough is sent.
    """
    cdef Worker* worker = <Worker*> argument
    cdef Run* run = worker.run
    cdef Operator* op = worker.op
    cdef TypedState* state = op.typed
    cdef SourceState* source = state.source
    cdef int32_t answer = MILLRACE_MORE
    cdef int64_t idle_ns = IDLE_NS, now
    state.worker = worker
    while not (run.finishing.load(memory_order_relaxed) or worker.stop.load(memory_order_acquire)) and source.sent < source.limit:
        worker.at.store(op.index + 1, memory_order_relaxed)
        answer = step_python(state) if state.python != NULL else state.step(&state.context, state.state)
        if answer == MILLRACE_MORE:
            idle_ns = IDLE_NS
            if batch_is_due(worker) and deliver_all(state):
                hand_over(worker)
            continue
        if answer < 0:
            fail(state, answer, op.processed.read())
            break
        deliver_all(state)
        hand_over(worker)
        if answer != MILLRACE_IDLE:
            break
        now = now_ns()
        sleep_until(worker, now + idle_ns, now)
        idle_ns = min(2 * idle_ns, <int64_t> LONGEST_IDLE_NS)
    deliver_all(state)
    close_operator(worker, op)
    hand_over(worker)
    worker.at.store(0, memory_order_relaxed)
    if not worker.resumed:
        worker.thread.finish()
    return NULL


# -- Python ----------------------------------------------------------------------------------------


cdef class TypedCall:
    """The callables of a typed operator. The first exception ends the run and is kept here."""

    def __cinit__(self, operator):
        self.name = operator.name
        self.function = operator.typed.function
        self.end = operator.typed.finish
        self.takes = operator.typed.takes
        self.gives = operator.typed.gives
        self.items = None  # what it still has to send
        self.error = None
        self.failed = f"operator {operator.name!r} raised an exception, and there was no memory to tell which"


cdef struct PythonPart:
    # What of an operator is executed in one go with the interpreter's lock held.
    TypedState* state
    # the tuple: by which input port it came; its content, null: none came, the last stream has
    # ended
    uint32_t port
    char* content
    int32_t output  # of a tuple that is in its room now and to be sent; or one of the codes below


cdef enum:
    NOTHING_MORE = -1
    NOTHING_AT_HAND = -2


cdef void begin_call(void* argument) noexcept nogil:
    """Call the function with a tuple, or with nothing at the end. `pull` then takes the tuples from
    its result.
    """
    with gil:
        ask(<PythonPart*> argument)


cdef void ask(PythonPart* part) noexcept:
    cdef TypedState* state = part.state
    cdef TypedCall owner
    # while this thread waited for the lock; the owner may be gone by now
    if state.worker.run.failed.load(memory_order_relaxed):
        return
    owner = <TypedCall> state.python
    try:
        owner.items = None
        if part.content != NULL:
            schema = owner.takes[part.port]
            items = owner.function(part.port, schema.unpack(part.content[:<size_t> schema.size]))
        else:
            items = owner.function() if state.source != NULL else owner.end() if owner.end is not None else None
        owner.items = None if items is None else iter(items)
    except BaseException as error:
        raised(part, owner, error)


cdef void pull(void* argument) noexcept nogil:
    """Write the next tuple to send into its room."""
    with gil:
        write_next(<PythonPart*> argument)


cdef void write_next(PythonPart* part) noexcept:
    cdef TypedState* state = part.state
    cdef TypedCall owner
    cdef bytes content
    part.output = NOTHING_MORE
    if state.worker.run.failed.load(memory_order_relaxed):
        return
    owner = <TypedCall> state.python
    try:
        if owner.items is None:
            return
        try:
            item = next(owner.items)
        except StopIteration:
            owner.items = None
            return
        if item is None and state.source != NULL:
            part.output = NOTHING_AT_HAND
            return
        port, values = item
        if not isinstance(port, int) or not 0 <= port < len(owner.gives):
            raise ValueError(f"output port must be from 0 to {len(owner.gives) - 1}, not {port!r}")
        content = owner.gives[port].pack(values)
        memcpy(state.context.room[<uint32_t> port], <const char*> content, len(content))
        part.output = port
    except BaseException as error:
        raised(part, owner, error)


cdef void call_python(TypedState* state, uint32_t port, char* content) noexcept nogil:
    """Call the function with a tuple, or with nothing at the end, and send its tuples, never
    waiting with the interpreter's lock.
    """
    cdef PythonPart part
    part.state = state
    part.port = port
    part.content = content
    on_own_stack(state.worker, begin_call, &part)
    while True:
        on_own_stack(state.worker, pull, &part)
        if part.output < 0:
            return
        send(&state.context, <uint32_t> part.output)


cdef int32_t step_python(TypedState* state) noexcept nogil:
    """The next tuple of a source."""
    cdef PythonPart part
    part.state = state
    part.content = NULL
    if not state.begun:
        state.begun = True
        on_own_stack(state.worker, begin_call, &part)
    on_own_stack(state.worker, pull, &part)
    if part.output >= 0:
        send(&state.context, <uint32_t> part.output)
        return MILLRACE_MORE
    return MILLRACE_IDLE if part.output == NOTHING_AT_HAND else 0


cdef void raised(PythonPart* part, TypedCall owner, error) noexcept:
    cdef Run* run = part.state.worker.run
    run.failed.store(True, memory_order_release)
    end_run(run)
    if owner.error is None:
        owner.error = owner.failed  # there may be no memory for more
        if isinstance(error, RunFailed):
            owner.error = f"operator {owner.name!r}: {text_of(error)}"
        else:
            when = f"tuple {part.state.failed_at}" if part.content != NULL else f"after {part.state.op.processed.read()} tuples"
            owner.error = f"operator {owner.name!r} {failure_of(error, when)}"


# -- before the run --------------------------------------------------------------------------------


cdef int make_typed(States states, Operator* op, object operator, object layout) except -1:
    """The state of a typed operator, once it has that of its kind."""
    cdef TypedState* state = make_array[TypedState](1)
    cdef uint32_t i, source, output
    cdef Outgoing* out
    op.typed = state
    states.made.append(("typed state", <size_t> state))
    state.op = op
    given = operator.typed
    if operator.is_source:
        state.source = <SourceState*> op.own
    elif operator.is_sink:
        state.latency = &(<SinkState*> op.own).latency
    if operator.kind is LOOP:
        pass  # loops.pyx calls it
    elif given.compiled:
        if operator.is_source:
            state.step = <StepFunction> <size_t> given.function.address
        else:
            state.process = <ProcessFunction> <size_t> given.function.address
        if given.finish is not None:
            state.finish = <StepFunction> <size_t> given.finish.address
        state.state = <void*> <size_t> given.function.state
        states.natives.append(given)
    else:
        called = TypedCall(operator)
        states.calls.append(called)
        state.python = <void*> called
    ways = incoming_of(layout, op.index)
    state.incoming = <Incoming*> states.block(len(ways) * sizeof(Incoming))
    for i, (source, output, port) in enumerate(ways):
        state.incoming[i].seed = port_seed(source, output)
        state.incoming[i].stride = layout.strides[source][output]
        state.incoming[i].port = port
    state.outputs = op.outputs
    state.outgoing = <Outgoing*> states.block(op.outputs * sizeof(Outgoing))
    state.context.room = <char**> states.block(op.outputs * sizeof(char*))
    state.context.send = send
    for i in range(op.outputs):
        out = &state.outgoing[i]
        out.stride = layout.strides[op.index][i]
        out.most = min(most_at_once(out.stride), layout.room_behind[op.index][i])
        out.seed = port_seed(op.index, i)
        out.slots = <Tuple*> states.block(out.most * out.stride)
        rewind(state, i)
    return 0
