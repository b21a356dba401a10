# operators.pyx - what each kind of operator does with a batch of tuples.
#
# A kernel works on the tuples where they lie and returns the output port to which all of them go on; one that sends tuples
# different ways, keeps or drops them delivers them itself and returns HANDLED. Its batch is never empty and holds data tuples
# only. It runs alone (ALONE), so its state needs no atomics.

from libc.stdint cimport int32_t, uint32_t, uint64_t
from libc.string cimport memcpy
from libcpp.atomic cimport memory_order_relaxed, memory_order_release

from harness.runtime.native cimport (
    HANDLED,
    Kernel,
    MergeState,
    Operator,
    SinkState,
    SourceState,
    Tuple,
    Worker,
    fill_payload,
    fingerprint,
    now_ns,
    payload_intact,
    slot,
    value_for,
)
from harness.runtime.submit cimport deliver, end_run


cdef double multiply(double value, double factor, unsigned int cost) noexcept nogil:
    """`cost` multiplies, each waiting for the one before: the FLOP of P17 s5."""
    cdef unsigned int _
    for _ in range(cost):
        value *= factor
    return value


cdef void make_tuple(SourceState* source, Tuple* tuple_, unsigned int payload) noexcept nogil:
    """Fill in the source's next tuple; `born_ns` is the caller's."""
    tuple_.sequence = source.sent
    tuple_.value = value_for(source.sent)
    tuple_.path = 0
    tuple_.kind = 0
    tuple_.order = 0
    fill_payload(tuple_, payload)
    source.fingerprints += fingerprint(source.sent)
    source.sent += 1


cdef int32_t work(Operator* op, Worker* worker, Tuple* first, uint32_t count) noexcept nogil:
    cdef uint32_t i
    cdef Tuple* tuple_
    for i in range(count):
        tuple_ = slot(first, worker.run.stride, i)
        tuple_.value = multiply(tuple_.value, op.factor, op.cost)
    return 0


cdef int32_t work_round_robin(Operator* op, Worker* worker, Tuple* first, uint32_t count) noexcept nogil:
    work(op, worker, first, count)
    return round_robin(op, worker, first, count)


cdef int32_t round_robin(Operator* op, Worker* worker, Tuple* first, uint32_t count) noexcept nogil:
    cdef uint32_t i, turn
    for i in range(count):
        turn = op.turn
        op.turn = turn + 1 if turn + 1 < op.outputs else 0
        deliver(worker, &op.routes[turn], slot(first, worker.run.stride, i), 1)
    return HANDLED


cdef int32_t split(Operator* op, Worker* worker, Tuple* first, uint32_t count) noexcept nogil:
    """Round-robin, after numbering the tuples for the merge downstream (C-Stream s4.2)."""
    cdef uint32_t i
    for i in range(count):
        slot(first, worker.run.stride, i).order = op.order
        op.order += 1
    return round_robin(op, worker, first, count)


cdef int32_t merge(Operator* op, Worker* worker, Tuple* first, uint32_t count) noexcept nogil:
    """Passes tuples on in the order of their numbers; those that come early wait in slots of their own.

    BOUND: a tuple is at most as early as there is room in the queues between split and merge, because those between it and the
    missing one are all behind the missing one in such a queue or here (plan.pyx sizes the slots by that).
    """
    cdef MergeState* state = <MergeState*> op.own
    cdef size_t stride = worker.run.stride
    cdef uint32_t i, start = 0, place, ready
    cdef Tuple* tuple_
    for i in range(count):
        tuple_ = slot(first, stride, i)
        tuple_.path = 0  # from here on there is one order again
        if tuple_.order == state.next:
            state.next += 1
            if state.held == 0 or not state.present[state.next & state.mask]:
                continue
            pass_on(op, worker, slot(first, stride, start), i + 1 - start)
            start = i + 1
            while state.held > 0 and state.present[state.next & state.mask]:
                place = state.next & <uint32_t> state.mask
                ready = 0  # tuples that lie side by side and are next, up to the end of the slots
                while ready < 32 and place + ready <= state.mask and state.present[place + ready]:
                    state.present[place + ready] = 0
                    ready += 1
                state.next += ready
                state.held -= ready
                pass_on(op, worker, <Tuple*> (state.slots + place * stride), ready)
        else:
            if i > start:
                pass_on(op, worker, slot(first, stride, start), i - start)
            start = i + 1
            if tuple_.order - state.next > state.mask:
                state.overrun = True
                worker.run.failed.store(True, memory_order_relaxed)
                end_run(worker.run)
                return HANDLED
            place = tuple_.order & <uint32_t> state.mask
            memcpy(state.slots + place * stride, tuple_, stride)
            state.present[place] = 1
            state.held += 1
    if count > start:
        pass_on(op, worker, slot(first, stride, start), count - start)
    return HANDLED


