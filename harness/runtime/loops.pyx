# loops.pyx - operators with a loop of their own, which ask for the tuples that they need (C-Stream s2.3, Algorithms 1 to 3).
#
#   loop_body   a co-routine: the operator's function, then the end of its streams, then what it has left at its input ports
#   wait        until enough tuples are there; it does not let go of the thread where they are
#   pop, push   of one tuple each. Pushed ones are collected, and sent when they are a batch or before the operator waits
#
# A compiled function runs on the co-routine's stack, so it may wait wherever it is. A Python function runs on the stack of the thread,
# which the interpreter knows: it is a co-routine of Python's, resumed by send(None). Where it must wait it says what for and suspends, and
# then its co-routine here waits. So the interpreter's lock is taken once for all that it does between two such waits.
#
# The oracle. Nobody knows which tuples a loop makes of those it takes. So a tuple ends where it is popped, checked as at a sink, and
# what is pushed begins there: each output port numbers its tuples and fills their payloads as a source does, and what arrives behind it is
# held against that (ONCE, ORDER). What a loop leaves behind when it returns ends there too, once its streams have.
#
# A loop returns when a wait has said that it is over, or when the run is. Else it would silently take what is still to come.

cimport cython
from cpython.pythread cimport PyThread_get_thread_ident
from cpython.ref cimport Py_DECREF, Py_INCREF
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from libc.stdio cimport snprintf
from libcpp.atomic cimport memory_order_acq_rel, memory_order_acquire, memory_order_relaxed, memory_order_release

from harness.runtime.coroutine cimport born_ns_of, check_for_preemption, need, on_thread, tuples_taken, wait_for
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
    Tuple,
    Worker,
    enter_pushed,
    fingerprint,
    make_array,
    millrace_loop,
    millrace_tuple,
    now_ns,
    payload_of,
    set_problem,
)
from harness.runtime.operators cimport mark_sink, sink
from harness.runtime.protocol cimport most_at_once
from harness.runtime.states cimport States
from harness.runtime.submit cimport close_operator, deliver, end_run, hand_over
from harness.runtime.users cimport text_of

cdef extern from "loops.hpp" namespace "millrace" nogil:
    cdef cppclass Looked "millrace::LoopInput":
        uint64_t looked

cdef enum:
    OVER = 0
    DONE = 1
    BLOCKED = 2
    ERROR = -1

cdef enum Request:
    ENDED = 0  # there is nothing more to resume
    GO_ON = 1
    WAIT_ALL = 2
    WAIT_ANY = 3

cdef enum:
    SLICE_NS = 100_000  # after which a Python loop that need not wait lets go of what it has pushed, and of the interpreter's lock


# -- what a loop does ---------------------------------------------------------------------------------------------------------------


cdef bint stopped(LoopState* state) noexcept nogil:
    return state.worker.stop.load(memory_order_acquire)


cdef bint has(LoopInput* from_, uint32_t count) noexcept nogil:
    """Whether so many tuples wait. It looks at the queue, whose line a sender writes to, only if it has not seen as many before."""
    return (<Looked*> from_).looked >= from_.place() + from_.marks + count or from_.at_hand() >= count


cdef int32_t verdict_on(LoopState* state, bint any_) noexcept nogil:
    """Of what `counts` ask for: DONE, it is there; OVER, it never will be; or BLOCKED."""
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
    """Makes room: as many tuples as it waits for do not fit beside the punctuations, whose place among them is then not checked."""
    cdef uint32_t count, first
    cdef uint64_t capacity = from_.port.ring.capacity()
    cdef Tuple* front
    from_.port.ring.front(capacity, &front)  # so that the ring has seen all that it has looked at, and lets go of it
    count = from_.compact((<SinkState*> state.op.own).windows)
    first = <uint32_t> min(<uint64_t> count, capacity - from_.port.ring.head().load(memory_order_relaxed) % capacity)
    if first > 0:
        release(state, from_, first)
    if count > first:
        release(state, from_, count - first)


cdef Tuple* pop(LoopState* state, LoopInput* from_) noexcept nogil:
    """The next tuple, which stays where it is until the next pop or wait; null if none is there. Punctuations before it end here."""
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
    op.processed.add(1)
    state.worker.taken += 1
    if from_.port.stamps != NULL:
        state.worker.born_ns = born_ns_of(from_.port, from_.place() - 1)
    if tuple_.born_ns != 0 and (state.born_ns == 0 or tuple_.born_ns < state.born_ns):
        state.born_ns = tuple_.born_ns
    from_.sequence = tuple_.sequence
    sink(op, state.worker, tuple_, 1)
    return tuple_


