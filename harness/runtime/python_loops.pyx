# python_loops.pyx - operators in Python with a loop of their own: `async def process(context)`
# (native/loop_path.hpp has what
# all loops do).
#
# A function runs on the stack of the thread, which the interpreter knows: it is a co-routine of
# Python's, resumed by send(None). Where it must wait it yields its request and suspends, and then
# its co-routine here waits. So the interpreter's lock is taken once for all code between two such
# waits.

cimport cython
from cpython.pythread cimport PyThread_get_thread_ident
from cpython.ref cimport Py_DECREF, Py_INCREF
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from libc.string cimport memcpy
from libcpp.atomic cimport atomic, memory_order_relaxed

from harness.runtime.native cimport (
    LOOP_ENDED,
    LOOP_GO_ON,
    LOOP_SLEEP,
    WAIT_ALL,
    WAIT_ANY,
    LoopInput,
    LoopState,
    Tuple,
    enter_pushed,
    now_ns,
    payload_of,
)
from harness.runtime.path cimport (
    LOOP_BLOCKED,
    LOOP_DONE,
    LOOP_OVER,
    control_value,
    enter_room,
    exhausted,
    fail,
    filled,
    has,
    pop,
    stopped,
    verdict_on,
    waited,
)
from harness.runtime.users cimport UsersCode, failure_of

from collections.abc import Mapping

cdef enum:
    # after which a loop that need not wait lets go of what it has pushed, and of the interpreter's
    # lock
    SLICE_NS = 100_000

    # a number that no thread has
    NO_THREAD = 0

MAX_SLEEP_S = 1_000_000


# -- its function ----------------------------------------------------------------------------------


cdef void resume(void* argument) noexcept nogil:
    """On the thread's own stack."""
    with gil:
        step(<LoopState*> argument)


cdef void step(LoopState* state) noexcept:
    """Lets the function go on until it suspends or has ended."""
    cdef LoopCall owner
    cdef bint ended = False
    if not state.begun:
        # from here on the object is kept, until it has ended
        if state.worker.run.failed.load(memory_order_relaxed) or stopped(state):
            state.request = LOOP_ENDED
            return
        Py_INCREF(<LoopCall> state.python)
        state.begun = True
    owner = <LoopCall> state.python
    state.slice_ends_ns = now_ns() + SLICE_NS
    try:
        if owner.context is None:
            owner.context = context_of(state, owner)
        owner.context.thread.store(<uint64_t> PyThread_get_thread_ident(), memory_order_relaxed)
        if owner.process is None:
            owner.process = owner.function(owner.context)
        if stopped(state) or exhausted(state):
            state.closing = True
            ended = True
            owner.process.close()
        else:
            yielded = owner.process.send(None)
            if yielded is not owner.context:
                ended = True
                refused(state, owner, awaited_by(owner.process, yielded))
    except StopIteration:
        ended = True
    # whatever a user's function throws must not unwind through the runtime's frames
    except BaseException as error:
        ended = True
        foreign = wanting_event_loop(error)
        if foreign is None:
            raised(state, owner, error)
        else:
            refused(state, owner, foreign)
    if owner.context is not None:
        owner.context.thread.store(NO_THREAD, memory_order_relaxed)
    if ended:
        state.request = LOOP_ENDED
        state.begun = state.closing = False  # a replica may begin anew
        try:
            owner.end()
        except BaseException:
            pass
        Py_DECREF(owner)


cdef void raised(LoopState* state, LoopCall owner, error) noexcept:
    fail(state)
    if owner.fails():
        owner.say(
            f"{owner.what} {failure_of(error, f'after {state.op.processed.read()} tuples')}"
        )


cdef void refused(LoopState* state, LoopCall owner, foreign) noexcept:
    """It awaits what is not of its context: the runtime would never learn when to resume it."""
    fail(state)
    if owner.fails():
        owner.say(
            f"{owner.what} awaits {foreign}, for which nothing would resume it: a loop "
            "may await wait_all, wait_any, push and sleep of its context, async for over its "
            f"ports, and functions that await no more (after {state.op.processed.read()} tuples)"
        )


cdef str awaited_by(process, yielded):
    """Describe the object that a Python co-routine awaits, or, if that is None, as for
    `asyncio.sleep(0)`, the function it waits in.

    Python's co-routines name the one that they await (cr_await), down to the one that has
    suspended.
    """
    awaited = process
    while hasattr(awaiting := awaited.cr_await, "cr_await"):
        awaited = awaiting
    if yielded is None and awaited is not process:
        return f"{awaited.cr_frame.f_globals.get('__name__', '?')}.{awaited.__qualname__}"
    return f"an object of type {type(yielded).__module__}.{type(yielded).__qualname__}"