cdef void pass_on(Operator* op, Worker* worker, Tuple* first, uint32_t count) noexcept nogil:
    op.emitted.add(count)
    deliver(worker, op.routes, first, count)


cdef int32_t sink(Operator* op, Worker* worker, Tuple* first, uint32_t count) noexcept nogil:
    """Count (by the caller), check and stamp: the oracle's end."""
    cdef SinkState* state = <SinkState*> op.own
    cdef uint32_t i
    cdef uint64_t sequence
    cdef Tuple* tuple_
    for i in range(count):
        tuple_ = slot(first, worker.run.stride, i)
        sequence = tuple_.sequence
        if state.paths > 0:
            if sequence < state.next_of_path[tuple_.path]:
                state.violations += 1
            else:
                state.next_of_path[tuple_.path] = sequence + 1
        if (state.check_value and tuple_.value != value_for(sequence)) or not payload_intact(tuple_, worker.run.payload):
            state.damaged += 1
        state.fingerprints += fingerprint(sequence)
        if tuple_.born_ns != 0:
            state.latency.record(now_ns() - tuple_.born_ns)
    return HANDLED


cdef class PythonCall:
    """A user's callable as an operator. The first exception ends the run and is kept here."""

    def __cinit__(self, str name, object function):
        self.name = name
        self.function = function
        self.error = None


cdef int32_t python(Operator* op, Worker* worker, Tuple* first, uint32_t count) noexcept nogil:
    cdef uint32_t i
    cdef double value
    cdef bint kept
    cdef Tuple* tuple_
    worker.inside.store(op.index + 1, memory_order_relaxed)
    for i in range(count):
        if worker.run.failed.load(memory_order_relaxed):
            break
        tuple_ = slot(first, worker.run.stride, i)
        value = 0.0
        with gil:
            kept = call(op, worker, tuple_.sequence, tuple_.value, &value)
        if kept:
            tuple_.value = value
            pass_on(op, worker, tuple_, 1)
    worker.inside.store(0, memory_order_relaxed)
    return HANDLED


cdef bint call(Operator* op, Worker* worker, uint64_t sequence, double value, double* result) noexcept:
    """Call the function with the interpreter's lock held; whether there is a result to pass on."""
    cdef PythonCall owner = <PythonCall> op.own
    try:
        returned = owner.function(sequence, value)
        if returned is None:
            return False
        result[0] = returned
        return True
    except BaseException as error:  # whatever a user's function throws must not unwind through the runtime's frames
        if owner.error is None:
            owner.error = f"operator {owner.name!r} raised {type(error).__name__}: {error} (tuple {sequence})"
        worker.run.failed.store(True, memory_order_release)
        end_run(worker.run)
        return False


cdef Kernel kernel_for(str kind, unsigned int outputs) except *:
    """The kernel of a kind of operator; sources have none."""
    if kind == "work":
        return work if outputs == 1 else work_round_robin
    if kind == "split":
        return split
    if kind == "merge":
        return merge
    if kind == "python":
        return python
    if kind == "sink":
        return sink
    return NULL