cdef bint deliver_all(LoopState* state) noexcept nogil:
    """Sends what was pushed, on the co-routine's stack; whether there was anything."""
    cdef uint32_t output
    cdef bint some = False
    for output in range(state.context.outputs):
        if state.outputs[output].filled > 0:
            deliver_port(state, output)
            some = True
    return some


cdef void deliver_port(LoopState* state, uint32_t output) noexcept nogil:
    cdef LoopOutput* out = &state.outputs[output]
    cdef Operator* op = state.op
    cdef Worker* worker = state.worker
    cdef uint32_t i, count = out.filled
    out.filled = 0
    if worker.run.over.load(memory_order_acquire):  # cut short: what came before may have been given up, so this is not sent
        worker.run.gave_up.store(True, memory_order_relaxed)
        return
    for i in range(count):
        out.fingerprints += fingerprint(out.sent + i)
    out.sent += count
    op.routes[output].sent.add(count)
    op.emitted.add(count)
    deliver(worker, &op.routes[output], out.slots, count)
    hand_over(worker)  # its function may take long now
    worker.at.store(op.index + 1, memory_order_relaxed)


cdef void fail(LoopState* state) noexcept nogil:
    state.worker.run.failed.store(True, memory_order_release)
    end_run(state.worker.run)


# -- the co-routine -----------------------------------------------------------------------------------------------------------------


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
    run.open_operators.fetch_add(1, memory_order_acq_rel)  # its streams end here; it has ended when those into it have
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
    """What still comes after the function has returned."""
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


# -- compiled -----------------------------------------------------------------------------------------------------------------------


cdef int32_t refuse(LoopState* state, const char* text) noexcept nogil:
    set_problem(state, text)
    fail(state)
    return ERROR


cdef bint lacks(LoopState* state, uint32_t port, uint32_t count, const char* call, const char* kind) noexcept nogil:
    """Whether a call is refused: there is no such port, or the function has returned."""
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
    popped.value = tuple_.value
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
    enter_pushed(state, port, value)
    if out.filled == out.most:
        deliver_port(state, port)
        check_for_preemption(state.worker)
    return 1


cdef int32_t c_stopping(millrace_loop* context) noexcept nogil:
    return stopped(<LoopState*> context)


# -- Python -------------------------------------------------------------------------------------------------------------------------


cdef void run_python(LoopState* state) noexcept nogil:
    cdef Worker* worker = state.worker
    cdef uint32_t i
    while True:
        on_thread(worker, resume, state)
        if state.request == ENDED:
            return
        for i in range(state.context.inputs):
            give_back(state, &state.inputs[i])
        deliver_all(state)
        if state.request != GO_ON:
            state.verdict = wait(state, state.request == WAIT_ANY)
        check_for_preemption(worker)


cdef void resume(void* argument) noexcept nogil:
    """On the thread's own stack."""
    with gil:
        step(<LoopState*> argument)


cdef void step(LoopState* state) noexcept:
    """Lets the function go on until it suspends or has ended."""
    cdef LoopCall owner
    cdef bint ended = False
    if not state.begun:
        # that nobody keeps it any more shows in that the run has failed; from here on it is kept, until it has ended
        if state.worker.run.failed.load(memory_order_relaxed) or stopped(state):
            state.request = ENDED
            return
        Py_INCREF(<LoopCall> state.python)
        state.begun = True
    owner = <LoopCall> state.python
    state.thread = <uint64_t> PyThread_get_thread_ident()
    state.slice_ends_ns = now_ns() + SLICE_NS
    try:
        if owner.process is None:
            owner.context = context_of(state, owner)
            owner.process = owner.function(owner.context)
        if stopped(state):
            state.closing = True
            ended = True
            owner.process.close()
        else:
            yielded = owner.process.send(None)
            if yielded is not owner.context:
                raise RuntimeError(f"it awaits {type(yielded).__name__!r}, which is not one of its context's: nothing would resume it")
    except StopIteration:
        ended = True
    except BaseException as error:  # whatever a user's function throws must not unwind through the runtime's frames
        ended = True
        raised(state, owner, error)
    state.thread = 0
    if ended:
        state.request = ENDED
        try:
            owner.end()
        except BaseException:
            pass
        Py_DECREF(owner)