cdef object wanting_event_loop(error):
    """Return the function of asyncio that has failed because a loop runs under no event loop of
    asyncio; None: another error.
    """
    if not isinstance(error, RuntimeError) or "event loop" not in str(error):
        return None
    trace, frame = error.__traceback__, None
    while trace is not None and frame is None:
        name = trace.tb_frame.f_globals.get("__name__", "")
        if name.partition(".")[0] == "asyncio":
            frame = f"{name}.{trace.tb_frame.f_code.co_qualname}"
        trace = trace.tb_next
    return frame or "what needs an event loop of asyncio"


cdef class LoopCall(UsersCode):
    """The function of an operator in Python that has its own loop. The first exception ends the run
    and is kept here.
    """

    cdef str name
    cdef object function, process, typed
    cdef Context context

    def __cinit__(self, operator):
        self.name = operator.name
        self.describe("operator", operator.name)
        self.function = operator.function
        self.typed = operator.typed  # its schemas; None: its streams have none

    def end(self):
        process, self.process = self.process, None
        if self.context is not None:
            self.context.ended.store(True, memory_order_relaxed)
        self.context = None
        if process is not None:
            process.close()  # what has raised something that is not ours has it behind itself


cdef object call_of(object operator, LoopState* state):
    """Let an operator with a loop of its own have its function. Returns the object with that, which
    must live as long as the operator.
    """
    called = LoopCall(operator)
    state.python, state.resume = <void*> called, resume
    return called


cdef Context context_of(LoopState* state, LoopCall owner):
    cdef Context context = Context.__new__(Context)
    cdef InputPort port
    context.state, context.name = state, owner.name
    ports = []
    for i in range(state.context.inputs):
        port = InputPort.__new__(InputPort)
        port.context, port.index, port.from_ = context, i, &state.inputs[<uint32_t> i]
        port.schema = owner.typed.takes[i] if owner.typed is not None else None
        ports.append(port)
    context.inputs = tuple(ports)
    context.gives = owner.typed.gives if owner.typed is not None else None
    context.at_once = AtOnce()
    return context


# -- its context -----------------------------------------------------------------------------------


