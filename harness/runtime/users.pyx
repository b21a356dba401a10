# users.pyx - operators whose logic is a user's: a compiled function or a Python callable.
#
# Neither may return soon, or ever. So before a batch this thread hands on the tuples that others
# could wait for, and Worker::at says where it is (pool.pyx, and the account of a run that had to be
# cut short). A callable's tuple goes on before the next call; those of a compiled function, which
# may be cheap, are kept until one is dropped or the batch ends: it must not wait for them
# (docs/operators.md). The oracle finds changed or lost tuples, unless the operator was declared to
# change or drop some. A run that is cut short waits for one call of theirs, not for the rest of a
# batch.

from libc.stdint cimport int32_t, uint32_t, uint64_t
from libcpp.atomic cimport memory_order_acquire, memory_order_relaxed, memory_order_release

from harness.runtime.coroutine cimport on_thread
from harness.runtime.native cimport (
    HANDLED,
    NativeState,
    Operator,
    SinkState,
    Tuple,
    Worker,
    fingerprint,
    payload_of,
    slot,
)
from harness.runtime.operators cimport pass_on
from harness.runtime.submit cimport acquire, end_run, hand_over


cdef double control_value(Operator* op) noexcept nogil:
    """Return the value of the last tuple at an operator's control port; 0: none has come, or it has
    no such port.
    """
    if op.control == NULL:
        return 0.0
    return (<SinkState*> op.control.own).latest.load(memory_order_relaxed)


cdef void let_others_in(Operator* op) noexcept nogil:
    """Release the lock around a user's function that locks its own state: tuples of other input
    ports may be in it at the same time.

    Counting and delivering stay under the lock. Tuples of one port cannot overtake each other, for
    one thread at a time executes a port.
    """
    if op.reentrant:
        op.lock.unlock()


cdef void keep_others_out(Operator* op, Worker* worker) noexcept nogil:
    if op.reentrant:
        acquire(worker, op.lock)


cdef void on_own_stack(Worker* worker, void (*function)(void*) noexcept nogil, void* argument) noexcept nogil:
    """Call users' code on the thread's stack: that of a co-routine is small, and the interpreter
    does not know it.
    """
    if worker.resumed:
        on_thread(worker, function, argument)
    else:
        function(argument)


cdef void leave(Operator* op, Worker* worker, Tuple* first, uint32_t count) noexcept nogil:
    """Leave the rest of a batch of a run that was cut short: it counts as not yet given to the
    operator (ONCE).
    """
    cdef uint32_t i
    op.processed.add(-<uint64_t> count)
    op.left += count
    for i in range(count):
        worker.given_up_fingerprints += fingerprint(slot(first, worker.run.stride, i).sequence) * op.copies
    worker.run.gave_up.store(True, memory_order_relaxed)


cdef struct NativeCalls:
    Operator* op
    Worker* worker
    Tuple* first
    uint32_t place, count
    int32_t verdict


cdef void call_native(void* argument) noexcept nogil:
    """Call the function on tuples from `place` on, until it does not pass one on, none is left, or
    the run is over.
    """
    cdef NativeCalls* calls = <NativeCalls*> argument
    cdef Operator* op = calls.op
    cdef Worker* worker = calls.worker
    cdef NativeState* state = <NativeState*> op.own
    cdef double control = control_value(op)
    cdef Tuple* tuple_
    calls.verdict = 1
    while calls.place < calls.count and not worker.stop.load(memory_order_acquire):
        tuple_ = slot(calls.first, worker.run.stride, calls.place)
        let_others_in(op)
        calls.verdict = state.function(tuple_.sequence, &tuple_.value, payload_of(tuple_), worker.run.payload, control, state.state)
        keep_others_out(op, worker)
        if calls.verdict <= 0:
            return
        calls.place += 1