cdef void raised(LoopState* state, LoopCall owner, error) noexcept:
    fail(state)
    if owner.error is None:
        owner.error = owner.failed  # there may be no memory for more
        owner.error = f"operator {owner.name!r} raised {type(error).__name__}: {text_of(error)} (after {state.op.processed.read()} tuples)"


cdef class LoopCall:
    """The function of an operator in Python that has its own loop. The first exception ends the run and is kept here."""

    cdef readonly str name
    cdef readonly object error
    cdef object function, process
    cdef str failed
    cdef bytes told  # its name, for what is told without the interpreter
    cdef Context context

    def __cinit__(self, operator):
        self.name = operator.name
        self.told = operator.name.encode()
        self.function = operator.function
        self.failed = f"operator {operator.name!r} raised an exception, and there was no memory to tell which"

    def end(self):
        process, self.process = self.process, None
        if self.context is not None:
            self.context.state = NULL
        self.context = None
        if process is not None:
            process.close()  # what has raised something that is not ours has it behind itself


cdef Context context_of(LoopState* state, LoopCall owner):
    cdef Context context = Context.__new__(Context)
    cdef InputPort port
    context.state, context.name, context.closed = state, owner.name, f"operator {owner.name!r} has ended"
    ports = []
    for i in range(state.context.inputs):
        port = InputPort.__new__(InputPort)
        port.context, port.index, port.from_ = context, i, &state.inputs[<uint32_t> i]
        ports.append(port)
    context.inputs = tuple(ports)
    return context


@cython.no_gc_clear
cdef class Context:
    """What an operator with a loop of its own asks for. It is valid in its function alone, and while that runs.

    `inputs`: its input ports. docs/operators.md has more.
    """

    cdef LoopState* state  # null: it has ended
    cdef readonly str name
    cdef readonly tuple inputs
    cdef str closed

    cdef LoopState* alive(self, str call) except NULL:
        if self.state == NULL:
            raise RuntimeError(f"{call}: {self.closed}")
        if self.state.thread != <uint64_t> PyThread_get_thread_ident():
            raise RuntimeError(f"{call}: the context of operator {self.name!r} is for its own function alone, while that runs")
        return self.state

    @property
    def input(self):
        """Its first input port."""
        return self.inputs[0]

    @property
    def outputs(self):
        """How many output ports it has."""
        return self.alive("outputs").context.outputs

    @property
    def stopping(self):
        """Whether the run is being cut short."""
        return stopped(self.alive("stopping"))

    def wait_all(self, counts):
        """To be awaited: True once there are as many tuples as `counts` says, {port: count} or one number for all input ports.

        False: over, they never will be.

        Raises ValueError for a port that is not there, or a count that no queue can hold.
        """
        return self._wait("wait_all", WAIT_ALL, counts)

    def wait_any(self, counts):
        """To be awaited: the ports, as a tuple, at which there are as many tuples as `counts` says, at one at least; empty: over."""
        return self._wait("wait_any", WAIT_ANY, counts)

    def push(self, value, output=0):
        """To be awaited: sends a tuple with a value from an output port. Waits where a queue is full.

        Raises ValueError for a port that is not there, TypeError for a value that is no number.
        """
        cdef LoopState* state = self.alive("push")
        cdef double number
        cdef LoopOutput* out
        if not isinstance(output, int) or not 0 <= output < state.context.outputs:
            raise ValueError(f"push: {_rule('output port', state.context.outputs)}, not {output!r:.40}")
        try:
            number = value
        except TypeError:
            raise TypeError(f"push: value must be a number, not {value!r:.40}") from None
        if state.closing or stopped(state):
            state.worker.run.gave_up.store(True, memory_order_relaxed)
            return AT_ONCE if state.closing else Pause.__new__(Pause, self)
        out = &state.outputs[<uint32_t> output]
        if out.filled == out.most:
            raise RuntimeError("push: the one before it was not awaited")
        enter_pushed(state, output, number)
        if out.filled == out.most or now_ns() >= state.slice_ends_ns:
            return Pause.__new__(Pause, self)
        return AT_ONCE

    cdef object _wait(self, str call, uint32_t request, counts):
        cdef LoopState* state = self.alive(call)
        cdef Wait made
        if isinstance(counts, int):
            given = tuple([(i, _count(call, state, i, counts)) for i in range(state.context.inputs)])
        else:
            try:
                pairs = list(counts.items())
            except AttributeError:
                raise TypeError(f"{call}: counts must be a number or {{port: count}}, not {counts!r:.40}") from None
            given = tuple([(i, _count(call, state, i, count)) for i, count in [(self._index(call, port), count) for port, count in pairs]])
        if not given:
            raise ValueError(f"{call}: counts must name one input port at least")
        made = Wait.__new__(Wait)
        made.context, made.request, made.counts = self, request, given
        return made

    cdef object _index(self, str call, port):
        index = port
        if isinstance(port, InputPort):
            if (<InputPort> port).context is not self:
                other = (<InputPort> port).context.name
                raise ValueError(f"{call}: input port {port.index} is one of operator {other!r}, not of {self.name!r}")
            index = port.index
        if not isinstance(index, int) or not 0 <= index < len(self.inputs):
            raise ValueError(f"{call}: {_rule('input port', len(self.inputs))}, not {port!r:.40}")
        return index