@cython.no_gc_clear
cdef class Context:
    """The interface of a loop operator to its ports. It is valid in the operator's function alone,
    and while that runs.

    `inputs`: its input ports. docs/how-to/operators.md has more.
    """

    # for the operator's function alone: the run may be gone when another one asks
    cdef LoopState* state
    # The thread that executes the function, and True if it has ended. Any thread may ask; relaxed,
    # since it finds its own number only if it has stored that itself.
    cdef atomic[uint64_t] thread
    cdef atomic[bint] ended
    cdef readonly str name
    cdef readonly tuple inputs
    cdef tuple gives  # schemas by output port; None: they have none
    # what it awaits that need not wait; one of its own, since a count of references that all loops
    # change slows them down where the interpreter has no lock
    cdef AtOnce at_once

    cdef LoopState* alive(self, str call) except NULL:
        if self.ended.load(memory_order_relaxed):
            raise RuntimeError(f"{call}: operator {self.name!r} has ended")
        if self.thread.load(memory_order_relaxed) != <uint64_t> PyThread_get_thread_ident():
            raise RuntimeError(
                f"{call}: the context of operator {self.name!r} is for its own function alone, "
                "while that runs"
            )
        return self.state

    @property
    def input(self):
        """Its first input port."""
        return self.inputs[0]

    @property
    def outputs(self):
        """Number of output ports."""
        return self.alive("outputs").context.outputs

    @property
    def stopping(self):
        """True if the run is being cut short; of a loop without input ports also if it is to send
        nothing more.
        """
        cdef LoopState* state = self.alive("stopping")
        return stopped(state) or exhausted(state)

    @property
    def control(self):
        """Value of the last tuple that came to its control port; 0 before the first one.

        Raises RuntimeError if it has no control port.
        """
        cdef LoopState* state = self.alive("control")
        if state.op.control == NULL:
            raise RuntimeError(
                "control: it has no control port; graph.control(operator) gives it one"
            )
        return control_value(state.op)

    def wait_all(self, counts):
        """Wait, by `await`, until there are as many tuples as `counts` says, {port: count} or one
        number for all input ports.

        The result is True, or False if it is over and they never will be there.

        Raises ValueError for a port that is not there, or a count that no queue can hold.
        """
        return self._wait("wait_all", WAIT_ALL, counts)

    def wait_any(self, counts):
        """Wait, by `await`, until one port at least has as many tuples as `counts` says. The result
        is a tuple of these ports; empty: over.
        """
        return self._wait("wait_any", WAIT_ANY, counts)

    def push(self, value, output=0):
        """Send, by `await`, a tuple with a value from an output port. Waits if a queue is full.

        In a typed loop, `value` is a mapping with the attributes of the port's schema.

        Raises ValueError for a port that is not there or attributes that do not fit, TypeError for
        what is no number, or no mapping.
        """
        cdef LoopState* state = self.alive("push")
        cdef double number = 0.0
        cdef bytes content = None
        cdef uint32_t port
        cdef bint full
        if not isinstance(output, int) or not 0 <= output < state.context.outputs:
            raise ValueError(
                f"push: {_rule('output port', state.context.outputs)}, not {output!r:.40}"
            )
        port = output
        if self.gives is not None:
            if not isinstance(value, Mapping):
                raise TypeError(
                    "push: value must be a mapping with the attributes of "
                    f"{self.gives[port].name}, not {value!r:.40}"
                )
            content = self.gives[port].pack(value)
        else:
            try:
                number = value
            except TypeError:
                raise TypeError(f"push: value must be a number, not {value!r:.40}") from None
        if state.closing or stopped(state) or exhausted(state):
            if not exhausted(state):
                state.worker.run.gave_up.store(True, memory_order_relaxed)
            return self.at_once if state.closing else Pause.__new__(Pause, self)
        if filled(state, port) == state.outputs[port].most:
            raise RuntimeError("push: the one before it was not awaited")
        if content is not None:
            memcpy(state.op.typed.context.room[port], <const char*> content, len(content))
            full = enter_room(state, port)
        else:
            enter_pushed(state, port, number)
            full = filled(state, port) == state.outputs[port].most
        if full or now_ns() >= state.slice_ends_ns:
            return Pause.__new__(Pause, self)
        return self.at_once

    def sleep(self, seconds):
        """Wait, by `await`, for a time, while others run. Raises ValueError if it is no number, or
        below 0.
        """
        cdef Sleep made = Sleep.__new__(Sleep)
        self.alive("sleep")
        if not isinstance(seconds, int | float) or not 0 <= seconds <= MAX_SLEEP_S:
            raise ValueError(
                f"sleep: seconds must be from 0 to {MAX_SLEEP_S:,}, not {seconds!r:.40}"
            )
        made.context, made.ns = self, <int64_t> (seconds * 1e9)
        return made

    cdef object _wait(self, str call, uint32_t request, counts):
        cdef LoopState* state = self.alive(call)
        cdef Wait made
        if isinstance(counts, int):
            given = tuple(
                [(i, _count(call, state, i, counts)) for i in range(state.context.inputs)]
            )
        else:
            try:
                pairs = list(counts.items())
            except AttributeError:
                raise TypeError(
                    f"{call}: counts must be a number or {{port: count}}, not {counts!r:.40}"
                ) from None
            given = tuple(
                [
                    (i, _count(call, state, i, count))
                    for i, count in [(self._index(call, port), count) for port, count in pairs]
                ]
            )
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
                raise ValueError(
                    f"{call}: input port {port.index} is one of operator {other!r}, not of "
                    f"{self.name!r}"
                )
            index = port.index
        if not isinstance(index, int) or not 0 <= index < len(self.inputs):
            raise ValueError(f"{call}: {_rule('input port', len(self.inputs))}, not {port!r:.40}")
        return index


def _rule(what, count):
    return f"{what} must be from 0 to {count - 1}" if count > 0 else f"there is no {what}"


CAPACITY = "the capacity of the queue before"


cdef object _count(str call, LoopState* state, uint32_t port, count):
    if state.first != NULL:
        return _checked(call, port, count, 1, "since the operator may have replicas, at")
    return _checked(call, port, count, state.inputs[port].port.ring.capacity(), CAPACITY)


def _checked(call, port, count, most, why):
    if not isinstance(count, int) or not 1 <= count <= most:
        rule = f"from 1 to {most}" if most > 1 else "1"
        raise ValueError(
            f"{call}: count must be {rule}, {why} input port {port}, not {count!r:.40}"
        )
    return count