cdef int32_t native(Operator* op, Worker* worker, Tuple* first, uint32_t count) noexcept nogil:
    """Call a C function on a batch. Tuples that it passes on stay in runs: neighbours go on
    together, when the last of them is done.
    """
    cdef NativeState* state = <NativeState*> op.own
    cdef size_t stride = worker.run.stride
    cdef NativeCalls calls
    cdef uint32_t start = 0
    cdef Tuple* tuple_
    calls.op, calls.worker, calls.first, calls.place, calls.count = op, worker, first, 0, count
    hand_over(worker)
    while calls.place < count:
        on_own_stack(worker, call_native, &calls)
        if calls.place == count:
            break
        tuple_ = slot(first, stride, calls.place)
        if calls.verdict > 0:  # stopped
            leave(op, worker, tuple_, count - calls.place)
            count = calls.place
            break
        if calls.place > start:
            pass_on(op, worker, slot(first, stride, start), calls.place - start)
            hand_over(worker)
        calls.place += 1
        start = calls.place
        if calls.verdict < 0:
            # the first one; under the operator's lock, if others can be here
            if state.error.load(memory_order_relaxed) == 0:
                state.failed_at = tuple_.sequence
                state.error.store(calls.verdict, memory_order_release)
            worker.run.failed.store(True, memory_order_release)
            end_run(worker.run)
            return HANDLED
        if op.drops:
            op.dropped += fingerprint(tuple_.sequence) * op.copies
    if count > start:
        pass_on(op, worker, slot(first, stride, start), count - start)
    return HANDLED


cdef class PythonCall:
    """A user's callable as an operator. The first exception ends the run and is kept here."""

    def __cinit__(self, str name, object function, bint controlled):
        self.name = name
        self.function = function
        self.controlled = controlled
        self.error = None
        self.failed = f"operator {name!r} raised an exception, and there was no memory to tell which"


cdef struct PythonCalled:
    Operator* op
    Worker* worker
    Tuple* tuple
    double value
    bint kept


cdef void call_python(void* argument) noexcept nogil:
    cdef PythonCalled* called = <PythonCalled*> argument
    let_others_in(called.op)
    with gil:
        called.kept = call(called.op, called.worker, called.tuple.sequence, called.tuple.value, &called.value)
    keep_others_out(called.op, called.worker)


cdef int32_t python(Operator* op, Worker* worker, Tuple* first, uint32_t count) noexcept nogil:
    cdef uint32_t i
    cdef PythonCalled called
    cdef Tuple* tuple_
    called.op, called.worker = op, worker
    hand_over(worker)
    for i in range(count):
        tuple_ = slot(first, worker.run.stride, i)
        if worker.stop.load(memory_order_acquire):
            leave(op, worker, tuple_, count - i)
            break
        worker.at.store(op.index + 1, memory_order_relaxed)
        called.tuple, called.value = tuple_, 0.0
        on_own_stack(worker, call_python, &called)
        if called.kept:
            tuple_.value = called.value
            pass_on(op, worker, tuple_, 1)
            hand_over(worker)
        elif op.drops:
            op.dropped += fingerprint(tuple_.sequence) * op.copies
    return HANDLED


cdef str text_of(error):
    """Return an exception's text in one line. The text comes from users' code, too."""
    try:
        return " ".join(str(error).split())
    except BaseException:
        return "an exception that cannot be shown"


cdef str failure_of(error, str when):
    """Return the end of an error about an exception in a user's function: the exception, when it
    was, and in which line of the user's.
    """
    return f"raised {type(error).__name__}: {text_of(error)} ({when}{place_of(error)})"


cdef str place_of(error):
    """Return the line of a user's function that has raised an exception, or called the function
    that did; empty: it is not in Python.
    """
    file, line, trace = None, 0, error.__traceback__
    while trace is not None:
        frame, code = trace.tb_frame, trace.tb_frame.f_code
        if file is None and not str(frame.f_globals.get("__name__", "")).startswith("harness."):
            file = code.co_filename
        if code.co_filename == file:
            line = trace.tb_lineno
        trace = trace.tb_next
    return "" if file is None else f", {file}:{line}"


cdef bint call(Operator* op, Worker* worker, uint64_t sequence, double value, double* result) noexcept:
    """Call the function with the interpreter's lock held; whether there is a result to pass on."""
    cdef PythonCall owner
    # while this thread waited for the lock; the owner may be gone by now (engine.pyx)
    if worker.run.failed.load(memory_order_relaxed):
        return False
    owner = <PythonCall> op.own
    try:
        if owner.controlled:
            returned = owner.function(sequence, value, control_value(op))
        else:
            returned = owner.function(sequence, value)
        if returned is None:
            return False
        result[0] = returned
        return True
    # whatever a user's function throws must not unwind through the runtime's frames
    except BaseException as error:
        worker.run.failed.store(True, memory_order_release)
        end_run(worker.run)
        if owner.error is None:
            owner.error = owner.failed  # there may be no memory for more
            owner.error = f"operator {owner.name!r} {failure_of(error, f'tuple {sequence}')}"
        return False