def _rule(what, count):
    return f"{what} must be from 0 to {count - 1}" if count > 0 else f"there is no {what}"


cdef object _count(str call, LoopState* state, uint32_t port, count):
    most = state.inputs[port].port.ring.capacity()
    if not isinstance(count, int) or not 1 <= count <= most:
        raise ValueError(f"{call}: count must be from 1 to {most}, the capacity of the queue before input port {port}, not {count!r:.40}")
    return count


cdef class InputPort:
    """An input port of an operator with a loop of its own. `index`: its number; `len()`: tuples that wait there.

    `async for value in port` takes its tuples, until it is over.
    """

    cdef readonly Context context
    cdef readonly int index
    cdef LoopInput* from_

    def __len__(self):
        self.context.alive("len")
        return self.from_.at_hand()

    def __repr__(self):
        return f"<input port {self.index} of operator {self.context.name!r}>"

    @property
    def closed(self):
        """Whether no tuple will ever come again, and none waits."""
        self.context.alive("closed")
        return self.from_.at_hand() == 0 and self.from_.ended()

    @property
    def sequence(self):
        """The number at its sender of the tuple that was popped last."""
        self.context.alive("sequence")
        return self.from_.sequence

    def pop(self):
        """Take the next tuple: its value. Raises IndexError if none waits; after a wait for it there is one."""
        cdef LoopState* state = self.context.alive("pop")
        cdef Tuple* tuple_ = pop(state, self.from_)
        if tuple_ == NULL:
            raise IndexError(f"pop: no tuple waits at input port {self.index}")
        return tuple_.value

    def batches(self, most):
        """For `async for`: lists of what waits there, of one value at least and `most` at most."""
        cdef LoopState* state = self.context.alive("batches")
        return Batches(self, _count("batches", state, self.index, most))

    def __aiter__(self):
        return self

    def __anext__(self):
        return next_of(self, 0)


cdef class Batches:
    cdef InputPort port
    cdef uint32_t most

    def __init__(self, InputPort port, most):
        self.port, self.most = port, most

    def __aiter__(self):
        return self

    def __anext__(self):
        return next_of(self.port, self.most)


# -- what is awaited ----------------------------------------------------------------------------------------------------------------


cdef class AtOnce:
    """There is nothing to wait for."""

    def __await__(self):
        return self

    def __iter__(self):
        return self

    def __next__(self):
        raise StopIteration


cdef AtOnce AT_ONCE = AtOnce()


@cython.freelist(8)
cdef class Pause:
    """Lets the runtime send what was pushed, and others run."""

    cdef Context context
    cdef bint paused

    def __cinit__(self, Context context):
        self.context = context

    def __await__(self):
        return self

    def __iter__(self):
        return self

    def __next__(self):
        if self.paused:
            raise StopIteration
        self.paused = True
        self.context.alive("push").request = GO_ON
        return self.context


cdef int32_t begun(LoopState* state, bint any_) noexcept nogil:
    """The verdict on a wait that begins, or BLOCKED if the function has to suspend."""
    if state.closing:
        return OVER
    if stopped(state) or now_ns() >= state.slice_ends_ns:
        return BLOCKED
    return verdict_on(state, any_)