cdef class InputPort:
    """An input port of an operator with a loop of its own. `index`: its number; `len()`: tuples
    that wait there.

    `async for value in port` takes its tuples, until it is over. Of a typed loop, a value is a dict
    of the attributes; `schema`: theirs.
    """

    cdef readonly Context context
    cdef readonly int index
    cdef readonly object schema  # None: its tuples have none
    cdef LoopInput* from_

    def __len__(self):
        self.context.alive("len")
        return self.from_.at_hand()

    def __repr__(self):
        return f"<input port {self.index} of operator {self.context.name!r}>"

    @property
    def closed(self):
        """True if no tuple will ever come again, and none waits."""
        self.context.alive("closed")
        return self.from_.at_hand() == 0 and self.from_.ended()

    @property
    def sequence(self):
        """Sequence number, given by its sender, of the tuple that was popped last."""
        self.context.alive("sequence")
        return self.from_.sequence

    def pop(self):
        """Take the next tuple: its value. Raises IndexError if none waits; after a wait for it
        there is one.
        """
        cdef LoopState* state = self.context.alive("pop")
        cdef Tuple* tuple_ = pop(state, self.from_)
        if tuple_ == NULL:
            raise IndexError(f"pop: no tuple waits at input port {self.index}")
        return self.value_of(tuple_)

    cdef object value_of(self, Tuple* tuple_):
        return (
            tuple_.value
            if self.schema is None
            else self.schema.unpack(payload_of(tuple_)[:<size_t> self.schema.size])
        )

    def batches(self, most):
        """Return an iterator for `async for` over lists of the values that wait there, one at least
        and `most` at most.
        """
        self.context.alive("batches")
        capacity = self.from_.port.ring.capacity()
        return Batches(self, _checked("batches", self.index, most, capacity, CAPACITY))

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


# -- awaitables ------------------------------------------------------------------------------------


cdef class AtOnce:
    """There is nothing to wait for."""

    def __await__(self):
        return self

    def __iter__(self):
        return self

    def __next__(self):
        raise StopIteration


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
        self.context.alive("push").request = LOOP_GO_ON
        return self.context


@cython.freelist(8)
cdef class Sleep:
    cdef Context context
    cdef int64_t ns
    cdef bint slept

    def __await__(self):
        return self

    def __iter__(self):
        return self

    def __next__(self):
        cdef LoopState* state = self.context.alive("sleep")
        if self.slept or state.closing:
            raise StopIteration
        self.slept = True
        state.request, state.sleep_ns = LOOP_SLEEP, self.ns
        return self.context


cdef int32_t begun(LoopState* state, bint any_) noexcept nogil:
    """The verdict on a wait that begins, or LOOP_BLOCKED if the function has to suspend."""
    if state.closing:
        return LOOP_OVER
    if stopped(state) or now_ns() >= state.slice_ends_ns:
        return LOOP_BLOCKED
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
        cdef LoopState* state = self.context.alive(
            "wait_all" if self.request == WAIT_ALL else "wait_any"
        )
        cdef uint32_t i
        cdef int32_t verdict
        if self.suspended:
            verdict = LOOP_OVER if state.closing else state.verdict
        else:
            for i in range(state.context.inputs):
                state.counts[i] = 0
            for port, count in self.counts:
                state.counts[<uint32_t> port] = count
            verdict = begun(state, self.request == WAIT_ANY)
            if verdict == LOOP_BLOCKED:
                self.suspended = True
                state.request = self.request
                return self.context
        self.suspended = False
        waited(state)
        if self.request == WAIT_ALL:
            raise StopIteration(verdict == LOOP_DONE)
        if verdict != LOOP_DONE:
            raise StopIteration(())
        raise StopIteration(tuple([
            self.context.inputs[port]
            for port, count in self.counts
            if has(&state.inputs[<uint32_t> port], count)
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
            verdict = LOOP_OVER if state.closing else state.verdict
        else:
            for i in range(state.context.inputs):
                state.counts[i] = 0
            state.counts[self.port.index] = 1
            verdict = begun(state, True)
            if verdict == LOOP_BLOCKED:
                self.suspended = True
                state.request = WAIT_ANY
                return self.port.context
        waited(state)
        if verdict != LOOP_DONE:
            raise StopAsyncIteration
        tuple_ = pop(state, from_)
        if self.most == 0:
            raise StopIteration(self.port.value_of(tuple_))
        batch = [self.port.value_of(tuple_)]
        for _ in range(1, self.most):
            tuple_ = pop(state, from_)
            if tuple_ == NULL:
                break
            batch.append(self.port.value_of(tuple_))
        raise StopIteration(batch)