@cython.freelist(8)
cdef class Wait:
    cdef Context context
    cdef uint32_t request
    cdef tuple counts
    cdef bint suspended

    def __await__(self):
        return self

    def __iter__(self):
        return self

    def __next__(self):
        cdef LoopState* state = self.context.alive("wait_all" if self.request == WAIT_ALL else "wait_any")
        cdef uint32_t i
        cdef int32_t verdict
        if self.suspended:
            verdict = OVER if state.closing else state.verdict
        else:
            for i in range(state.context.inputs):
                state.counts[i] = 0
            for port, count in self.counts:
                state.counts[<uint32_t> port] = count
            verdict = begun(state, self.request == WAIT_ANY)
            if verdict == BLOCKED:
                self.suspended = True
                state.request = self.request
                return self.context
        self.suspended = False
        waited(state, verdict)
        if self.request == WAIT_ALL:
            raise StopIteration(verdict == DONE)
        if verdict != DONE:
            raise StopIteration(())
        raise StopIteration(tuple([
            self.context.inputs[port] for port, count in self.counts if has(&state.inputs[<uint32_t> port], count)
        ]))


cdef Next next_of(InputPort port, uint32_t most):
    cdef Next made = Next.__new__(Next)
    made.port, made.most = port, most
    return made


@cython.freelist(8)
cdef class Next:
    """The next tuple of a port, or a list of up to `most`."""

    cdef InputPort port
    cdef uint32_t most  # 0: one tuple, as it is
    cdef bint suspended

    def __await__(self):
        return self

    def __iter__(self):
        return self

    def __next__(self):
        cdef LoopInput* from_ = self.port.from_
        cdef LoopState* state = self.port.context.alive("async for")
        cdef uint32_t i
        cdef int32_t verdict
        cdef Tuple* tuple_
        if self.suspended:
            verdict = OVER if state.closing else state.verdict
        else:
            for i in range(state.context.inputs):
                state.counts[i] = 0
            state.counts[self.port.index] = 1
            verdict = begun(state, True)
            if verdict == BLOCKED:
                self.suspended = True
                state.request = WAIT_ANY
                return self.port.context
        waited(state, verdict)
        if verdict != DONE:
            raise StopAsyncIteration
        tuple_ = pop(state, from_)
        if self.most == 0:
            raise StopIteration(tuple_.value)
        batch = [tuple_.value]
        for _ in range(1, self.most):
            tuple_ = pop(state, from_)
            if tuple_ == NULL:
                break
            batch.append(tuple_.value)
        raise StopIteration(batch)


# -- before the run -----------------------------------------------------------------------------------------------------------------


cdef int make_loop(States states, Operator* op, object operator, object layout) except -1:
    """The state of an operator with a loop of its own, once it has that of a sink."""
    cdef LoopState* state = make_array[LoopState](1)
    cdef LoopOutput* out
    cdef uint32_t i
    cdef LoopCall called
    op.loop = state
    states.made.append(("loop state", <size_t> state))
    state.op = op
    if operator.native is not None:
        state.run = <LoopFunction> <size_t> operator.native.address
        state.state = <void*> <size_t> operator.native.state
        states.natives.append(operator.native)
    else:
        called = LoopCall(operator)
        states.calls.append(called)
        state.python = <void*> called
    state.context.inputs, state.context.outputs = operator.inputs, operator.outputs
    state.context.payload_bytes = layout.payload
    state.context.wait_all, state.context.wait_any = c_wait_all, c_wait_any
    state.context.waiting, state.context.stopping = c_waiting, c_stopping
    state.context.pop, state.context.push = c_pop, c_push
    state.counts = <uint32_t*> states.block(operator.inputs * sizeof(uint32_t))
    state.inputs = <LoopInput*> states.block(operator.inputs * sizeof(LoopInput))
    state.outputs = <LoopOutput*> states.block(operator.outputs * sizeof(LoopOutput))
    for i in range(op.outputs):
        out = &state.outputs[i]
        out.most = most_at_once(layout.stride)
        out.slots = <Tuple*> states.block(out.most * layout.stride)
        copies = [layout.copies[layout.ways[way].target] for way in layout.outgoing[op.index][i]]
        out.copies = 0 if None in copies else sum(copies)
    return 0
